"""Reads files on the local disk and on the file systems of tf.io.gfile.

Reading a local file never loads TensorFlow, which takes seconds. A path with a
scheme (gs://, hdfs://, file://) goes through tf.io.gfile. etils.epath is no
replacement: it has no hdfs:// and no file://.
"""

import atexit
import codecs
import contextlib
import errno
import hashlib
import itertools
import json
import math
import os
import re
import shutil
import tempfile

# JSON is parsed in memory, and the code that walks it may recurse.
MAX_JSON_BYTES = 1 << 31
_MAX_JSON_DEPTH = 100
_BLOCK_BYTES = 1 << 24
_PATTERN_CHARACTERS = "*?[\\"
_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\0-\x08\x0e-\x1f]")  # never in a text
_CONVERT = "Convert it to text or JSON."
# First bytes of a binary file -> its format, and the remedy.
_BINARY_FORMATS = {
  b"\x1f\x8b": "gzip-compressed. Run gunzip on it.",
  b"BZh": "bzip2-compressed. Run bunzip2 on it.",
  b"\xfd7zXZ\x00": "xz-compressed. Run unxz on it.",
  b"\x28\xb5\x2f\xfd": "zstd-compressed. Run unzstd on it.",
  b"PK\x03\x04": "a zip archive. Run unzip on it.",
  b"PAR1": f"a Parquet file. {_CONVERT}",
  b"ARROW1": f"an Arrow file. {_CONVERT}",
  b"\xff\xff\xff\xff": f"an Arrow stream. {_CONVERT}",
  b"FEA1": f"a Feather file. {_CONVERT}",
  b"\x93NUMPY": f"a NumPy array. {_CONVERT}",
  b"\x89HDF": f"an HDF5 file. {_CONVERT}",
  b"SQLite format 3": f"an SQLite database. {_CONVERT}",
  b"%PDF": f"a PDF. {_CONVERT}",
  b"\xd0\xcf\x11\xe0": f"an old Office file. {_CONVERT}",
  **dict.fromkeys(
    (
      *(b"]q\x00", b"]q\x01", b"}q\x00", b"}q\x01"),  # protocol 1
      *(bytes([0x80, protocol]) for protocol in range(2, 6)),
    ),
    f"a Python pickle. {_CONVERT}",
  ),
}
# Names in the list at the end of a zip archive -> its format, and the remedy.
_ZIP_FORMATS = {
  b"xl/workbook": f"an Excel workbook. {_CONVERT}",
  b"word/document": f"a Word document. {_CONVERT}",
  b".npy": f"an archive of NumPy arrays (npz). {_CONVERT}",
}


def is_remote(path):
  """Returns whether a path has a scheme, such as gs://bucket/model."""
  return "://" in os.fspath(path)


def is_file(path):
  """Returns whether a local or remote path is a file."""
  if not is_remote(path):
    return os.path.isfile(path)
  return gfile().exists(path) and not gfile().isdir(path)


def real_path(path):
  """Resolves the symbolic links of a path; file:///x is /x as in TensorFlow."""
  return os.path.realpath(re.sub(r"\Afile://[^/]*", "", os.fspath(path)))


def open_file(path, mode="rb"):
  """Opens a local or remote file; text is UTF-8 with Unix line ends."""
  if is_remote(path):
    return gfile().GFile(path, mode)
  text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
  return open(path, mode, **text)


def read_bytes(path, max_bytes=math.inf, remedy="Divide the file."):
  """Reads a whole file; ValueError if it is larger than max_bytes."""
  blocks, size = [], 0
  for block in _blocks(path):
    blocks.append(block)
    size += len(block)
    if size > max_bytes:
      raise ValueError(f"{path}: larger than {max_bytes:,} bytes. {remedy}")
  return b"".join(blocks)


def file_sha256(path):
  """Returns the SHA-256 of a local or remote file, in hexadecimal digits."""
  digest = hashlib.sha256()
  for block in _blocks(path):
    digest.update(block)
  return digest.hexdigest()


def read_text(path, *limit):
  """Reads a whole UTF-8 file; ValueError if it is empty or something else.

  `limit` are further arguments of `read_bytes`.
  """
  return _decode(path, read_bytes(path, *limit))


def read_json(path, object_pairs_hook=None):
  """Parses a JSON file; ValueError if it is too large or not JSON."""
  return parse_json(read_bytes(path, MAX_JSON_BYTES), path, object_pairs_hook)


