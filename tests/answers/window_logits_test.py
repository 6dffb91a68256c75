"""Saved logits: what is written, read back, and refused."""

import io
import threading

import numpy as np
import pytest

from bert_span.answers import window_logits
from bert_span.answers.decoding.answer_decoder import NO_LOGIT
from bert_span.answers.window_logits import SavedLogits
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.squad.example import SquadExample
from bert_span.storage.atomic_file import write_files
from tests.support.models import CONTEXT, QUESTION, eagerly, shared_extractor

_EXAMPLES = [SquadExample("a", "?", "x"), SquadExample("日本", "?", "y")]
_WINDOWS = {
  "example_index": np.array([0, 1, 1], np.int32),
  "doc_span_index": np.array([0, 0, 1], np.int32),
  "padding_mask": np.array([[1, 1, 0], [1, 1, 1], [1, 0, 0]], np.int32),
}
_START = np.array([[1, 2, -1e9], [4, 5, 6], [7, -1e9, -1e9]], np.float32)
_END = _START * np.float32(0.5)
_ARRAYS = {
  "qas_id": np.array(["a", "日本", "日本"]),
  "doc_span_index": np.array([0, 0, 1]),
  "start_logits": _START,
  "end_logits": _START,
}
_OTHER = [SquadExample("b", "?", "x")]
_OTHER_WINDOWS = {name: value[:1] for name, value in _WINDOWS.items()}


def _saved(tmp_path, **replaced):
  np.savez(tmp_path / "logits.npz", **{**_ARRAYS, **replaced})
  return tmp_path / "logits.npz"


def _content(max_seq_length=5):
  writer = window_logits.LogitsWriter(SpanExtractor.logits)
  for examples, windows, *logits in (
    (_EXAMPLES, _WINDOWS, _START, _END),
    (_OTHER, _OTHER_WINDOWS, _START[:1, :2], _START[:1, :2] + 1),
  ):
    logits = dict(zip(SpanExtractor.logits, logits, strict=True))
    writer.add(window_logits.WindowLogits(examples, windows, logits))
  return writer.content(max_seq_length)


def test_file_holds_all_windows_padded_to_the_longest():
  with np.load(io.BytesIO(_content()), allow_pickle=False) as file:
    arrays = dict(file)
  assert list(arrays) == list(_ARRAYS)
  assert arrays["qas_id"].tolist() == ["a", "日本", "日本", "b"]
  assert arrays["doc_span_index"].tolist() == [0, 0, 1, 0]
  assert arrays["start_logits"].dtype == arrays["end_logits"].dtype == "float32"
  assert arrays["start_logits"][1].tolist() == [4, 5, 6, NO_LOGIT, NO_LOGIT]
  assert arrays["end_logits"][3].tolist() == [2, 3, *[NO_LOGIT] * 3]


@pytest.mark.parametrize("remote", [False, True])
def test_written_logits_are_taken_in_any_order(tmp_path, remote):
  folder = "ram://logits_file_test" if remote else str(tmp_path)
  (path,), _ = write_files(folder, {"l.npz": _content(max_seq_length=3)})
  saved = SavedLogits(path, SpanExtractor.logits)
  rows = [2, 0, 1]
  windows = {name: value[rows] for name, value in _WINDOWS.items()}
  start, end = saved.take(_EXAMPLES, windows).values()
  np.testing.assert_array_equal(start, _START[rows])
  np.testing.assert_array_equal(end, _END[rows])
  with pytest.raises(ValueError, match=r"window 0 of question b .* 1 windows"):
    saved.check_all_taken()  # that of question b
  saved.take(_OTHER, _OTHER_WINDOWS)
  saved.check_all_taken()
  # A batch of empty passages has no window.
  none = {name: value[:0] for name, value in _WINDOWS.items()}
  assert saved.take(_EXAMPLES, none)["start_logits"].shape == (0, 3)


def test_flipped_bits_are_one_clear_error_or_change_only_logits(tmp_path):
  content = _content(max_seq_length=3)
  path = tmp_path / "logits.npz"
  rng = np.random.default_rng(0)
  for place in rng.choice(len(content), 200, replace=False):
    damaged = bytearray(content)
    damaged[place] ^= 1 << rng.integers(8)
    path.write_bytes(damaged)
    try:
      SavedLogits(path, SpanExtractor.logits)
    except ValueError as error:
      assert str(path) in str(error)


