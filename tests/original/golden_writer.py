"""Writes golden files in their documented format."""

import gzip
import hashlib
import json
import os


def sha1(numbers):
  """SHA-1 of decimal numbers joined by commas."""
  return hashlib.sha1(",".join(map(str, numbers)).encode()).hexdigest()


def sha1_text(text):
  """SHA-1 of a text in UTF-8."""
  return hashlib.sha1(text.encode("utf-8", "surrogatepass")).hexdigest()


class GoldenWriter:
  """A folder that golden files are written into; made if it is missing."""

  def __init__(self, folder):
    os.makedirs(folder, exist_ok=True)
    self.folder = folder

  def path(self, name):
    return os.path.join(self.folder, name)

  def write_json(self, name, value, indent=None):
    """Writes one JSON value, compressed where the name ends with .gz."""
    self.write_bytes(name, json.dumps(value, indent=indent).encode("utf-8"))

  def write_rows(self, name, rows):
    """Writes one compact JSON value a line; returns the SHA-1 of all."""
    text = "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in rows)
    self.write_bytes(name, text.encode("utf-8"))
    return sha1_text(text)

  def write_bytes(self, name, data):
    """Writes bytes, compressed where the name ends with .gz."""
    if name.endswith(".gz"):
      data = gzip.compress(data)
      # Bytes 4 to 7 are the time: without it, equal contents are equal files.
      data = data[:4] + b"\0\0\0\0" + data[8:]
    with open(self.path(name), "wb") as file:
      file.write(data)
