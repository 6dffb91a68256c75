"""Training windows on disk: shards, what they were made of, no stale use.

A set of records is one folder:

  train-<digest>-00000-of-00008.tf_record ..   the windows, in order
  train.tf_record.json                         the manifest, written last

The manifest names the shards and says all that the windows depend on. Shards
carry a digest of that in their names, so that writing another set into the
folder never touches the shards of the one that stands there: it is whole until
the new manifest takes its place.
"""

import dataclasses
import hashlib
import json
import os

import tensorflow as tf

import bert_span
from bert_span.data.labelled_windows import TrainingSet
from bert_span.data.packed_windows import LeftOut
from bert_span.data.window_records import (
  read_window_records,
  write_window_records,
)
from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.files import read_json
from bert_span.storage.fingerprints import differences, file_sha256
from bert_span.storage.log import log_line
from bert_span.text.vocabulary import vocabulary_sha256

MANIFEST_FILE = "train.tf_record.json"
_WRITE_AGAIN = "Write them again with bert_span.create_squad_records"


def window_fingerprint(
  preprocessor, labels, version_2, annotator_labels, drop_answerless
):
  """What the windows of a source depend on.

  Args:
    preprocessor: `SpanPreprocessor`.
    labels: `WindowLabels` of the head.
    version_2: --version_2_with_negative, which decides what is trained on.
    annotator_labels: see `tag_labels`.
    drop_answerless: see `make_training_set`.

  Returns:
    Dict of JSON values, named as run_squad's flags. The version of this
    package is one of them: another one may cut text differently.
  """
  tokenizer = preprocessor.tokenizer
  return {
    "bert_span": bert_span.__version__,
    **dataclasses.asdict(preprocessor.options),
    "do_lower_case": tokenizer.do_lower_case,
    "vocabulary_sha256": vocabulary_sha256(tokenizer.vocabulary),
    "version_2_with_negative": version_2,
    "drop_answerless_windows": drop_answerless,
    "head": labels.head,
    **(
      {"annotator_labels": annotator_labels} if labels.every_annotator else {}
    ),
  }


def source_fingerprint(path, dataset):
  """What tells a file of questions, or a data set, from another one.

  Args:
    path: SQuAD JSON file, local or any path of tf.io.gfile; None for
      `dataset`.
    dataset: (TFDS name, split, data_dir), or None.

  Returns:
    Dict of JSON values; None where there is neither.
  """
  if path:
    return {"train_file_sha256": file_sha256(path)}
  return {"dataset": f"{dataset[0]}:{dataset[1]}"} if dataset else None


def write_training_records(
  directory, training_set, fingerprint, source, num_shards, padded_length=None
):
  """Writes a training set as records; one that stands there is replaced.

  Args:
    directory: folder, local or any path of tf.io.gfile; made when missing.
    training_set: `TrainingSet`.
    fingerprint: dict of `window_fingerprint`.
    source: dict of `source_fingerprint`.
    num_shards: files that the windows are dealt into.
    padded_length: WordPieces that every record gets; None adds no padding.

  Returns:
    Path of the manifest.
  """
  made_of = {**fingerprint, **source, "padded_length": padded_length}
  names = shard_names(made_of, num_shards)
  tf.io.gfile.makedirs(directory)
  counts = write_window_records(
    [os.path.join(directory, name) for name in names],
    training_set.windows,
    padded_length,
  )
  return write_manifest(
    directory,
    names,
    counts,
    fingerprint,
    source,
    padded_length,
    training_set.num_examples,
    training_set.left_out,
  )


def write_manifest(
  directory,
  names,
  counts,
  fingerprint,
  source,
  padded_length,
  num_examples,
  left_out,
):
  """Makes shards that were written the set of a folder, and removes the old.

  Args:
    directory: the folder.
    names: names of the shards, in order.
    counts: how many records each holds.
    fingerprint, source, padded_length: see `write_training_records`.
    num_examples: questions they were made of.
    left_out: `LeftOut`.

  Returns:
    Path of the manifest.
  """
  before = _shards_in(directory)
  path = os.path.join(directory, MANIFEST_FILE)
  write_json_atomically(
    path,
    {
      "made_with": fingerprint,
      "made_of": source,
      "padded_length": padded_length,
      "num_examples": num_examples,
      "num_windows": sum(counts),
      "left_out": left_out._asdict(),
      "shards": [
        {"file": name, "records": count}
        for name, count in zip(names, counts, strict=True)
      ],
    },
  )
  for name in set(before) - set(names):
    stale = os.path.join(directory, name)
    if tf.io.gfile.exists(stale):
      tf.io.gfile.remove(stale)
  return path


