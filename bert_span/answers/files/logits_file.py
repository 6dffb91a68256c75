"""Logits of all windows as an .npz file.

  qas_id          str [windows]
  doc_span_index  int32 [windows], 0, 1, .. within a question
  start_logits    float32 [windows, max_seq_length]
  end_logits      float32 [windows, max_seq_length]

or, of a B/I/O head, instead of the last two

  tag_logits      float32 [windows, max_seq_length, 3], of B, I and O

Positions that the encoder was not run on hold NO_LOGIT. Any program may write
such a file: nothing in it is pickled, and the order of the windows is free.
"""

import dataclasses
import io
import os
import zipfile

import numpy as np
import tensorflow as tf

from bert_span.answers.window_logits import NO_LOGIT
from bert_span.storage.atomic_file import open_atomically

_KEYS = ("qas_id", "doc_span_index")
_OTHER_WINDOWS = (
  "Give the file of questions, vocabulary, case and window flags "
  "(--max_seq_length, --doc_stride, --max_query_length) that the logits were "
  "saved with."
)


class LogitsWriter:
  """Gathers the logits of many batches of windows and writes them.

  Example:

  ```python
  writer = LogitsWriter(extractor.head.logits)
  for logits in extractor.window_logits(examples):
    writer.add(logits)
  writer.write("logits.npz", max_seq_length=384)
  ```

  Args:
    shapes: `AnswerHead.logits`.
  """

  def __init__(self, shapes):
    self._shapes = shapes
    self._batches = []

  def add(self, logits):
    """Takes a batch.

    Args:
      logits: `WindowLogits`.
    """
    examples, windows = logits.examples, logits.windows
    self._batches.append(
      {
        "qas_id": [examples[i].qas_id for i in windows["example_index"]],
        "doc_span_index": np.array(windows["doc_span_index"], np.int32),
        **{
          name: np.array(logits.logits[name], np.float32)
          for name in self._shapes
        },
      }
    )

  def write(self, path, max_seq_length):
    """Writes all batches as one file, whole or not at all.

    Args:
      path: where to; any path of tf.io.gfile.
      max_seq_length: WordPieces that every window is padded to.
    """
    ids = [qas_id for batch in self._batches for qas_id in batch["qas_id"]]
    indexes = [
      np.zeros([0], np.int32),
      *(batch["doc_span_index"] for batch in self._batches),
    ]
    content = io.BytesIO()
    np.savez_compressed(
      content,
      qas_id=np.array(ids, np.str_),
      doc_span_index=np.concatenate(indexes),
      **{name: self._padded(name, max_seq_length) for name in self._shapes},
    )
    with open_atomically(path, binary=True) as file:
      file.write(content.getvalue())

  def _padded(self, name, seq_length):
    """The logits of all batches, float32 [windows, seq_length, ..]."""
    rows = sum(len(batch["qas_id"]) for batch in self._batches)
    shape = [rows, seq_length, *self._shapes[name]]
    padded = np.full(shape, NO_LOGIT, np.float32)
    row = 0
    for batch in self._batches:
      logits = batch[name]
      padded[row : row + len(logits), : logits.shape[1]] = logits
      row += len(logits)
    return padded


@dataclasses.dataclass
class SavedLogits:
  """A file of logits as read.

  Attributes:
    path: the file, for messages.
    row_of: dict of (qas_id, doc_span_index) to row.
    logits: dict of name to float32 [windows, max_seq_length, ..].
  """

  path: str
  row_of: dict
  logits: dict

  def __post_init__(self):
    self._used = np.zeros(len(self.row_of), bool)

  def check_length(self, max_seq_length):
    """Refuses logits of another window length.

    Args:
      max_seq_length: WordPieces that the windows must be padded to.

    Raises:
      ValueError: they are padded to another length.
    """
    length = next(iter(self.logits.values())).shape[1]
    if length != max_seq_length:
      raise ValueError(
        f"{self.path}: the logits are of windows of {length} WordPieces, not "
        f"of --max_seq_length={max_seq_length}. {_OTHER_WINDOWS}"
      )

  def take(self, examples, windows):
    """The logits of some windows, in their order.

    Args:
      examples: sequence of `SquadExample`.
      windows: their windows, a dict of arrays padded to max_seq_length, see
        `SlidingWindows`.

    Returns:
      Dict of the arrays of `logits` for these windows.

    Raises:
      ValueError: a window is not in the file, or is a longer one there.
    """
    keys = [
      (examples[i].qas_id, int(index))
      for i, index in zip(
        windows["example_index"], windows["doc_span_index"], strict=True
      )
    ]
    for key in keys:
      if key not in self.row_of:
        raise ValueError(
          f"{self.path}: no logits of window {key[1]} of question {key[0]}. "
          f"{_OTHER_WINDOWS}"
        )
    rows = np.array([self.row_of[key] for key in keys], np.int64)
    self._used[rows] = True
    logits = {name: values[rows] for name, values in self.logits.items()}
    self._check_tokens(keys, np.asarray(windows["input_mask"]) > 0, logits)
    return logits

  def check_all_taken(self):
    """Refuses a file with windows that nobody took.

    Raises:
      ValueError: there are some; names the first.
    """
    left = np.flatnonzero(~self._used)
    if left.size:
      qas_id, index = list(self.row_of)[left[0]]
      raise ValueError(
        f"{self.path}: {left.size} windows too many, such as window {index} "
        f"of question {qas_id}. {_OTHER_WINDOWS}"
      )

  def _check_tokens(self, keys, is_token, logits):
    """Refuses tokens without a logit: the saved windows were shorter."""
    lacking = np.zeros(len(keys), bool)  # [windows]
    for values in logits.values():
      is_none = (values <= NO_LOGIT).reshape([*is_token.shape, -1])
      lacking |= (is_token & is_none.any(axis=-1)).any(axis=1)
    if lacking.any():
      qas_id, index = keys[int(np.argmax(lacking))]
      raise ValueError(
        f"{self.path}: window {index} of question {qas_id} has tokens without "
        f"logits, so it was a shorter window. {_OTHER_WINDOWS}"
      )


