"""TensorFlow Serving's predict API, as clients and servers here know it."""

DEFAULT_MODEL = "bert_span"
SERVING_DEFAULT = "serving_default"  # the signature from strings to answers


def rows_of_columns(columns):
  """Yields the rows of a dict of columns, lists, as dicts; decodes bytes."""
  columns = {name: decoded(values) for name, values in columns.items()}
  for values in zip(*columns.values(), strict=True):
    yield dict(zip(columns, values, strict=True))


def decoded(value, errors="strict"):
  """Decodes bytes, also within lists; errors as of `bytes.decode`."""
  if isinstance(value, list):
    return [decoded(entry, errors) for entry in value]
  return value.decode("utf-8", errors) if isinstance(value, bytes) else value