def read_json_object(path, object_pairs_hook=None):
  """Parses a JSON file; ValueError unless it is one object."""
  return checked_object(read_json(path, object_pairs_hook), path)


def parse_json(content, path, object_pairs_hook=None):
  """Parses the bytes of a JSON file as `read_json`; `path` is for messages."""
  text = _decode(path, content)
  try:
    value = json.loads(text, object_pairs_hook=object_pairs_hook)
    _check_depth(value)
    return value
  except json.JSONDecodeError as error:
    raise ValueError(
      f"{path}: not JSON, line {error.lineno}, column {error.colno} "
      f"({error.msg}): {_json_fault(text, error)}"
    ) from error
  except (ValueError, RecursionError) as error:
    # An integer of thousands of digits, or brackets nested too deep.
    raise ValueError(
      f"{path}: not JSON that can be read: {error}. Correct the file."
    ) from error


def decode_utf8(content, subject, encoding="utf-8-sig"):
  """Decodes bytes; an error's message begins with `subject` and "not UTF-8"."""
  try:
    return content.decode(encoding)
  except UnicodeDecodeError as error:
    if description := _describe_binary(content):
      raise ValueError(f"{subject} {description}") from error
    raise ValueError(
      f"{subject} not UTF-8: byte 0x{content[error.start]:02x} at offset "
      f"{error.start} bytes ({error.reason}). Convert it from "
      "the encoding that it has, such as iconv -f LATIN1 -t UTF-8."
    ) from error


def encodable(text):
  """Replaces each lone surrogate, which UTF-8 cannot hold, by U+FFFD."""
  return _SURROGATES.sub("\ufffd", text)


def checked_object(value, path):
  """Returns the parsed JSON of a file, which must be an object."""
  if not isinstance(value, dict):
    raise ValueError(
      f"{path}: must be one JSON object. Received: {type(value).__name__}. "
      "Give another file."
    )
  return value


def is_bare_name(name):
  """Returns whether a value can be the name of a file in the same folder."""
  is_text = isinstance(name, str) and not {"/", "\0"} & set(name)
  return is_text and name not in ("", ".", "..")


def find_files(patterns):
  """Lists the files of paths and globs, separated by commas, each once.

  A string that exists as it is written is a path, whatever its characters.
  """
  paths = {}
  for pattern in filter(None, map(str.strip, patterns.split(","))):
    is_path = gfile().exists(pattern)
    matches = [pattern] if is_path else sorted(gfile().glob(pattern))
    if not matches:
      raise ValueError(
        f"No file matches {pattern!r}. Give paths or globs, separated by "
        "commas."
      )
    paths |= dict.fromkeys(matches)
  if not paths:
    raise ValueError(f"No file is named. Received: {patterns!r}.")
  return list(paths)


def literal_checkpoint(path):
  """Returns a path of a TensorFlow checkpoint without characters of patterns.

  TensorFlow's readers find no checkpoint in a folder "run[1]". For such a path
  this is a link in a temporary folder, which ends with the process.
  """
  if is_remote(path) or not set(_PATTERN_CHARACTERS) & set(path):
    return path
  source, base = os.path.split(os.path.abspath(path))
  names = os.listdir(source) if os.path.isdir(source) else []
  names = [name for name in names if f"{name}.".startswith(f"{base}.")]
  if not names:
    return path  # It is missing; the reader reports that.
  folder = tempfile.mkdtemp(prefix="bert_span_links_")
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  for name in names:
    link = os.path.join(folder, f"model{name[len(base) :]}")
    os.symlink(os.path.join(source, name), link)
  return os.path.join(folder, "model")


@contextlib.contextmanager
def local_directory(directory):
  """Yields a local directory, or a temporary copy of a remote one."""
  if not is_remote(directory):
    yield directory
    return
  # KerasHub's cache of remote directories never notices a change.
  with tempfile.TemporaryDirectory() as local:
    copy_tree(directory, local)
    yield local


def make_folder(path):
  """Makes a local or remote folder, unless it exists, with its parents."""
  if is_remote(path):
    gfile().makedirs(path)
  else:
    os.makedirs(path, exist_ok=True)  # TensorFlow's has 755 whatever the umask.


