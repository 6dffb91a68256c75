"""A TFLite file answers as the model does, whatever the passage."""

import hashlib
import operator
import pathlib
import random
from concurrent import futures

import pytest

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.text.options import WindowOptions
from bert_span.tflite.export import tflite_content
from bert_span.tflite.file import (
  read_files,
  read_packed_config,
  with_files,
)
from bert_span.tflite.options import TFLiteOptions
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor
from tests.support.models import (
  CONTEXT,
  QUESTION,
  VOCABULARY,
  exported_tflite,
  opened_tflite,
  tiny_extractor,
  with_files_of,
  with_wrong_values,
)

pytestmark = pytest.mark.large

_EQUAL = operator.attrgetter(
  "text", "char_start", "char_end", "question_truncated"
)
_SCORES = operator.attrgetter("score", "probability", "null_odds")
_PASSAGES = [
  CONTEXT,
  # Many windows, and no two of the same words, whose logits would be equal.
  "É 🙂 " + " ".join(random.Random(0).choices(VOCABULARY[5:], k=150)),
  "Cafe\u0301 日 was built by ANNA.",
  "mill",
  "",
  " \n\t ",
]


@pytest.mark.parametrize(
  "file",
  [
    {"temperature": 1.7, "log_odds_shift": 0.8},
    {"dynamic_length": True, "span_score": "mean_probability"},
    {"dynamic_length": True, "kind": BioExtractor},
  ],
)
def test_answers_are_those_of_the_model(file):
  _, model = exported_tflite(**file)
  extractor = opened_tflite(**file)
  assert extractor.decoder_options == model.decoder_options
  assert extractor.window_options == model.window_options
  # Also one that is cut, and one without a token.
  odd = ["who " * 9, "", "\u200b", QUESTION, QUESTION, "who " * 9]
  questions = [QUESTION] * len(_PASSAGES) + odd
  passages = 2 * _PASSAGES
  expected = model.answers(questions, passages)
  given = extractor.answers(questions, passages)
  assert any(expected)
  if not isinstance(model, BioExtractor):
    expected += model.answer(questions, passages, n_best=4)
    given += extractor.answer(questions, passages, n_best=4)
    is_cut = [found[0].question_truncated for found in given[-len(passages) :]]
    assert [i for i, cut in enumerate(is_cut) if cut] == [6]
  for wanted, answers in zip(expected, given, strict=True):
    assert list(map(_EQUAL, answers)) == list(map(_EQUAL, wanted))
    for answer, expected_answer in zip(answers, wanted, strict=True):
      # Null odds of the B/I/O head are sums over a passage, some thousands.
      wanted_scores = _SCORES(expected_answer)
      assert _SCORES(answer) == pytest.approx(wanted_scores, rel=1e-6, abs=1e-4)


def test_windows_as_long_as_vectors_are_wide_are_no_table(tmp_path):
  """An 8-bit file slices its mask, of the shape [1, max_seq_length]."""
  model = tiny_extractor(window_options=WindowOptions(16, 8, 8))
  path = tmp_path / "qa.tflite"
  path.write_bytes(tflite_content(model, TFLiteOptions("dynamic")))
  assert TFLiteSpanExtractor(path).answer(QUESTION, CONTEXT).text in CONTEXT


def test_options_replace_those_of_the_file():
  path, _ = exported_tflite()
  extractor = TFLiteSpanExtractor(
    path, WindowOptions(24, 4, 8), DecoderOptions(max_answer_length=1)
  )
  answer = extractor.answer(QUESTION, CONTEXT)
  assert answer.text in CONTEXT
  assert " " not in answer.text
  with pytest.raises(ValueError, match=r"max_seq_length.* 32"):
    TFLiteSpanExtractor(path, WindowOptions(33, 8, 8))


def test_files_that_are_not_a_model_are_refused(tmp_path):
  path = tmp_path / "no.tflite"
  exported = pathlib.Path(exported_tflite()[0])
  damaged = bytearray(exported.read_bytes())
  damaged[100:140] = bytes(40)  # in the model: a runtime would end the process
  without_options = b'{"format": 1, "head": "span"}'
  files = {"span_config.json": without_options, "vocab.txt": b""}
  for content, message in (
    (b"0123456789", r"no\.tflite .*TFL3"),
    (b"0000TFL3", r"no\.tflite: span_config\.json"),
    (with_files(b"0000TFL3", files), r"no\.tflite, span_config\.json"),
    (damaged, r"no\.tflite .*damaged"),
  ):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
      TFLiteSpanExtractor(path)
  with pytest.raises(OSError, match=r"missing\.tflite"):
    TFLiteSpanExtractor(tmp_path / "missing.tflite")


def test_a_wrong_value_in_the_metadata_is_refused_by_its_name(tmp_path):
  path = tmp_path / "wrong.tflite"
  for field, content in with_wrong_values(exported_tflite()[0]):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"wrong\.tflite.*{field}"):
      TFLiteSpanExtractor(path)


@pytest.mark.parametrize("dynamic_length", [False, True])
def test_tables_that_are_shorter_than_the_metadata_say(
  dynamic_length, tmp_path
):
  """Where the runtime has no check, it answers by what follows the table."""
  exported, _ = exported_tflite(dynamic_length=dynamic_length)
  about_file = read_packed_config(exported)["tflite"]
  size = about_file["model_bytes"]
  model = pathlib.Path(exported).read_bytes()[:size]
  path = tmp_path / "short.tflite"

  def refused(content, message):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"short\.tflite.*{message}"):
      TFLiteSpanExtractor(path)

  files = read_files(exported)
  files["vocab.txt"] += b"zebra\n"
  refused(with_files(model, files), r"damaged.*vocab\.txt")
  unhashed = {k: v for k, v in about_file.items() if k != "vocabulary_sha256"}
  refused(with_files_of(exported, tflite=unhashed), "vocabulary_sha256")
  sha256 = hashlib.sha256(files["vocab.txt"]).hexdigest()
  hashed = about_file | {"vocabulary_sha256": sha256}
  path.write_bytes(with_files_of(exported, tflite=hashed))
  files["span_config.json"] = read_files(path)["span_config.json"]
  refused(with_files(model, files), r"vocab\.txt .* 24.*25")
  for changes in ({"max_length": 33}, {"dynamic_length": not dynamic_length}):
    (name,) = changes
    content = with_files_of(exported, tflite=about_file | changes)
    refused(content, rf"{name}.*32")


def test_threads_share_an_extractor():
  extractor = opened_tflite(dynamic_length=True, kind=BioExtractor)
  passages = [f"{CONTEXT} {passage}" for passage in _PASSAGES] * 10
  expected = [extractor.answer(QUESTION, passage) for passage in passages]
  with futures.ThreadPoolExecutor(4) as pool:
    given = pool.map(lambda text: extractor.answer(QUESTION, text), passages)
    assert list(given) == expected
