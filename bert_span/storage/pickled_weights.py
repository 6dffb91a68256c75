"""Weights in files of torch.save, read without PyTorch.

A pickle is a program that can call any function of Python. This reader follows
only the steps that a dict of plain tensors needs. It knows a few names, for
which it has functions of its own, and refuses all others: nothing that a file
names is imported or called.

torch.save writes two forms. Since PyTorch 1.6 it is a zip archive that is not
compressed:

  NAME/data.pkl  {"weight": _rebuild_tensor_v2(storage "0", first, sizes, ...)}
  NAME/data/0    the elements of storage "0"

Before, it was five pickles one after the other (magic number, version, system,
the dict, the keys of the storages) and then, of each storage, the number of its
elements as int64 and the elements.

Source: PyTorch, torch/serialization.py and torch/_utils.py.
"""

import functools
import io
import os
import pickletools
import struct
import zipfile
from typing import NamedTuple

import ml_dtypes
import numpy as np

from bert_span.options.messages import printable

FILES = "pytorch_model.bin", "pytorch_model.bin.index.json"
EXTENSION = ".bin"
_ZIP_MARK = b"PK\x03\x04"
_ZIP_HEADER = struct.Struct("<4s22xHH")  # mark, lengths of name and extra field
_MAGIC = 0x1950A86A20F9469CFC6C
_VERSION = 1001
# A tensor takes some 45 steps of a pickle, a name less than 200 bytes.
_MOST_STEPS = 2**19
_LONGEST = 2**10
# The types of storages: safetensors' name of the elements' type, and NumPy's.
_STORAGES = {
  "FloatStorage": ("F32", np.float32),
  "DoubleStorage": ("F64", np.float64),
  "HalfStorage": ("F16", np.float16),
  "BFloat16Storage": ("BF16", ml_dtypes.bfloat16),
  "LongStorage": ("I64", np.int64),
  "IntStorage": ("I32", np.int32),
  "ShortStorage": ("I16", np.int16),
  "CharStorage": ("I8", np.int8),
  "ByteStorage": ("U8", np.uint8),
  "BoolStorage": ("BOOL", np.bool_),
}


# Steps that put a value of their own on the stack.
_LITERALS = {
  *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
  *("BINUNICODE", "SHORT_BINUNICODE", "BINSTRING", "SHORT_BINSTRING"),
}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}


class _Storage(NamedTuple):
  """Elements of one type; `first` and `size` are a part of those of `key`."""

  type: str
  key: str
  first: int
  size: int


class _Tensor(NamedTuple):
  """A view of a storage, in elements."""

  storage: _Storage
  first: int
  shape: tuple[int, ...]
  strides: tuple[int, ...]

  def get_shape(self):
    return list(self.shape)

  def get_dtype(self):
    return _STORAGES[self.storage.type][0]


class _PickledTensors:
  """The tensors of a file, with the methods of an open safetensors file."""

  def __init__(self, content, tensors, storages):
    self._bytes = content
    self._tensors = tensors
    self._storages = storages  # first byte and number of bytes, by key

  def keys(self):
    return self._tensors.keys()

  def get_slice(self, name):
    return self._tensors[name]

  def get_tensor(self, name):
    """A view of the file, which is not read yet."""
    storage, first, shape, strides = self._tensors[name]
    dtype = np.dtype(_STORAGES[storage.type][1])
    start, num_bytes = self._storages[storage.key]
    if (storage.first + storage.size) * dtype.itemsize > num_bytes:
      raise ValueError(f"its storage has {num_bytes:,} bytes")
    # NumPy refuses a view that leaves the buffer.
    return np.ndarray(
      shape,
      dtype,
      self._bytes[start : start + num_bytes],
      (storage.first + first) * dtype.itemsize,
      [stride * dtype.itemsize for stride in strides],
    )


class _PickleFile(io.BufferedReader):
  """A file whose strings are short, whatever their lengths claim to be."""

  def read(self, size):
    return super().read(min(size, _LONGEST))

  def readline(self):
    return super().readline(_LONGEST)