def copy_tree(source, target, last=()):
  """Copies a directory's files over those of the same names.

  The files named in `last` are copied after all others, in this order.
  """
  names = tree_files(source)
  for name in [n for n in names if n not in last] + [
    n for n in last if n in names
  ]:
    path = os.path.join(target, name)
    make_folder(os.path.dirname(path))
    gfile().copy(os.path.join(source, name), path, overwrite=True)


def tree_files(directory):
  """Lists the files below a directory, if it exists, by relative paths."""
  walk = gfile().walk if is_remote(directory) else os.walk
  return [
    os.path.join(folder[len(directory) :].strip("/"), name)
    for folder, _, names in walk(directory)
    for name in names
  ]


def _blocks(path):
  """Yields the content of a file.

  A file that cannot be read raises OSError, a missing one FileNotFoundError,
  local or remote; a scheme without a file system raises ValueError.
  """
  remote_error = ()
  if is_remote(path):
    import tensorflow as tf

    remote_error = tf.errors.OpError
  try:
    with open_file(path) as file:
      while block := file.read(_BLOCK_BYTES):
        yield block
  except remote_error as error:
    if isinstance(error, tf.errors.NotFoundError):
      missing = errno.ENOENT
      raise FileNotFoundError(missing, os.strerror(missing), path) from error
    if isinstance(error, tf.errors.UnimplementedError):
      scheme = os.fspath(path).partition("://")[0]
      raise ValueError(
        f"{path}: TensorFlow has no file system for {scheme}://. Copy the file "
        "to a local folder, and give its path there."
      ) from error
    # A bucket's further lines repeat the path or quote the reply.
    reason = error.message.split("\n")[0]
    raise OSError(f"{path}: cannot be read: {reason}") from error


def _check_depth(value):
  """Raises RecursionError if a JSON value is nested too deep."""
  level = [value]
  for _ in range(_MAX_JSON_DEPTH + 1):
    parents = [x for x in level if isinstance(x, dict | list)]
    if not parents:
      return
    values = (x.values() if isinstance(x, dict) else x for x in parents)
    level = itertools.chain.from_iterable(values)
  raise RecursionError(f"more than {_MAX_JSON_DEPTH} levels of nesting")


def _decode(path, content):
  if not content.strip():
    raise ValueError(f"{path}: the file is empty. Write or download it again.")
  zero = content.find(0)
  if zero >= 0:
    # A file without a byte order mark does not say which byte is first.
    has_mark = content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    encoding = "UTF-16" if has_mark else ("UTF-16BE", "UTF-16LE")[zero % 2]
    description = _describe_binary(content)
    text = content[:2000].decode(encoding, "ignore")
    if not description and _CONTROLS.search(text):
      description = "a binary file and no text. Give another file."
    if description:
      raise ValueError(f"{path}: {description}")
    raise ValueError(
      f"{path}: not UTF-8: a zero byte at offset {zero} bytes, as in UTF-16. "
      f"Convert it with iconv -f {encoding} -t UTF-8."
    )
  return decode_utf8(content, f"{path}:")


def _describe_binary(content):
  """Returns the format of binary content and the remedy; "" if unknown."""
  start = next(filter(content.startswith, _BINARY_FORMATS), None)
  if start == b"PK\x03\x04":
    for name, description in _ZIP_FORMATS.items():
      if name in content:
        return description
  return _BINARY_FORMATS.get(start, "")


def _json_fault(text, error):
  """Explains text that json refuses."""
  if text.startswith("version https://git-lfs"):
    return "a Git LFS pointer and not the file itself. Run git lfs pull."
  if text.lstrip().startswith("<"):
    return "HTML or XML. Download the raw file."
  if re.match(r"\([ld]p\d\n", text):  # protocol 0
    return f"a Python pickle. {_CONVERT}"
  if error.msg == "Extra data" and text[: error.pos].strip()[-1:] == "}":
    return "more than one JSON value (JSON Lines?). Convert them to one object."
  head = text.split("\n")[0]
  is_table = "\n" in text and not head.lstrip().startswith(("{", "["))
  if is_table and {"\t", ",", ";"} & set(head):
    return "a table (CSV or TSV?). Convert its rows to JSON."
  unterminated = error.msg.startswith("Unterminated string")
  if unterminated or error.pos >= len(text.rstrip()):
    return "the JSON ends in the middle. Write or download it again."
  return "Correct the file at that place."


def gfile():
  """Returns the module tf.io.gfile."""
  import tensorflow as tf  # Seconds: only where a path needs it.

  return tf.io.gfile
