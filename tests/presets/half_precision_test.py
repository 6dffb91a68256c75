"""Weight files in float16: what becomes of the values, and of the file."""

import h5py
import numpy as np
import pytest

from bert_span.presets.half_precision import halve_weights


def _write(path, values):
  with h5py.File(path, "w") as file:
    file.attrs["version"] = "3"
    group = file.create_group("layers/dense")
    group.attrs["name"] = "dense"
    group.create_dataset("0", data=values).attrs["kind"] = "kernel"
    group.create_dataset("steps", data=np.int64(7))


def test_only_numbers_get_shorter_and_the_rest_stays(tmp_path):
  path = tmp_path / "model.weights.h5"
  values = np.random.default_rng(0).normal(0, 0.05, (300, 200)).astype("f4")
  _write(path, values)
  before = path.stat().st_size
  halve_weights(str(path))
  assert path.stat().st_size < 0.55 * before
  with h5py.File(path) as file:
    assert dict(file.attrs) == {"version": "3"}
    group = file["layers/dense"]
    assert group.attrs["name"] == "dense"
    assert group["0"].attrs["kind"] == "kernel"
    assert group["0"].dtype == np.float16
    np.testing.assert_array_equal(group["0"][()], values.astype(np.float16))
    assert group["steps"].dtype == np.int64
    assert group["steps"][()] == 7
  assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("value", [70000.0, float("nan"), float("-inf")])
def test_values_that_float16_cannot_hold_leave_the_file(tmp_path, value):
  path = tmp_path / "model.weights.h5"
  _write(path, np.array([1.0, value], np.float32))
  before = path.read_bytes()
  with pytest.raises(ValueError, match=r"layers/dense/0 .* float32"):
    halve_weights(str(path))
  assert path.read_bytes() == before
  assert list(tmp_path.iterdir()) == [path]
