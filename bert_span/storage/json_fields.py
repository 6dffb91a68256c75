"""Typed look-ups in parsed JSON that collect all errors of a file."""

import reprlib

_MISSING = object()
_NAMES = {str: "string", int: "integer", bool: "boolean", list: "list"}

# Neither spells out megabytes nor descends into deep nesting, as repr would.
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxstring = _SHORT.maxother = 60
_SHORT.maxlist = _SHORT.maxdict = 3


class FieldErrors:
  """Collects the errors of one file's structure.

  Attributes:
    path: the file, named in the error.
    shown: the first num_shown errors, whole sentences.
    count: number of all errors.
  """

  def __init__(self, path: str, num_shown: int = 10):
    self.path = path
    self.shown: list[str] = []
    self.count = 0
    self._num_shown = num_shown

  def add(self, place: str, message: str) -> None:
    """Adds an error at a place such as "article 'Rome', question 'q1'"."""
    self.count += 1
    if len(self.shown) < self._num_shown:
      self.shown.append(f"{place}: {message}" if place else message)

  def raise_if_any(self) -> None:
    """Raises a ValueError with the first errors and the count of all."""
    if not self.count:
      return
    if self.count == 1:
      raise ValueError(f"{self.path}: {self.shown[0]}")
    listed = "".join(f"\n  {message}" for message in self.shown)
    hidden = self.count - len(self.shown)
    more = f"\n  and {hidden} more" if hidden else ""
    raise ValueError(f"{self.path}: {self.count} errors:{listed}{more}")


def is_kind(value, kind: type) -> bool:
  """Whether a value has a JSON type: True is no integer."""
  if isinstance(value, bool):
    return kind is bool
  return isinstance(value, kind)


def required(record: dict, key: str, kind: type, place, errors: FieldErrors):
  """record[key]; an error and None if it is missing or of another type."""
  return _field(record, key, kind, place, errors, _MISSING)


def optional(
  record: dict, key: str, kind: type, place, errors: FieldErrors, default
):
  """record[key], the default for null; an error and None for another type."""
  if record.get(key) is None:
    return default
  return _field(record, key, kind, place, errors, default)


def records(values: list, name: str, place, errors: FieldErrors):
  """Yields (index, dict) for the objects of a list; adds errors for others."""
  for index, value in enumerate(values):
    if isinstance(value, dict):
      yield index, value
    else:
      errors.add(
        place,
        f"{name} {index} must be an object, received {shortened(value)}. "
        "Correct or remove it.",
      )


def shortened(value) -> str:
  """The repr of a value, cut to some 60 characters, for messages."""
  return _SHORT.repr(value)


def _field(record, key, kind, place, errors, default):
  value = record.get(key, default)
  if value is _MISSING:
    known = ", ".join(shortened(key) for key in list(record)[:8]) or "none"
    errors.add(
      place, f"the key {key!r} is missing. Add it; the keys here are: {known}."
    )
    return None
  if not is_kind(value, kind):
    errors.add(
      place,
      f"{key!r} must be a JSON {_NAMES[kind]}, received {shortened(value)}. "
      "Correct its type.",
    )
    return None
  return value