def open_pickled(path):
  """Opens a file of torch.save.

  Args:
    path: of a local file.

  Returns:
    An object with the keys, get_slice and get_tensor of safetensors.safe_open.

  Raises:
    ValueError: the file is none of torch.save, it is damaged, or it holds
      anything besides plain tensors.
  """
  try:
    stat = os.stat(path)
    stamp = stat.st_ino, stat.st_mtime_ns, stat.st_size
    return _PickledTensors(_content(path), *_read(os.fspath(path), *stamp))
  # zipfile, pickletools and our own steps raise many types for damaged files.
  except Exception as error:
    reason = str(error)
    if type(error) is not ValueError:
      reason = f"it is damaged ({type(error).__name__}: {error})"
    reason = printable(reason)  # It may have names of the file.
    raise ValueError(
      f"Cannot read {path} as weights of PyTorch: {reason:.999}. Nothing in it "
      "was run. Download it again, or take the model.safetensors of the same "
      "model, which may be in an open pull request: revision refs/pr/N."
    ) from error


# Each weight is read by opening its file; following a pickle takes longer.
@functools.lru_cache(4)
def _read(path, *_):
  """The tensors of a file, and where its storages are; checked."""
  content = _content(path)
  is_zip = bytes(content[: len(_ZIP_MARK)]) == _ZIP_MARK
  tensors, storages = (_read_zip if is_zip else _read_old)(path, content)
  if not isinstance(tensors, dict):
    raise ValueError("it must be a dict of tensors")
  file = _PickledTensors(content, tensors, storages)
  for name, tensor in tensors.items():
    if not isinstance(tensor, _Tensor):
      raise ValueError(f"{name!r} in it must be a tensor")
    try:
      if file.get_tensor(name).nbytes > content.size:
        raise ValueError("it repeats elements to more than the file's size")
    except (ValueError, LookupError) as error:
      raise ValueError(f"tensor {name!r} is not in it: {error}") from error
  return tensors, storages


def _content(path):
  return np.memmap(path, np.uint8, "r")


def _read_zip(path, content):
  files = {}
  with zipfile.ZipFile(path) as archive:
    for info in archive.infolist():
      header = bytes(content[info.header_offset :][: _ZIP_HEADER.size])
      mark, *lengths = _ZIP_HEADER.unpack(header)
      start = info.header_offset + _ZIP_HEADER.size + sum(lengths)
      is_stored = info.compress_type == zipfile.ZIP_STORED
      if not (is_stored and info.file_size == info.compress_size):
        raise ValueError(f"{info.filename} in it is compressed")
      if mark != _ZIP_MARK or start + info.file_size > content.size:
        raise ValueError(f"{info.filename} is not in it")
      files[info.filename] = start, info.file_size
  (folder,) = {name.split("/")[0] for name in files}
  start, size = files.get(f"{folder}/byteorder", (0, 0))
  if bytes(content[start : start + size]) == b"big":
    raise ValueError("its numbers are big-endian")
  with _PickleFile(io.FileIO(path)) as file:
    file.seek(files[f"{folder}/data.pkl"][0])
    tensors = _run(file, {})
  folder = f"{folder}/data/"
  return tensors, {name.removeprefix(folder): files[name] for name in files}


def _read_old(path, content):
  types = {}
  with _PickleFile(io.FileIO(path)) as file:
    if (_run(file, {}), _run(file, {})) != (_MAGIC, _VERSION):
      raise ValueError("it is no file of torch.save")
    if _run(file, {}).get("little_endian") is not True:
      raise ValueError("its numbers are big-endian")
    tensors, keys = _run(file, types), _run(file, {})
    start = file.tell()
  storages = {}
  for key in keys:
    (size,) = struct.unpack("<Q", content[start : start + 8])
    num_bytes = (
      size * np.dtype(_STORAGES[types[_checked_name(key)]][1]).itemsize
    )
    start += 8
    if start + num_bytes > content.size:
      raise ValueError(f"it ends before the end of storage {key!r}")
    storages[key] = start, num_bytes
    start += num_bytes
  return tensors, storages


