"""Lines of files of text as str: compressed or not, local or remote.

Bytes that are not UTF-8 become U+FFFD, with one warning a file: a stray byte
shall not end a run of weeks.
"""

import gzip
import zlib

from absl import logging

from bert_span.storage.files import open_file


def text_lines(path):
  """Reads a file line by line.

  Args:
    path: local or any path of tf.io.gfile; .gz is decompressed.

  Yields:
    str with its line break; see `decoded`.

  Raises:
    ValueError: a .gz file is damaged or not compressed.
    OSError, tf.errors.OpError: the file cannot be read.
  """
  with open_file(path) as raw:
    lines = _decompressed(raw, path) if path.endswith(".gz") else raw
    yield from decoded(lines, path, "line", 1)


def decoded(rows, path, unit, first):
  """Decodes UTF-8, and warns of the first row that is none.

  Args:
    rows: iterable of bytes.
    path: what the warning calls their source.
    unit: what it calls a row.
    first: number of the first row.

  Yields:
    str; bytes that are not UTF-8 are U+FFFD.
  """
  is_warned = False
  for number, row in enumerate(rows, first):
    try:
      text = row.decode("utf-8")
    except UnicodeDecodeError as error:
      if not is_warned:
        logging.warning(
          "%s, %s %d: not UTF-8 (byte 0x%02x). Such bytes become U+FFFD, which "
          "the tokenizer drops; later ones in it are not told. Convert the "
          "text, for instance with iconv -t UTF-8.",
          path,
          unit,
          number,
          row[error.start],
        )
        is_warned = True
      text = row.decode("utf-8", "replace")
    yield text


def _decompressed(raw, path):
  """Yields the lines of a gzip file as bytes."""
  try:
    yield from gzip.GzipFile(fileobj=raw)
  except (gzip.BadGzipFile, EOFError, zlib.error) as error:
    raise ValueError(
      f"{path} is not a whole gzip file ({error}). Compress or copy it anew; "
      "text that is not compressed must not be named .gz."
    ) from error
