"""Files as torch.save writes them, in both forms, without PyTorch.

The pickles are written step by step, so that a test can write what PyTorch
never would.
"""

import dataclasses
import itertools
import math
import struct
import zipfile

import ml_dtypes
import numpy as np

_TYPES = {
  np.dtype(numpy_type): name
  for numpy_type, name in (
    (np.float32, "FloatStorage"),
    (np.float64, "DoubleStorage"),
    (np.float16, "HalfStorage"),
    (ml_dtypes.bfloat16, "BFloat16Storage"),
    (np.int64, "LongStorage"),
  )
}
_OLD_START = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})


@dataclasses.dataclass
class View:
  """A tensor of a part of an array's elements, which others may share."""

  base: np.ndarray
  first: int
  shape: tuple
  strides: tuple  # in elements
  # What the file says of the array instead of the truth.
  size: int | None = None
  storage: str = ""


@dataclasses.dataclass
class Name:
  """A name of Python: what a pickle imports."""

  module: str
  name: str


@dataclasses.dataclass
class Call:
  """A call of a name of Python, and items and attributes of its result."""

  name: Name
  arguments: tuple = ()
  items: dict = dataclasses.field(default_factory=dict)
  attributes: dict | None = None


_ORDERED_DICT = Name("collections", "OrderedDict")


class Identifier(tuple):
  """The tuple that a persistent identifier is."""


def pickled(value):
  """The pickle of protocol 2 of a value."""
  return b"\x80\x02" + _steps(value) + b"."


def _steps(value):
  if value is None or isinstance(value, bool):
    return {None: b"N", True: b"\x88", False: b"\x89"}[value]
  if isinstance(value, int):
    if -(2**31) <= value < 2**31:
      return b"J" + struct.pack("<i", value)
    content = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(content)]) + content
  if isinstance(value, float):
    return b"G" + struct.pack(">d", value)
  if isinstance(value, str):
    content = value.encode()
    # Put among what can be repeated, as each string is.
    return b"X" + struct.pack("<I", len(content)) + content + b"q\x00"
  if isinstance(value, Name):
    return f"c{value.module}\n{value.name}\n".encode()
  if isinstance(value, Call):
    steps = _steps(value.name) + _steps(tuple(value.arguments)) + b"R"
    if value.items:
      steps += _steps(value.items).removeprefix(b"}")
    if value.attributes is not None:
      steps += _steps(value.attributes) + b"b"
    return steps
  if isinstance(value, Identifier):
    return _steps(tuple(value)) + b"Q"
  if isinstance(value, dict):
    items = itertools.chain.from_iterable(value.items())
    return b"}(" + b"".join(map(_steps, items)) + b"u"
  items = b"".join(map(_steps, value))
  return (
    b"](" + items + b"e" if isinstance(value, list) else b"(" + items + b"t"
  )


def write_torch_file(path, tensors, is_old=False):
  """Writes arrays, `View`s and `Call`s of them by their names."""
  arrays = {}  # by their id: the key, and the array

  def stored(value):
    if isinstance(value, Call):
      arguments = tuple(map(stored, value.arguments))
      return dataclasses.replace(value, arguments=arguments)
    if isinstance(value, np.ndarray):
      strides = [math.prod(value.shape[i + 1 :]) for i in range(value.ndim)]
      value = View(value, 0, value.shape, tuple(strides))
    if not isinstance(value, View):
      return value
    key, base = arrays.setdefault(
      id(value.base), (str(len(arrays)), value.base)
    )
    kind = Name("torch", value.storage or _TYPES[base.dtype])
    size = base.size if value.size is None else value.size
    identifier = ["storage", kind, key, "cpu", size, *[None] * is_old]
    view = value.first, value.shape, value.strides
    return Call(
      Name("torch._utils", "_rebuild_tensor_v2"),
      (Identifier(identifier), *view, False, Call(_ORDERED_DICT)),
    )

  state = Call(
    _ORDERED_DICT,
    items={name: stored(value) for name, value in tensors.items()},
    attributes={"_metadata": Call(_ORDERED_DICT, items={"": {"version": 1}})},
  )
  write_pickle(path, state, list(arrays.values()), is_old)


def write_pickle(path, value, storages=(), is_old=False):
  """Writes a pickle of a value and pairs of a key and an array."""
  if is_old:
    content = b"".join(map(pickled, (*_OLD_START, value)))
    content += pickled([key for key, _ in storages])
    for _, array in storages:
      content += struct.pack("<q", array.size) + array.tobytes()
    path.write_bytes(content)
    return
  files = {"data.pkl": pickled(value), "byteorder": b"little"}
  files |= {f"data/{key}": array.tobytes() for key, array in storages}
  with zipfile.ZipFile(path, "w") as archive:
    for name, content in {**files, "version": b"3\n"}.items():
      archive.writestr(f"archive/{name}", content)