@pytest.mark.parametrize(
  ("ids", "of_examples"),
  [
    # Integers and bytes become strings; an id may end in a zero character.
    (np.array([7, 8, 8]), "78"),
    (np.array([b"7", b"8", b"8"]), "78"),
    (np.array(["a\0", "\0日", "\0日"]), ("a\0", "\0日")),
  ],
)
def test_ids_of_all_types_are_found(tmp_path, ids, of_examples):
  saved = SavedLogits(_saved(tmp_path, qas_id=ids), SpanExtractor.logits)
  examples = [SquadExample(qas_id, "?", "x") for qas_id in of_examples]
  found = saved.take(examples, _WINDOWS)["start_logits"]
  np.testing.assert_array_equal(found, _START)


def test_windows_that_are_not_in_the_file_are_refused(tmp_path):
  saved = SavedLogits(_saved(tmp_path), SpanExtractor.logits)
  for replaced, message in (
    ({"doc_span_index": np.array([0, 0, 2])}, "window 2 of question 日本"),
    # Windows of another length, and tokens without a logit.
    ({"padding_mask": np.ones([3, 4])}, "3 WordPieces, not .*max_seq_length=4"),
    ({"padding_mask": np.ones([3, 3])}, "window 0 of question a"),
  ):
    with pytest.raises(ValueError, match=rf"logits\.npz: .*{message}"):
      saved.take(_EXAMPLES, {**_WINDOWS, **replaced})


@pytest.mark.parametrize(
  ("replaced", "message"),
  [
    ({"qas_id": np.array(["a", "b", "b"], object)}, "allow_pickle"),
    ({"qas_id": np.array([["a"]])}, "qas_id"),
    ({"qas_id": np.array([0.5, 1, 2])}, "qas_id"),
    ({"qas_id": np.array(["a", "b"])}, "doc_span_index"),
    ({"doc_span_index": np.array([0, 0, 0])}, "question 日本 "),
    ({"end_logits": _START[:, :2]}, "end_logits"),
    ({"end_logits": np.full([3, 3], "x")}, "end_logits"),
    ({"end_logits": _START * np.array([[1], [np.nan], [1]])}, "question 日本"),
    ({"start_logits": np.full([3, 3], -np.inf)}, "question a"),
  ],
)
def test_arrays_that_do_not_fit_are_one_clear_error(
  tmp_path, replaced, message
):
  path = _saved(tmp_path, **replaced)
  with pytest.raises(ValueError, match=message) as error:
    SavedLogits(path, SpanExtractor.logits)
  assert str(path) in str(error.value)


def test_what_is_no_file_of_logits_is_refused(tmp_path):
  np.savez(tmp_path / "lacking.npz", qas_id=["a"])
  np.save(tmp_path / "array.npy", _START)
  (tmp_path / "empty").write_bytes(b"")
  (tmp_path / "cut").write_bytes(_content()[:-100])
  for name in ("empty", "cut", "array.npy", "lacking.npz"):
    with pytest.raises(ValueError, match=name):
      SavedLogits(tmp_path / name, SpanExtractor.logits)


def test_logits_of_another_shape_are_refused_and_the_next_ones_decoded():
  extractor = shared_extractor()
  example = SquadExample("q", QUESTION, CONTEXT)
  with eagerly():
    (batch,) = extractor.window_logits([example])
  ends = {name: values[:, :-1] for name, values in batch.logits.items()}
  # In a graph, which a wrong call would leave locked.
  with pytest.raises(ValueError, match="start_logits"):
    extractor.decode(batch._replace(logits=ends))
  # Another type is fine, such as that of a mean in float64.
  means = {name: values.astype(float) for name, values in batch.logits.items()}
  mean_batch, decoded = batch._replace(logits=means), []
  thread = threading.Thread(
    target=lambda: decoded.extend(extractor.decode(mean_batch)), daemon=True
  )
  thread.start()
  thread.join(timeout=120)
  assert decoded == extractor.decode(batch)
