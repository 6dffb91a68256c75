"""TensorFlow Serving's predict API, as clients and servers here know it."""

DEFAULT_MODEL = "bert_span"
SERVING_DEFAULT = "serving_default"  # the signature from strings to answers


def rows_of_columns(columns):
  """Yields the rows of a dict of columns, lists, as dicts; decodes bytes."""
  columns = {name: decoded(values) for name, values in columns.items()}
  for values in zip(*columns.values(), strict=True):
    yield dict(zip(columns, values, strict=True))


def decoded(value):
  """Decodes bytes, also within lists."""
  if isinstance(value, list):
    return list(map(decoded, value))
  return value.decode("utf-8") if isinstance(value, bytes) else value
