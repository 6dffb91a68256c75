"""Typed look-ups in parsed JSON."""

from bert_span.options.messages import shortened

NAMES = {
  str: "string",
  int: "integer",
  bool: "boolean",
  list: "list",
  dict: "object",
}


def is_json(value, json_type: type) -> bool:
  """Returns whether a value has a JSON type; a bool is no integer."""
  if isinstance(value, bool):
    return json_type is bool
  return isinstance(value, json_type)


class FieldErrors:
  """Reads the fields of a file's objects and collects its errors.

  A place is a description such as "article 'Rome', question 'q1'".
  """

  def __init__(self, path: str, num_shown: int = 10):
    self.path = path  # named in the error
    self.shown: list[str] = []  # the first num_shown errors, whole sentences
    self.count = 0  # all errors
    self._num_shown = num_shown

  def add(self, place: str, message: str) -> None:
    self.count += 1
    if len(self.shown) < self._num_shown:
      self.shown.append(f"{place}: {message}")

  def raise_if_any(self) -> None:
    """Raises a ValueError with the first errors and the count of all."""
    if self.count == 1:
      raise ValueError(f"{self.path}: {self.shown[0]}")
    if self.count:
      listed = "".join(f"\n  {message}" for message in self.shown)
      if self.count > len(self.shown):
        listed += f"\n  and {self.count - len(self.shown)} more"
      raise ValueError(f"{self.path}: {self.count} errors:{listed}")

  def required(self, record: dict, key: str, json_type: type, place: str):
    """Returns record[key], or None after an error: missing or other type."""
    if key in record and is_json(record[key], json_type):
      return record[key]
    known = ", ".join(map(shortened, list(record)[:8])) or "none"
    message = f"the key {key!r} is missing. Add it; the keys here are: {known}."
    if key in record:
      message = (
        f"{key!r} must be a JSON {NAMES[json_type]}, received "
        f"{shortened(record[key])}. Correct its type."
      )
    self.add(place, message)
    return None

  def optional(self, record, key: str, json_type: type, place: str, default):
    """Returns the default for a missing or null key, else as `required`."""
    if record.get(key) is None:
      return default
    return self.required(record, key, json_type, place)

  def objects(self, values: list | None, name: str, place: str):
    """Yields (index, dict) of each object in a list; others are errors."""
    for index, value in enumerate(values or ()):
      if isinstance(value, dict):
        yield index, value
      else:
        self.add(
          place,
          f"{name} {index} must be an object, received {shortened(value)}. "
          "Correct or remove it.",
        )
