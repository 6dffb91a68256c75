"""Pickled weights are read as PyTorch reads them, and run nothing."""

import importlib.util
import json
import struct
import subprocess
import sys
import tracemalloc
import zipfile

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from bert_span.presets.encoder_source import EncoderSource
from bert_span.storage.pickled_weights import open_pickled
from bert_span.storage.tensor_files import read_tensors
from tests.support.hub import (
  Call,
  Identifier,
  Name,
  View,
  pickled,
  write_pickle,
  write_pickled_model,
  write_torch_file,
)

_FORMS = pytest.mark.parametrize("is_old", [False, True], ids=["zip", "old"])


def _arrays(path):
  file = open_pickled(path)
  return {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118


@_FORMS
def test_tensors_are_views_of_their_storages(tmp_path, is_old):
  base = np.arange(12, dtype="float32")
  tensors = {
    "whole": base.reshape(3, 4),
    "turned": View(base, 0, (4, 3), (1, 4)),
    "part": View(base, 5, (2, 2), (4, 2)),
    "scalar": View(base, 7, (), ()),
    "repeated": View(base, 2, (2, 1), (0, 1)),
    "half": np.array([0.5, -2.0], np.float16),
    "brain": np.array([[1.5], [-3.0]], ml_dtypes.bfloat16),
    "double": np.array([1e300]),
    "ids": np.array([[2**40, -1]]),
  }
  write_torch_file(tmp_path / "x.bin", tensors, is_old)
  arrays = _arrays(tmp_path / "x.bin")
  assert arrays.keys() == tensors.keys()
  assert arrays["whole"].tolist() == [
    [0, 1, 2, 3],
    [4, 5, 6, 7],
    [8, 9, 10, 11],
  ]
  assert arrays["turned"].tolist() == [
    [0, 4, 8],
    [1, 5, 9],
    [2, 6, 10],
    [3, 7, 11],
  ]
  assert arrays["part"].tolist() == [[5, 7], [9, 11]]
  assert arrays["scalar"] == 7
  assert arrays["repeated"].tolist() == [[2], [2]]
  for name in ("half", "brain", "double", "ids"):
    assert arrays[name].dtype == tensors[name].dtype
    assert arrays[name].tolist() == tensors[name].tolist()
  file = open_pickled(tmp_path / "x.bin")
  assert file.get_slice("brain").get_dtype() == "BF16"
  assert file.get_slice("turned").get_shape() == [4, 3]


def test_files_of_pytorch_have_its_tensors(tmp_path, repository):
  if not importlib.util.find_spec("torch"):
    pytest.skip("PyTorch is not installed")
  script = repository / "tests/scripts/torch_states.py"
  subprocess.run([sys.executable, script, tmp_path], check=True)
  expected = load_file(tmp_path / "expected.safetensors")
  assert len(expected) == 11
  for name in ("new", "old", "protocol_4"):
    arrays = _arrays(tmp_path / f"{name}.bin")
    assert arrays.keys() == expected.keys()
    for tensor, values in expected.items():
      assert arrays[tensor].dtype == values.dtype
      assert arrays[tensor].tolist() == values.tolist()


@_FORMS
def test_parameters_are_read(tmp_path, is_old):
  values = np.array([3.0], np.float32)
  parameter = Name("torch._utils", "_rebuild_parameter")
  older = Name("torch.nn.parameter", "Parameter")
  tensors = {
    "w": Call(parameter, (values, True, {})),
    "v": Call(older, (values, True)),
  }
  write_torch_file(tmp_path / "x.bin", tensors, is_old)
  arrays = _arrays(tmp_path / "x.bin")
  assert arrays["w"].tolist() == arrays["v"].tolist() == [3.0]


def test_a_part_of_a_storage_of_the_old_form_is_read(tmp_path):
  kind = Name("torch", "LongStorage")
  part = Identifier(("storage", kind, "k", "cpu", 6, ("v", 2, 3)))
  rebuild = Name("torch._utils", "_rebuild_tensor")
  tensor = Call(rebuild, (part, 1, (2,), (1,)))
  storages = [("k", np.arange(6))]
  write_pickle(tmp_path / "x.bin", {"w": tensor}, storages, is_old=True)
  assert _arrays(tmp_path / "x.bin")["w"].tolist() == [3, 4]


@_FORMS
@pytest.mark.parametrize(
  ("module", "name"),
  [
    ("os", "system"),
    ("posix", "system"),
    ("builtins", "eval"),
    ("torch", "load"),
    ("torch._utils", "_rebuild_qtensor"),
    ("torch", "QInt8Storage"),
    ("collections", "OrderedDict.fromkeys"),
    ("no_such_module", "thing"),
    ("antigravity", "fly"),
  ],
)
def test_other_names_are_refused_and_not_imported(
  tmp_path, module, name, is_old
):
  path, trace = tmp_path / "x.bin", tmp_path / "trace"
  for value in (
    Name(module, name),
    Call(Name(module, name), (f"touch {trace}",)),
  ):
    write_pickle(path, {"w": value}, (), is_old)
    with pytest.raises(ValueError, match=rf"x\.bin.*{module}\.{name}"):
      open_pickled(path)
  assert not trace.exists()
  assert "antigravity" not in sys.modules


def test_a_refusal_is_one_line_whatever_the_file_names(tmp_path):
  path = tmp_path / "x.bin"
  write_pickle(path, {"w": Name("a\x1b[2J", "b\rc")})
  with pytest.raises(ValueError, match=r"x\.bin.*\\x1b") as raised:
    open_pickled(path)
  assert str(raised.value).isprintable()
  write_torch_file(path, {"a\nb": np.array([1])})
  with pytest.raises(ValueError, match=r"x\.bin: a\\nb") as raised:
    read_tensors(path)
  assert str(raised.value).isprintable()


@pytest.mark.parametrize(
  "steps",
  [
    b"(S'touch TRACE'\nios\nsystem\n.",  # INST
    b"(cos\nsystem\nX\x05\0\0\0touchoR.",  # OBJ
    b"\x8c\x02os\x8c\x06system\x93.",  # STACK_GLOBAL
    b"\x82\x01.",  # EXT1: a number that copyreg knows
    b"cos\nsystem\n)\x81.",  # NEWOBJ
    b"P0\n.",  # PERSID
    b"X\x04\0\0\0text)R.",  # a call of a string
    b"}}R.",  # a call of a dict
    b"0.",  # nothing to remove
    b"(2.",  # DUP of a mark
    b"(\x85.",  # a tuple across a mark
    b"h\x07.",  # nothing was kept
    b"}]s.",  # an item of no dict
    b"}\x88K\x01s.",  # a name that is no string
    b"](K\x01e}b.",  # attributes of a list
    b".",
    b"",
  ],
)
def test_other_steps_are_refused(tmp_path, steps):
  path = tmp_path / "x.bin"
  with zipfile.ZipFile(path, "w") as archive:
    archive.writestr("archive/data.pkl", b"\x80\x02" + steps)
  with pytest.raises(ValueError, match=r"x\.bin.*Nothing"):
    open_pickled(path)


@_FORMS
def test_a_file_cut_anywhere_is_refused(tmp_path, is_old):
  path = tmp_path / "x.bin"
  write_torch_file(
    path, {"w": np.ones(40, np.float32), "b": np.ones(3)}, is_old
  )
  content = path.read_bytes()
  for length in range(0, len(content), 7):
    path.write_bytes(content[:length])
    with pytest.raises(ValueError, match=r"x\.bin"):
      open_pickled(path)


@_FORMS
@pytest.mark.parametrize(
  "claim",
  [
    {"size": 2**40, "shape": (2**40,)},
    {"size": 5},
    {"size": -4},
    {"shape": (5,)},
    {"shape": (-4,)},
    {"shape": (2**62, 2**62), "strides": (0, 0)},
    {"shape": (10**12,), "strides": (0,)},
    {"shape": (2, 2), "strides": (4, 1)},
    {"shape": (2,), "strides": (-1,), "first": 3},
    {"shape": (4, 1), "strides": (1,)},
    {"first": 1},
    {"first": -1},
    {"first": 0.5},
    {"storage": "DoubleStorage"},
  ],
  ids=str,
)
def test_claims_beyond_the_file_are_refused_without_memory(
  tmp_path, claim, is_old
):
  """The storage has 4 elements, another tensor's follow."""
  path = tmp_path / "x.bin"
  view = {"first": 0, "shape": (4,), "strides": (1,), **claim}
  tensors = {
    "w": View(np.zeros(4, np.float32), **view),
    "o": np.zeros(2000, np.float32),
  }
  write_torch_file(path, tensors, is_old)
  _refused_without_memory(path)
  right = {**tensors, "w": tensors["o"]}
  write_torch_file(path, right, is_old)
  assert _arrays(path)["w"].shape == (2000,)


def _refused_without_memory(path):
  tracemalloc.start()
  with pytest.raises(ValueError, match=path.name):
    open_pickled(path)
  _, peak = tracemalloc.get_traced_memory()
  tracemalloc.stop()
  assert peak < 2**22


@pytest.mark.large
@pytest.mark.parametrize(
  "steps",
  [
    b"Nr\xff\xff\xff\x7f",  # a place of the 2 billionth value
    b"X\xff\xff\xff\x7fx",  # a text of 2 GB
    b"\x8e" + struct.pack("<Q", 2**40) + b"x",  # bytes of 1 TB
    b"\x8b\xff\xff\xff\x7fx",  # an integer of 2 GB
    b"](" + b"N" * 2**20 + b"e",  # a million values
    b"}" + b"2" * 2**20,
    b"c" + b"x" * 2**24,  # a name of 16 MB
  ],
  ids=("place", "text", "bytes", "integer", "values", "copies", "name"),
)
def test_a_pickle_that_asks_for_memory_is_refused(tmp_path, steps):
  path = tmp_path / "x.bin"
  with zipfile.ZipFile(path, "w") as archive:
    archive.writestr("archive/data.pkl", b"\x80\x02" + steps + b".")
  tracemalloc.start()
  with pytest.raises(ValueError, match=r"x\.bin"):
    open_pickled(path)
  _, peak = tracemalloc.get_traced_memory()
  tracemalloc.stop()
  assert peak < 2**24


_NESTED = b")" + b"q\0h\0\x86" * 60  # 2^60 tuples for who walks through them


@pytest.mark.parametrize(
  "steps",
  [
    _NESTED + b")R",
    b"}" + _NESTED + b"Ns",
    b"(X\x07\0\0\0storage" + _NESTED + b"X\1\0\0\0kNK\1tQ",
    b"(X\x07\0\0\0storagectorch\nFloatStorage\n" + _NESTED + b"NK\1tQ",
  ],
  ids=("function", "name", "type", "key"),
)
def test_nested_tuples_are_not_walked_through(tmp_path, steps):
  path = tmp_path / "x.bin"
  with zipfile.ZipFile(path, "w") as archive:
    archive.writestr("archive/data.pkl", b"\x80\x02" + steps + b".")
  with pytest.raises(ValueError, match=r"x\.bin.*must be a string"):
    open_pickled(path)


def test_a_compressed_file_is_refused_unread(tmp_path):
  path = tmp_path / "x.bin"
  write_torch_file(path, {"w": np.zeros(4, np.float32)})
  with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("archive/data/1", bytes(2**24))
  _refused_without_memory(path)


@pytest.mark.parametrize(
  "files",
  [
    {"archive/byteorder": b"big"},
    {"other/data.pkl": b"x"},
    {"constants.pkl": b"x"},
  ],
  ids=str,
)
def test_another_archive_is_refused(tmp_path, files):
  path = tmp_path / "x.bin"
  with zipfile.ZipFile(path, "w") as archive:
    archive.writestr("archive/data.pkl", pickled({}))
    for name, content in files.items():
      archive.writestr(name, content)
  with pytest.raises(ValueError, match=r"x\.bin"):
    open_pickled(path)


def test_a_file_of_big_endian_numbers_or_another_kind_is_refused(tmp_path):
  path = tmp_path / "x.bin"
  start = 0x1950A86A20F9469CFC6C, 1001, {"little_endian": False}
  for content in (
    b"".join(map(pickled, (*start, {}, []))),
    pickled({}),
    b"version https://git-lfs.github.com/spec/v1\n",
    b"\0" * 100,
  ):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.bin"):
      open_pickled(path)


@pytest.mark.parametrize("value", [{"w": {}}, {"w": "text"}, {"w": 1}, [], "x"])
def test_what_is_no_dict_of_tensors_is_refused(tmp_path, value):
  write_pickle(tmp_path / "x.bin", value)
  with pytest.raises(ValueError, match=r"x\.bin.*tensor"):
    open_pickled(tmp_path / "x.bin")


def test_a_file_that_is_replaced_is_read_again(tmp_path):
  path = tmp_path / "x.bin"
  for value in (1.0, 2.0):
    write_torch_file(tmp_path / "new.bin", {"w": np.array([value])})
    (tmp_path / "new.bin").rename(path)
    assert _arrays(path)["w"].tolist() == [value]


def test_directories_are_read_in_one_file_and_in_shards(tmp_path, capsys):
  directory = tmp_path / "model"
  write_pickled_model(directory)
  whole = directory / "pytorch_model.bin"
  expected = EncoderSource(preset=str(directory)).load()
  assert "pickled weights" in capsys.readouterr().err
  assert expected.head_weights["span_head"]["kernel"].shape == (16, 2)
  tensors = _arrays(whole)
  names = sorted(tensors)
  index = {}
  for i in range(2):
    shard = f"pytorch_model-0000{i + 1}-of-00002.bin"
    part = {name: tensors[name] for name in names[i::2]}
    write_torch_file(directory / shard, part, is_old=bool(i))
    index |= dict.fromkeys(part, shard)
  whole.unlink()
  path = directory / "pytorch_model.bin.index.json"
  path.write_text(json.dumps({"weight_map": index}))
  loaded = EncoderSource(preset=str(directory)).load()
  for ours, theirs in zip(
    loaded.backbone.weights, expected.backbone.weights, strict=True
  ):
    assert "pooled" in ours.path or np.array_equal(ours, theirs), ours.path
  # Safetensors come first, whatever is beside them.
  save_file(tensors, directory / "model.safetensors")
  path.write_text("no JSON")
  capsys.readouterr()
  EncoderSource(preset=str(directory)).load()
  assert "pickled weights" not in capsys.readouterr().err
