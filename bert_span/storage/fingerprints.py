"""What a run or a file was made with, and whether that is still so."""

import json


def check_same_options(saved, asked, path):
  """Refuses to continue a run with options other than it was begun with.

  Args:
    saved: bytes of the JSON file that the beginning of the run wrote.
    asked: dict of JSON values, the options of now.
    path: of the file, for the message.

  Raises:
    ValueError: an option differs, or the file holds no JSON object.
  """
  try:
    begun_with = json.loads(saved.decode("utf-8"))
  except ValueError as error:
    raise ValueError(f"{path} is not JSON ({error}). {_BEGIN_AGAIN}") from error
  if not isinstance(begun_with, dict):
    raise ValueError(
      f"{path} must hold a JSON object. Received: "
      f"{type(begun_with).__name__}. {_BEGIN_AGAIN}"
    )
  changes = differences(begun_with, asked)
  if changes:
    raise ValueError(
      f"The run of {path} was begun with other options: {'; '.join(changes)}. "
      "Give the options of then to continue it, or another --output_dir to "
      "begin a new run."
    )


def differences(before, now, prefix=""):
  """Tells how two nests of JSON values differ.

  Args:
    before: dict of JSON values.
    now: dict of JSON values.
    prefix: put before the names.

  Returns:
    List of str such as "optimizer.epsilon was 1e-06, is now 1e-08"; [] when
    they are equal.
  """
  changes = []
  for key in sorted({*before, *now}):
    old, new = before.get(key, "absent"), now.get(key, "absent")
    if isinstance(old, dict) and isinstance(new, dict):
      changes += differences(old, new, f"{prefix}{key}.")
    elif old != new:
      changes.append(f"{prefix}{key} was {old!r}, is now {new!r}")
  return changes


_BEGIN_AGAIN = "Use another --output_dir, or empty this one to begin again."
