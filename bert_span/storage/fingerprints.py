"""Compares the options and inputs of a run with those it was started with."""

import hashlib

from bert_span.storage.files import open_file, read_json_object

_BLOCK_BYTES = 1 << 20


def file_sha256(path):
  """SHA-256 of a local or remote file, in hexadecimal digits."""
  digest = hashlib.sha256()
  with open_file(path) as file:
    while block := file.read(_BLOCK_BYTES):
      digest.update(block)
  return digest.hexdigest()


def check_same_options(path, options, saved=None):
  """Raises ValueError unless a run continues with the options of its start.

  Args:
    path: JSON file of the options that the run was started with.
    options: dict of JSON values, the current options.
    saved: the options of the start, where they are in a file of another type.
  """
  try:
    saved = saved or read_json_object(path)
  except ValueError as error:
    raise ValueError(
      f"{error} Use another --output_dir, or empty this one to start again."
    ) from error
  changes = differences(saved, options)
  if changes:
    raise ValueError(
      f"The run of {path} was started with other options: "
      f"{'; '.join(changes)}. Give the same options to continue it, or another "
      "--output_dir to start a new run."
    )


def differences(before, now, prefix=""):
  """Lists differences such as "optimizer.epsilon was 1e-06, is now 1e-08"."""
  changes = []
  for key in sorted({*before, *now}):
    old, new = before.get(key, "absent"), now.get(key, "absent")
    if isinstance(old, dict) and isinstance(new, dict):
      changes += differences(old, new, f"{prefix}{key}.")
    elif old != new:
      changes.append(f"{prefix}{key} was {old!r}, is now {new!r}")
  return changes
