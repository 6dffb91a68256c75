"""Names and formats of TensorFlow Serving's predict API."""

DEFAULT_MODEL = "bert_span"
SERVING_DEFAULT = "serving_default"  # the signature from strings to answers


def rows_of_columns(columns):
  """Yields a dict for each row of a dict of columns, lists; decodes bytes."""
  columns = {name: decode_bytes(values) for name, values in columns.items()}
  for values in zip(*columns.values(), strict=True):
    yield dict(zip(columns, values, strict=True))


def decode_bytes(value):
  """Decodes bytes, also in lists."""
  if isinstance(value, list):
    return list(map(decode_bytes, value))
  return value.decode("utf-8") if isinstance(value, bytes) else value