def read_logits(path, shapes):
  """Reads a file that `LogitsWriter` or another program wrote.

  Args:
    path: any path of tf.io.gfile.
    shapes: `AnswerHead.logits` of the head that they are of.

  Returns:
    `SavedLogits`.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is damaged, or no file of logits.
  """
  path = os.fspath(path)
  arrays = _load_arrays(path, (*_KEYS, *shapes))
  logits = {
    name: _logits(path, name, arrays[name], shape)
    for name, shape in shapes.items()
  }
  ids = _ids(path, arrays["qas_id"])
  indexes = arrays["doc_span_index"]
  if indexes.ndim != 1 or indexes.dtype.kind not in "iu":
    raise _array_error(path, "doc_span_index", "integers [windows]", indexes)
  shapes = {values.shape for values in logits.values()}
  num_windows = {len(ids), len(indexes), *(shape[0] for shape in shapes)}
  if len(shapes) > 1 or len(num_windows) > 1:
    received = ", ".join(f"{n} {values.shape}" for n, values in logits.items())
    raise ValueError(
      f"{path}: its arrays must agree in the number of windows and in "
      f"max_seq_length. Received: qas_id {ids.shape}, doc_span_index "
      f"{indexes.shape}, {received}."
    )
  row_of = {}
  for row, key in enumerate(zip(ids.tolist(), indexes.tolist(), strict=True)):
    if key in row_of:
      raise ValueError(
        f"{path}: window {key[1]} of question {key[0]} stands there twice, in "
        f"rows {row_of[key]} and {row}."
      )
    row_of[key] = row
  saved = SavedLogits(path, row_of, logits)
  _check_finite(saved)
  return saved


def _load_arrays(path, names):
  """Dict of the file's arrays."""
  try:
    with tf.io.gfile.GFile(path, "rb") as file:
      content = io.BytesIO(file.read())
  except tf.errors.OpError as error:
    raise OSError(f"{path}: cannot be read: {error.message}") from error
  try:
    with np.load(content, allow_pickle=False) as file:
      missing = [name for name in names if name not in file.files]
      if missing:
        raise KeyError(
          f"it lacks {', '.join(missing)} and holds "
          f"{', '.join(file.files) or 'nothing'}"
        )
      return {name: file[name] for name in names}
  # NumPy names the many kinds of damage by many exceptions; an .npy file is
  # an array, which is no context manager.
  except (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    AttributeError,
    TypeError,
    zipfile.BadZipFile,
  ) as error:
    raise ValueError(
      f"{path}: not a file of logits as run_squad --write_logits saves it, an "
      f".npz with the arrays {', '.join(names)}: "
      f"{error.args[0] if error.args else type(error).__name__}"
    ) from error


def _ids(path, ids):
  """Ids as str [windows]; integers become strings, as in SQuAD files."""
  if ids.ndim != 1 or ids.dtype.kind not in "USiu":
    raise _array_error(path, "qas_id", "strings [windows]", ids)
  if ids.dtype.kind == "S":
    return np.char.decode(ids, "utf-8")
  return ids.astype(np.str_)


def _logits(path, name, values, tail):
  is_fitting = values.ndim == 2 + len(tail) and values.shape[2:] == tail
  if not is_fitting or values.dtype.kind not in "fiu":
    shape = ", ".join(["windows", "max_seq_length", *map(str, tail)])
    raise _array_error(path, name, f"numbers [{shape}]", values)
  return values.astype(np.float32, copy=False)


def _check_finite(saved):
  for key, row in saved.row_of.items():
    if not all(np.isfinite(v[row]).all() for v in saved.logits.values()):
      raise ValueError(
        f"{saved.path}: window {key[1]} of question {key[0]} has a logit that "
        f"is infinite or not a number. Write {NO_LOGIT:g} where there is none."
      )


def _array_error(path, name, expected, received):
  return ValueError(
    f"{path}: {name} must be {expected}. Received: {received.dtype} "
    f"{list(received.shape)}."
  )
