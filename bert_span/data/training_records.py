"""Labelled windows on disk: sharded TFRecords and a manifest.

  train-<digest>-00000-of-00008.tf_record ..   the windows, in order
  train.tf_record.json                         the manifest, written last

The manifest lists the shards and everything that the windows depend on. The
names of shards contain a digest of that, so that writing other records to the
folder does not touch the shards of the current manifest.

A record contains one window, with the feature names of run_squad's
train.tf_record: unique_ids, which counts the windows; input_ids, input_mask,
segment_ids [WordPieces]; start_positions and end_positions of a span head, or
tag_labels [3 * WordPieces] of a B/I/O head. run_squad reads the records of a
span head if they are padded to max_seq_length.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import re

import numpy as np
import tensorflow as tf

from bert_span.data.labelled_windows import (
  LabelledWindows,
  Skipped,
  pack_windows,
)
from bert_span.options.fields import differences
from bert_span.options.messages import shortened
from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.files import (
  file_sha256,
  make_folder,
  read_json_object,
)
from bert_span.storage.json_fields import FieldErrors
from bert_span.storage.log import log_line
from bert_span.storage.record_files import (
  READ_BYTES,
  open_records,
  serialized_example,
)
from bert_span.text.vocabulary import vocabulary_sha256

MANIFEST_FILE = "train.tf_record.json"
_SHARD_NAME = re.compile(r"train-[0-9a-f]{8}-\d{5}-of-\d{5}\.tf_record")
_WRITE_AGAIN = "Write them again with bert_span.create_squad_records"
# The version of bert_span since which windows and labels are the same.
_WINDOWS_OF = "0.1.0"
_TOKEN_FEATURES = ("input_ids", "input_mask", "segment_ids")
_FIRST_ID = 1_000_000_000  # As run_squad.
# Records that one call writes or parses, to spread its overhead.
_RECORDS_PER_BATCH = 512


def window_fingerprint(
  preprocessor, version_2, annotator_labels, drop_answerless
):
  """What windows depend on, flags and the way they are made, as a dict."""
  tokenizer = preprocessor.tokenizer
  fingerprint = {
    "bert_span": _WINDOWS_OF,
    **dataclasses.asdict(preprocessor.options),
    "do_lower_case": tokenizer.do_lower_case,
    "vocabulary_sha256": vocabulary_sha256(tokenizer.vocabulary),
    "version_2_with_negative": version_2,
    "drop_answerless_windows": drop_answerless,
    "head": preprocessor.head_name,
  }
  if preprocessor.every_annotator:
    fingerprint["annotator_labels"] = annotator_labels
  return fingerprint


def source_fingerprint(path, dataset):
  """A dict that identifies a file, or (TFDS name, split, data_dir)."""
  if path:
    return {"train_file_sha256": file_sha256(path)}
  return {"dataset": f"{dataset[0]}:{dataset[1]}"} if dataset else None


def write_training_records(
  directory, labelled, fingerprint, source, num_shards, padded_length=None
):
  """Replaces the records in a folder; returns the path of the manifest.

  `fingerprint` and `source` are those of the functions above. All records have
  padded_length WordPieces; None adds no padding.
  """
  made_of = {**fingerprint, **source, "padded_length": padded_length}
  text = json.dumps(made_of, sort_keys=True).encode("utf-8")
  digest = hashlib.sha256(text).hexdigest()[:8]
  names = [
    f"train-{digest}-{shard:05d}-of-{num_shards:05d}.tf_record"
    for shard in range(num_shards)
  ]
  make_folder(directory)
  paths = [os.path.join(directory, name) for name in names]
  counts = write_window_records(paths, labelled.windows, padded_length)
  shards = zip(names, counts, map(file_sha256, paths), strict=True)
  manifest = {
    "made_with": fingerprint,
    "made_of": source,
    "padded_length": padded_length,
    "num_examples": labelled.num_examples,
    "num_windows": sum(counts),
    "left_out": labelled.skipped._asdict(),
    "shards": [
      {"file": name, "records": count, "sha256": sha256}
      for name, count, sha256 in shards
    ],
  }
  # Other shards may be those of a process that is writing now.
  replaced = set()
  with contextlib.suppress(ValueError):  # No manifest, or a damaged one.
    replaced = {shard["file"] for shard in _read_manifest(directory)["shards"]}
  path = os.path.join(directory, MANIFEST_FILE)
  write_json_atomically(path, manifest)
  for name in replaced - set(names):
    old = os.path.join(directory, name)
    if tf.io.gfile.exists(old):
      tf.io.gfile.remove(old)
  return path


class TrainingRecords:
  """Records of `write_training_records`, compared with their source.

  ValueError if there are none, or they are not made of `path`, or of `dataset`,
  (TFDS name, split, data_dir).
  """

  def __init__(self, directory, path=None, dataset=None):
    self._directory = os.fspath(directory)
    self._manifest = _read_manifest(self._directory)
    source = source_fingerprint(path, dataset)
    if source is None:
      log_line(
        f"Training on the records in {directory}. Without --train_file it is "
        "not checked whether the questions have changed since."
      )
    else:
      self._check("made_of", source)

  def read(self, fingerprint, preprocessor):
    """The `LabelledWindows`, compared with the current `window_fingerprint`."""
    self._check("made_with", fingerprint)
    shards, skipped = self._manifest["shards"], self._manifest["left_out"]
    paths = [os.path.join(self._directory, shard["file"]) for shard in shards]
    counts = [shard["records"] for shard in shards]
    windows = read_window_records(paths, counts, preprocessor)
    for path, shard in zip(paths, shards, strict=True):
      # Manifests of earlier versions have no hash.
      if shard.get("sha256") not in (None, file_sha256(path)):
        raise ValueError(
          f"{path} is not the file that was written: its SHA-256 is another. "
          f"Copy the shards again, or w{_WRITE_AGAIN[1:]}."
        )
    skipped = Skipped(skipped["num_answerless"], skipped["without_token"])
    return LabelledWindows(windows, self._manifest["num_examples"], skipped)

  def _check(self, part, now):
    changes = differences(self._manifest[part], now)
    if changes:
      raise ValueError(
        f"The records in {self._directory} do not match this run: "
        f"{'; '.join(changes)}. {_WRITE_AGAIN} and these flags, or use the "
        "flags and files that they were made with."
      )


def write_window_records(paths, windows, padded_length=None):
  """Writes `PackedWindows` to files; returns the number of each."""
  shares = np.array_split(np.arange(len(windows)), len(paths))
  for path, share in zip(paths, shares, strict=True):
    with open_records(path) as writer:
      for first in range(0, len(share), _RECORDS_PER_BATCH):
        indices = share[first : first + _RECORDS_PER_BATCH]
        for record in _records(windows, indices, padded_length):
          writer.write(record)
  return [len(share) for share in shares]


def read_window_records(paths, counts, preprocessor):
  """Returns the `PackedWindows` in files, of the head of a preprocessor.

  ValueError if a file is missing or damaged, or does not hold its `counts`.
  """
  parse, parts = _parser(preprocessor), []
  for path, count in zip(paths, counts, strict=True):
    records = tf.data.TFRecordDataset(path, buffer_size=READ_BYTES)
    try:
      batches = [parse(batch) for batch in records.batch(_RECORDS_PER_BATCH)]
    except tf.errors.OpError as error:
      raise ValueError(
        f"{path} cannot be read ({error.message}). {_WRITE_AGAIN}."
      ) from error
    found = sum(len(batch["lengths"]) for batch in batches)
    if found != count:
      raise ValueError(
        f"{path} contains {found} records, but {count} were written. "
        f"{_WRITE_AGAIN}."
      )
    parts += batches
  if not parts:
    raise ValueError(f"The records {paths} contain no window. {_WRITE_AGAIN}.")
  windows = pack_windows(parts, preprocessor)
  begins = windows.first_context_positions
  if np.any((begins < 1) | (begins >= windows.lengths)):
    raise ValueError(
      f"The records {paths} have a window without a passage. {_WRITE_AGAIN}."
    )
  return windows


def _records(windows, indices, padded_length):
  lengths = windows.lengths[indices]
  batch = windows.batch(indices, padded_length or int(lengths.max()))
  for row, length in enumerate(lengths):
    cut = slice(padded_length or length)
    integers, floats = {}, {}
    for name, values in batch.items():
      if values.ndim == 3:  # labels of tokens
        floats[name] = values[row, cut].ravel()
      else:
        integers[name] = values[row, cut] if values.ndim == 2 else [values[row]]
    integers["unique_ids"] = [_FIRST_ID + indices[row]]
    yield serialized_example(integers, floats)


def _parser(preprocessor):
  """A function of serialized records to a dict of windows without padding."""
  features = {name: tf.io.RaggedFeature(tf.int64) for name in _TOKEN_FEATURES}
  for name in preprocessor.window_labels:
    features[name] = tf.io.FixedLenFeature([], tf.int64)
  for name in preprocessor.token_labels:
    features[name] = tf.io.RaggedFeature(tf.float32)

  @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
  def without_padding(records):
    parsed = tf.io.parse_example(records, features)
    mask = parsed["input_mask"].flat_values > 0
    lengths = tf.reduce_sum(parsed["input_mask"], axis=1)
    context_lengths = tf.reduce_sum(parsed["segment_ids"], axis=1)
    result = {
      "token_ids": tf.boolean_mask(parsed["input_ids"].flat_values, mask),
      "lengths": lengths,
      # A window is its question, segment 0, and its passage, segment 1.
      "first_context_positions": lengths - context_lengths,
      **{name: parsed[name] for name in preprocessor.window_labels},
    }
    result = {name: tf.cast(value, tf.int32) for name, value in result.items()}
    for name, num_values in preprocessor.token_labels.items():
      values = tf.reshape(parsed[name].flat_values, [-1, num_values])
      result[name] = tf.boolean_mask(values, mask)
    return result

  return without_padding


def _read_manifest(directory):
  path = os.path.join(directory, MANIFEST_FILE)
  if not tf.io.gfile.exists(path):
    raise ValueError(
      f"--train_records={directory} has no {MANIFEST_FILE}: it is no folder of "
      f"records, or the program did not finish. {_WRITE_AGAIN}."
    )
  errors = FieldErrors(path)
  try:
    manifest = read_json_object(path)
    errors.required(manifest, "made_with", dict, "manifest")
    errors.required(manifest, "made_of", dict, "manifest")
    errors.required(manifest, "num_examples", int, "manifest")
    skipped = errors.required(manifest, "left_out", dict, "manifest") or {}
    errors.required(skipped, "num_answerless", int, "left_out")
    errors.required(skipped, "without_token", list, "left_out")
    shards = errors.required(manifest, "shards", list, "manifest")
    for index, shard in errors.objects(shards, "shard", "manifest"):
      place = f"shard {index}"
      errors.required(shard, "records", int, place)
      errors.optional(shard, "sha256", str, place, None)
      file = errors.required(shard, "file", str, place)
      # A path could lead out of the folder, and old shards are deleted.
      if file is not None and not _SHARD_NAME.fullmatch(file):
        errors.add(place, f"{shortened(file)} is not the name of a shard.")
    errors.raise_if_any()
  except ValueError as error:
    raise ValueError(
      f"{error} It is not a manifest of records. {_WRITE_AGAIN}."
    ) from error
  return manifest