def _run(file, types):
  """The object of the pickle at a file's position.

  The types of the storages that it names are added to a dict, by their keys.
  """
  stack, marks, memo = [], [], {}

  def pop(count):
    """Removes that many of the last items; a mark counts from it."""
    start = len(stack) - count
    if start < (marks[-1] if marks else 0):
      raise ValueError("a pickle in it is damaged")
    items = stack[start:]
    del stack[start:]
    return items

  def pop_to_mark():
    items = pop(len(stack) - marks[-1])
    marks.pop()
    return items

  for i, (opcode, value, _) in enumerate(pickletools.genops(file)):
    if i == _MOST_STEPS:
      raise ValueError(f"a pickle in it has more than {_MOST_STEPS:,} steps")
    match opcode.name:
      case "PROTO" | "FRAME":
        pass
      case name if name in _LITERALS:
        stack.append(value)
      case name if name in _CONSTANTS:
        stack.append(_CONSTANTS[name])
      case "EMPTY_DICT":
        stack.append({})
      case "EMPTY_LIST":
        stack.append([])
      case "EMPTY_TUPLE":
        stack.append(())
      case "MARK":
        marks.append(len(stack))
      case "TUPLE":
        stack.append(tuple(pop_to_mark()))
      case "TUPLE1" | "TUPLE2" | "TUPLE3" as name:
        stack.append(tuple(pop(int(name[-1]))))
      case "APPEND":
        (item,) = pop(1)
        stack[-1].append(item)
      case "APPENDS":
        items = pop_to_mark()
        stack[-1].extend(items)
      case "SETITEM":
        item = pop(2)
        _set_items(stack[-1], [item])
      case "SETITEMS":
        items = pop_to_mark()
        _set_items(stack[-1], zip(items[::2], items[1::2], strict=True))
      case "BINPUT" | "LONG_BINPUT":
        memo[value] = stack[-1]
      case "MEMOIZE":
        memo[len(memo)] = stack[-1]
      case "BINGET" | "LONG_BINGET":
        stack.append(memo[value])
      case "GLOBAL":
        stack.append(_known(*value.split(" ")))
      case "STACK_GLOBAL":
        stack.append(_known(*pop(2)))
      case "BINPERSID":
        (identifier,) = pop(1)
        storage = _storage(*identifier)
        types[storage.key] = storage.type
        stack.append(storage)
      case "REDUCE":
        function, arguments = pop(2)
        stack.append(_FUNCTIONS[_checked_name(function)](*arguments))
      case "BUILD":  # attributes of a dict: the versions of a model's modules
        pop(1)
        _set_items(stack[-1], [])
      case "STOP":
        return stack.pop()
      case name:
        raise ValueError(f"its pickle has the step {name}, which tensors lack")


def _known(module, name):
  """What stands for a name of Python on the stack."""
  if module == "torch" and name in _STORAGES:
    return name
  if f"{module}.{name}" in _FUNCTIONS:
    return f"{module}.{name}"
  raise ValueError(
    f"it names {module}.{name}, which plain tensors do not need and which may "
    "run code"
  )


def _checked_name(value):
  """A string; looking up a tuple of tuples could take for ever."""
  if not isinstance(value, str):
    raise ValueError("a name in it must be a string")
  return value


def _set_items(target, pairs):
  """Puts items into a dict whose keys are strings."""
  if not isinstance(target, dict):
    raise ValueError("only a dict has items and attributes")
  for key, value in pairs:
    target[_checked_name(key)] = value


def _counts(*values):
  """Raises ValueError unless all values are whole numbers of at least 0."""
  if not all(type(value) is int and value >= 0 for value in values):
    raise ValueError("sizes and positions must be whole numbers, at least 0")


def _storage(mark, kind, key, device, size, part=None):
  """The storage that an identifier in a pickle means."""
  if mark != "storage" or _checked_name(kind) not in _STORAGES:
    raise ValueError("a storage in it has no known type")
  _, first, size = part or (key, 0, size)
  _counts(first, size)
  return _Storage(kind, _checked_name(key), first, size)


def _plain_view(storage, first, shape, strides, *others):
  """As torch._utils._rebuild_tensor_v2; the gradient is not of interest."""
  if not isinstance(storage, _Storage) or any(others[2:]):
    raise ValueError("a tensor in it is no plain view of a storage")
  _counts(first, *shape, *strides)
  return _Tensor(storage, first, tuple(shape), tuple(strides))


def _parameter(tensor, *_):
  return tensor


def _ordered_dict(pairs=()):
  values = {}
  _set_items(values, pairs)
  return values


_FUNCTIONS = {
  "collections.OrderedDict": _ordered_dict,
  "torch._utils._rebuild_tensor": _plain_view,
  "torch._utils._rebuild_tensor_v2": _plain_view,
  "torch._utils._rebuild_parameter": _parameter,
  "torch.nn.parameter.Parameter": _parameter,
}
