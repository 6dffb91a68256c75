"""Logits of all windows of some questions: their answers, and their files.

A file of logits is an .npz with

  qas_id          str [windows]
  doc_span_index  int32 [windows], 0, 1, .. within a question
  start_logits    float32 [windows, max_seq_length]
  end_logits      float32 [windows, max_seq_length]

or, for a B/I/O head, instead of the last two

  tag_logits      float32 [windows, max_seq_length, 3], of B, I and O

Positions that the encoder did not read have NO_LOGIT. Nothing is pickled, and
the windows may have any order. NumPy drops the characters U+0000 at the end of
an id, so ids that differ only in these are one id here.
"""

import io
import os
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_span.answers.decoding.answer_decoder import NO_LOGIT, WINDOW_SPECS
from bert_span.answers.predictions import predictions_of
from bert_span.data.window_batches import example_arrays
from bert_span.storage.files import read_bytes

_OTHER_WINDOWS = (
  "Give the file of questions, vocabulary, case and window options "
  "(max_seq_length, doc_stride, max_query_length) that the logits were saved "
  "with."
)
# Columns of windows that a `WindowDecoder` reads.
DECODED_COLUMNS = (*WINDOW_SPECS, "question_truncated")


class WindowLogits(NamedTuple):
  """Logits of the windows of some examples."""

  examples: list  # `SquadExample`
  windows: dict  # of arrays, see `SlidingWindows`
  logits: dict[str, np.ndarray]  # the model's, [windows, seq_length, ..]


class WindowDecoder:
  """Makes predictions of `WindowLogits` with all windows of their examples.

  `options` are those of the decoder of `extractor_class`.
  """

  def __init__(self, extractor_class, options):
    self._columns = extractor_class.columns
    self._shapes = extractor_class.logits
    decoder = extractor_class.decoder_of(options)
    names = {*self._columns.predicted} - {"question_truncated"}

    # Tracing takes seconds, so one graph takes batches of any size.
    specs = (
      tf.TensorSpec([None, None, *shape], tf.float32)
      for shape in self._shapes.values()
    )
    signature = (tf.TensorSpec([None], tf.string), WINDOW_SPECS, *specs)

    @tf.function(input_signature=signature, autograph=False)
    def decode(contexts, windows, *logits):
      outputs = decoder.answers(contexts, decoder.read(windows, *logits))
      # The graph drops all other columns, such as n-best texts.
      return {name: outputs[name] for name in names}

    self._decode = decode

  def __call__(self, logits):
    contexts = example_arrays(logits.examples)["context"]
    # They stay arrays: tf.constant would copy them twice.
    windows = {name: logits.windows[name] for name in WINDOW_SPECS}
    scores = _checked_logits(self._shapes, logits)
    outputs = self._decode(tf.constant(contexts, tf.string), windows, *scores)
    is_cut = np.zeros(len(logits.examples), bool)
    is_cut[windows["example_index"]] = logits.windows["question_truncated"]
    outputs["question_truncated"] = is_cut
    return predictions_of(self._columns, logits.examples, outputs)


def _checked_logits(shapes, logits):
  """Yields the arrays of `WindowLogits`; ValueError if a shape is wrong.

  A tf.function stays locked after a call with another shape.
  """
  for name, shape in shapes.items():
    expected = (*logits.windows["padding_mask"].shape, *shape)
    values = np.asarray(logits.logits[name], np.float32)
    if values.shape != expected:
      raise ValueError(
        f"logits: {name} must have the shape {expected}, as the windows. "
        f"Received: {values.shape}."
      )
    yield values


class LogitsWriter:
  """Gathers the logits of many batches of windows, to be written as one file.

  `shapes` is `Extractor.logits`.
  """

  def __init__(self, shapes):
    self._shapes = shapes
    self._ids, self._indexes = [], []
    self._rows = {name: [] for name in shapes}  # of single windows

  def add(self, logits):
    """Adds a `WindowLogits`."""
    windows = logits.windows
    self._ids += [logits.examples[i].qas_id for i in windows["example_index"]]
    self._indexes += list(windows["doc_span_index"])
    for name, rows in self._rows.items():
      rows += list(np.array(logits.logits[name], np.float32))

  def content(self, max_seq_length):
    """Returns the bytes of the file, padded to max_seq_length WordPieces."""
    arrays = {
      "qas_id": np.array(self._ids, np.str_),
      "doc_span_index": np.array(self._indexes, np.int32),
    }
    for name, rows in self._rows.items():
      shape = [len(rows), max_seq_length, *self._shapes[name]]
      arrays[name] = np.full(shape, NO_LOGIT, np.float32)
      for padded, row in zip(arrays[name], rows, strict=True):
        padded[: len(row)] = row
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


