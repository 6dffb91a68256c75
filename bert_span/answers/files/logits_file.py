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

import io
import os
import zipfile

import numpy as np

from bert_span.answers.window_logits import NO_LOGIT
from bert_span.storage.atomic_file import open_atomically
from bert_span.storage.files import read_bytes

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
    self._ids = []
    self._indexes = []
    self._batches = []

  def add(self, logits):
    """Adds a `WindowLogits`."""
    windows = logits.windows
    self._ids += [logits.examples[i].qas_id for i in windows["example_index"]]
    self._indexes += list(windows["doc_span_index"])
    self._batches.append(
      {name: np.array(logits.logits[name], np.float32) for name in self._shapes}
    )

  def write(self, path, max_seq_length):
    """Writes all batches as one file, whole or not at all.

    Every window is padded to max_seq_length WordPieces.
    """
    arrays = {
      "qas_id": np.array(self._ids, np.str_),
      "doc_span_index": np.array(self._indexes, np.int32),
    }
    for name, shape in self._shapes.items():
      padded = np.full(
        [len(self._ids), max_seq_length, *shape], NO_LOGIT, np.float32
      )
      row = 0
      for batch in self._batches:
        values = batch[name]
        padded[row : row + len(values), : values.shape[1]] = values
        row += len(values)
      arrays[name] = padded
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    with open_atomically(path, binary=True) as file:
      file.write(content.getvalue())


class SavedLogits:
  """The logits of a file, which is checked as it is read.

  Args:
    path: any path of tf.io.gfile; `LogitsWriter` or another program wrote it.
    shapes: `AnswerHead.logits` of their head.

  Attributes:
    logits: dict of name to float32 [windows, max_seq_length, ..].

  Raises:
    OSError: the file cannot be read.
    ValueError: it is damaged, or no file of logits.
  """

  def __init__(self, path, shapes):
    self._path = os.fspath(path)
    arrays = _load_arrays(self._path, ("qas_id", "doc_span_index", *shapes))
    ids, indexes = arrays.pop("qas_id"), arrays.pop("doc_span_index")
    if ids.dtype.kind == "S":
      ids = np.char.decode(ids, "utf-8")
    self._check("qas_id", ids, "USiu", "strings", [None])
    self._check("doc_span_index", indexes, "iu", "integers", [None])
    for name, shape in shapes.items():
      self._check(name, arrays[name], "fiu", "numbers", [None, None, *shape])
    lengths = {values.shape[1] for values in arrays.values()}
    if len({len(ids), len(indexes), *map(len, arrays.values())}) > 1 or (
      len(lengths) > 1
    ):
      shapes = ", ".join(f"{n} {values.shape}" for n, values in arrays.items())
      raise ValueError(
        f"{self._path}: its arrays must agree in the number of windows and in "
        f"max_seq_length. Received: qas_id {ids.shape}, doc_span_index "
        f"{indexes.shape}, {shapes}. {_OTHER_WINDOWS}"
      )
    self._length = lengths.pop()
    # Integers become strings, as in SQuAD files.
    keys = list(zip(map(str, ids.tolist()), indexes.tolist(), strict=True))
    self._row_of = {key: row for row, key in enumerate(keys)}
    if len(self._row_of) < len(keys):
      self._refuse(
        next(k for i, k in enumerate(keys) if self._row_of[k] != i),
        "is in the file twice. Keep one of them.",
      )
    self.logits = {
      name: values.astype(np.float32, copy=False)
      for name, values in arrays.items()
    }
    for row, key in enumerate(keys):
      if not all(np.isfinite(v[row]).all() for v in self.logits.values()):
        self._refuse(
          key,
          "has a logit that is infinite or not a number. Write "
          f"{NO_LOGIT:g} where there is none.",
        )
    self._used = np.zeros(len(keys), bool)

  def take(self, examples, windows):
    """The logits of some windows, in their order.

    Args:
      examples: sequence of `SquadExample`.
      windows: their windows, a dict of arrays padded to max_seq_length, see
        `SlidingWindows`.

    Returns:
      Dict of the arrays of `logits` for these windows.

    Raises:
      ValueError: a window is not in the file, or has another length there.
    """
    is_token = np.asarray(windows["input_mask"]) > 0  # [windows, length]
    if self._length != is_token.shape[1]:
      raise ValueError(
        f"{self._path}: the logits are of windows of {self._length} "
        f"WordPieces, not of --max_seq_length={is_token.shape[1]}. "
        f"{_OTHER_WINDOWS}"
      )
    keys = [
      (examples[i].qas_id, int(index))
      for i, index in zip(
        windows["example_index"], windows["doc_span_index"], strict=True
      )
    ]
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
        self._refuse(
          keys[int(np.argmax(lacking))],
          "has tokens without logits, so it was a shorter window. "
          f"{_OTHER_WINDOWS}",
        )
    return logits

  def check_all_taken(self):
    """Raises a ValueError if the file has other windows, too."""
    left = np.flatnonzero(~self._used)
    if left.size:
      qas_id, index = list(self._row_of)[left[0]]
      raise ValueError(
        f"{self._path}: {left.size} windows too many, such as window {index} "
        f"of question {qas_id}. {_OTHER_WINDOWS}"
      )

  def _check(self, name, values, kinds, expected, shape):
    """Refuses an array of another type or shape; None is any length."""
    fits = values.ndim == len(shape) and all(
      wanted in (None, found)
      for wanted, found in zip(shape, values.shape, strict=True)
    )
    if not fits or values.dtype.kind not in kinds:
      axes = ", ".join(map(str, ["windows", "max_seq_length", *shape[2:]]))
      raise ValueError(
        f"{self._path}: {name} must be {expected} "
        f"[{axes if len(shape) > 1 else 'windows'}]. Received: "
        f"{values.dtype} {list(values.shape)}. Write the file again."
      )

  def _refuse(self, key, fault):
    raise ValueError(
      f"{self._path}: window {key[1]} of question {key[0]} {fault}"
    )


def _load_arrays(path, names):
  """Dict of the file's arrays."""
  content = io.BytesIO(read_bytes(path))
  try:
    with np.load(content, allow_pickle=False) as file:
      missing = [name for name in names if name not in file.files]
      if missing:
        raise ValueError(
          f"it lacks {', '.join(missing)} and holds "
          f"{', '.join(file.files) or 'nothing'}"
        )
      return {name: file[name] for name in names}
  # NumPy raises all of these for damaged files; an .npy file is an array,
  # which is no context manager.
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
      f"{str(error) or type(error).__name__}. Save the logits again."
    ) from error
