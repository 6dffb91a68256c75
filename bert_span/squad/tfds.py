"""Reads SQuAD by its TensorFlow Datasets name."""

import urllib.error
import urllib.request

from bert_span.squad.example import AnswerSpan, SquadExample
from bert_span.squad.reader import SquadFile, make_squad_file, read_squad

_HOST = "https://rajpurkar.github.io/SQuAD-explorer/"
_HOST_SECONDS = 10.0  # the wait for its reply


def read_file_or_tfds(path, dataset):
  """Reads a SQuAD file, or without one the TFDS split read_tfds(*dataset)."""
  return read_squad(path) if path else read_tfds(*dataset)


def read_tfds(name: str, split: str, data_dir: str | None = None) -> SquadFile:
  """Reads a split of SQuAD, in the order of TensorFlow Datasets.

  Data that is not yet prepared in data_dir is made from the official files in
  data_dir/downloads/manual if they exist, else it is downloaded.

  Args:
    name: "squad/v1.1" or "squad/v2.0".
    split: "train", "validation" or a slice such as "train[:10%]".
    data_dir: TFDS' data folder; None for its default.
  """
  splits = "train, validation or a slice such as train[:10%] or train[:100]"
  if split.partition("[")[0] not in ("train", "validation"):
    raise ValueError(
      f"The split of {name} must be {splits}; received {split!r}."
    )
  import tensorflow_datasets as tfds  # Seconds: only where it is used.

  source = f"{name}, split {split!r}"
  builder = tfds.builder(name, data_dir=data_dir)
  if not builder.is_prepared():
    _prepare(builder, name)
  try:
    rows = builder.as_dataset(split=split, shuffle_files=False)
  except (ValueError, AssertionError) as error:
    raise ValueError(
      f"{source}: no such slice. Use {splits}. {error}"
    ) from error
  examples = [_example(row) for row in tfds.as_numpy(rows)]
  return make_squad_file(source, examples, name == "squad/v2.0")


def _prepare(builder, name):
  import tensorflow_datasets as tfds  # Seconds: only where it is used.

  downloads = builder.data_dir_root / "downloads"
  version = name.removeprefix("squad/")
  files = [f"{part}-{version}.json" for part in ("train", "dev")]
  absent = [f for f in files if not (downloads / "manual" / f).exists()]
  if absent:
    _check_host(name, downloads, absent)
  try:
    builder.download_and_prepare(download_dir=downloads)
  except tfds.download.download_manager.NonMatchingChecksumError as error:
    raise ValueError(
      f"{name}: the files in {downloads} are not the official ones. Replace "
      f"them, or read them with train_file and predict_file. {error}"
    ) from error


def _check_host(name, downloads, absent):
  """Raises an OSError if the host does not answer. TFDS would try for 205 s."""
  request = urllib.request.Request(_HOST, method="HEAD")
  try:
    with urllib.request.urlopen(request, timeout=_HOST_SECONDS):
      return
  except urllib.error.HTTPError:
    return  # It answers; TFDS reports what is wrong with the files.
  except OSError as error:
    raise OSError(
      f"{name} is not prepared in {downloads.parent} and cannot be downloaded: "
      f"{_HOST} does not answer ({error}). Put {' and '.join(absent)} into "
      f"{downloads / 'manual'}, or point data_dir at prepared data, or use "
      "train_file and predict_file."
    ) from error


def _example(row):
  texts, starts = row["answers"]["text"], row["answers"]["answer_start"]
  return SquadExample(
    qas_id=row["id"].decode("utf-8"),
    question=row["question"].decode("utf-8"),
    context=row["context"].decode("utf-8"),
    answers=tuple(
      AnswerSpan(text.decode("utf-8"), int(char_start))
      for text, char_start in zip(texts, starts, strict=True)
    ),
    is_impossible=bool(row.get("is_impossible", False)),
    title=row["title"].decode("utf-8"),
  )