class SavedLogits:
  """The logits of a file; ValueError if it is damaged.

  The attribute `logits` has float32 [windows, max_seq_length, ..] by name.
  """

  def __init__(self, path, shapes):
    self._path = os.fspath(path)
    arrays = _load_arrays(self._path, shapes)
    ids = map(_key_id, arrays.pop("qas_id").tolist())
    keys = list(zip(ids, arrays.pop("doc_span_index").tolist(), strict=True))
    self.logits = {n: np.asarray(x, np.float32) for n, x in arrays.items()}
    self._row_of = {key: row for row, key in enumerate(keys)}
    self._used = np.zeros(len(keys), bool)
    for row, key in enumerate(keys):
      if self._row_of[key] != row:
        self._refuse(key, "is in the file twice. Keep one of them.")
      if not all(np.isfinite(v[row]).all() for v in self.logits.values()):
        fault = "has a logit that is infinite or not a number. Write "
        self._refuse(key, f"{fault}{NO_LOGIT:g} where there is none.")

  def take(self, examples, windows):
    """Returns the logits of some windows of examples by name, in their order.

    Raises ValueError if a window is not in the file, or has another length.
    """
    is_token = np.asarray(windows["padding_mask"]) > 0  # [windows, length]
    saved_length = next(iter(self.logits.values())).shape[1]
    if saved_length != is_token.shape[1]:
      raise ValueError(
        f"{self._path}: the logits are of windows of {saved_length} WordPieces,"
        f" not of max_seq_length={is_token.shape[1]}. {_OTHER_WINDOWS}"
      )
    ids = [_key_id(examples[i].qas_id) for i in windows["example_index"]]
    keys = list(zip(ids, map(int, windows["doc_span_index"]), strict=True))
    for key in keys:
      if key not in self._row_of:
        self._refuse(key, f"has no logits. {_OTHER_WINDOWS}")
    rows = np.array([self._row_of[key] for key in keys], np.int64)
    self._used[rows] = True
    logits = {name: values[rows] for name, values in self.logits.items()}
    for values in logits.values():
      is_none = (values <= NO_LOGIT).any(axis=tuple(range(2, values.ndim)))
      lacking = (is_token & is_none).any(axis=1)  # [windows]
      if lacking.any():
        fault = "has tokens without logits, so it was a shorter window."
        self._refuse(keys[np.argmax(lacking)], f"{fault} {_OTHER_WINDOWS}")
    return logits

  def check_all_taken(self):
    """Raises ValueError if windows of the file were not taken."""
    left = np.flatnonzero(~self._used)
    if left.size:
      fault = f"is one of {left.size} windows too many. {_OTHER_WINDOWS}"
      self._refuse(list(self._row_of)[left[0]], fault)

  def _refuse(self, key, fault):
    raise ValueError(
      f"{self._path}: window {key[1]} of question {key[0]} {fault}"
    )


def _key_id(qas_id):
  """Returns an id as NumPy keeps it; integers become strings, as in SQuAD."""
  if isinstance(qas_id, bytes):
    qas_id = qas_id.decode("utf-8", "replace")
  return str(qas_id).rstrip("\0")


def _load_arrays(path, shapes):
  """Unpacks the arrays that are needed, and checks types and shapes."""
  names = ("qas_id", "doc_span_index", *shapes)
  content = io.BytesIO(read_bytes(path))
  try:
    with np.load(content, allow_pickle=False) as file:
      arrays = {name: file[name] for name in names}
    arrays["qas_id"].tolist()  # Fails if a number is no code point.
    windows = arrays["qas_id"].shape[:1]
    length = arrays[names[2]].shape[1:2]
    expected = {
      "qas_id": ("USiu", windows),
      "doc_span_index": ("iu", windows),
      **{name: ("fiu", windows + length + s) for name, s in shapes.items()},
    }
    received = ", ".join(f"{n} {x.dtype} {x.shape}" for n, x in arrays.items())
    for name, (type_codes, shape) in expected.items():
      array, code = arrays[name], arrays[name].dtype.kind
      if code not in type_codes or array.shape != shape or not length:
        raise ValueError(f"{name} does not fit, received {received}")
  # For damaged files, zipfile, zlib and NumPy raise a dozen types.
  except Exception as error:
    raise ValueError(
      f"{path}: not a file of logits as run_squad --write_logits saves it, an "
      ".npz with strings qas_id [windows], integers doc_span_index [windows], "
      f"and numbers {', '.join(shapes)} [windows, max_seq_length, ..]: "
      f"{str(error) or type(error).__name__}. Save the logits again."
    ) from error
  return arrays
