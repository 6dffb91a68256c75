"""Safetensors files: what is read back, and by whom."""

import numpy as np
import pytest
from safetensors import safe_open

from bert_span.storage.tensor_file import write_tensors


def test_tensors_and_metadata_are_read_back_by_any_user(tmp_path):
  path = tmp_path / "head.safetensors"
  kernel = np.arange(6, dtype=np.float32).reshape(2, 3)
  write_tensors(str(path), {"kernel": kernel}, {"format": "np"})
  with safe_open(path, "numpy") as file:
    assert file.metadata() == {"format": "np"}
    np.testing.assert_array_equal(file.get_tensor("kernel"), kernel)
  (tmp_path / "any").touch()
  assert path.stat().st_mode == (tmp_path / "any").stat().st_mode


def test_tensors_that_cannot_be_written_leave_the_old_file(tmp_path):
  path = tmp_path / "head.safetensors"
  path.write_bytes(b"old")
  with pytest.raises(Exception, match="object"):
    write_tensors(str(path), {"kernel": np.array([object()])})
  assert path.read_bytes() == b"old"
  assert list(tmp_path.iterdir()) == [path]
