"""safetensors files, as they are written and read."""

import ml_dtypes
import numpy as np
import pytest

from bert_span.storage.tensor_files import (
  read_tensors,
  tensor_shapes,
  write_tensors,
)


@pytest.mark.parametrize(
  "dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
)
def test_floats_are_read_as_float32(tmp_path, dtype):
  path = tmp_path / "a.safetensors"
  write_tensors(path, {"x": np.array([[0.5], [2]], dtype), "y": np.ones(3)})
  assert tensor_shapes(path) == {"x": [2, 1], "y": [3]}
  tensors = read_tensors(path)
  assert {name: x.dtype for name, x in tensors.items()} == dict.fromkeys(
    "xy", np.float32
  )
  assert tensors["x"].tolist() == [[0.5], [2]]
  assert read_tensors(path, ["y"]).keys() == {"y"}


def test_other_types_and_damaged_files_are_refused_by_name(tmp_path):
  path = tmp_path / "a.safetensors"
  write_tensors(path, {"x": np.ones(3, np.int8), "y": np.ones(3)})
  assert read_tensors(path, ["y"])["y"].tolist() == [1, 1, 1]
  with pytest.raises(ValueError, match=rf"{path}: x .*I8"):
    read_tensors(path)
  with pytest.raises(ValueError, match=rf"{path}.*z"):
    read_tensors(path, ["z"])
  path.write_bytes(path.read_bytes()[:20])
  with pytest.raises(ValueError, match=str(path)):
    tensor_shapes(path)