class TrainingRecords:
  """Training windows that `write_training_records` wrote.

  Args:
    directory: the folder.
    source: dict of `source_fingerprint` that they must have been made of; None
      where that is not known here.

  Raises:
    ValueError: there are none, or they were made of something else.
  """

  def __init__(self, directory, source=None):
    self._directory = os.fspath(directory)
    self._manifest = _read_manifest(self._directory)
    if source is not None:
      self._check("made_of", source)

  def read(self, fingerprint, labels):
    """Reads the windows.

    Args:
      fingerprint: dict of `window_fingerprint` of now.
      labels: `WindowLabels` of the head.

    Returns:
      `TrainingSet`, equal to the one written.

    Raises:
      ValueError: the records were made otherwise, or are damaged.
    """
    self._check("made_with", fingerprint)
    shards = self._manifest["shards"]
    windows = read_window_records(
      [os.path.join(self._directory, shard["file"]) for shard in shards],
      [shard["records"] for shard in shards],
      labels,
    )
    return TrainingSet(
      windows,
      self._manifest["num_examples"],
      LeftOut(**self._manifest["left_out"]),
    )

  def _check(self, part, now):
    """Refuses stale records and says what differs."""
    changes = differences(self._manifest[part], now)
    if changes:
      raise ValueError(
        f"The records in {self._directory} are not of this run: "
        f"{'; '.join(changes)}. {_WRITE_AGAIN} and these flags, or give the "
        "flags and files of then."
      )


def open_training_records(directory, path, dataset):
  """Opens records, checked against their source where it is named.

  Args:
    directory: folder of `write_training_records`.
    path: SQuAD JSON file that they must have been made of, or None.
    dataset: (TFDS name, split, data_dir) of the same, or None.

  Returns:
    `TrainingRecords`.

  Raises:
    ValueError: there are none, or they were made of something else.
  """
  source = source_fingerprint(path, dataset)
  if source is None:
    log_line(
      f"Training on the records in {directory}; without --train_file nothing "
      "tells whether the questions have changed since."
    )
  return TrainingRecords(directory, source)


def _read_manifest(directory):
  path = os.path.join(directory, MANIFEST_FILE)
  if not tf.io.gfile.exists(path):
    raise ValueError(
      f"--train_records={directory} has no {MANIFEST_FILE}, so it is no folder "
      "of bert_span.create_squad_records, or one that was never finished. "
      f"{_WRITE_AGAIN}."
    )
  try:
    return _checked_manifest(read_json(path))
  except (ValueError, KeyError, TypeError) as error:
    raise ValueError(
      f"{path} is no manifest of records ({error!r}). {_WRITE_AGAIN}."
    ) from error


def _checked_manifest(manifest):
  """The manifest, if it has what is read of it."""
  for name in ("made_with", "made_of", "num_examples"):
    _ = manifest[name]
  LeftOut(**manifest["left_out"])
  for shard in manifest["shards"]:
    _ = shard["file"], shard["records"]
  return manifest


def _shards_in(directory):
  """Names of the shards of the set that stands in a folder.

  [] for none, and for a manifest that nobody can read: it is to be replaced.
  """
  try:
    return [shard["file"] for shard in _read_manifest(directory)["shards"]]
  except ValueError:
    return []


def shard_names(made_of, num_shards):
  """Names of the shards of a set.

  Args:
    made_of: dict of JSON values, all that the shards depend on; its digest is
      part of the names.
    num_shards: how many.

  Returns:
    List of str.
  """
  text = json.dumps(made_of, sort_keys=True).encode("utf-8")
  digest = hashlib.sha256(text).hexdigest()[:8]
  return [
    f"train-{digest}-{shard:05d}-of-{num_shards:05d}.tf_record"
    for shard in range(num_shards)
  ]
