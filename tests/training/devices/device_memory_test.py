"""The memory of the machine at hand."""

import os

import numpy as np
import pytest
import tensorflow as tf

from bert_span.training.devices import device_memory
from bert_span.training.devices.device_memory import local_device, peak_bytes

_HAS_GPU = bool(tf.config.list_physical_devices("GPU"))
_ON_CPU = pytest.mark.skipif(_HAS_GPU, reason="this machine has a GPU")


@_ON_CPU
def test_without_a_gpu_the_memory_is_the_machines(monkeypatch):
  monkeypatch.setattr(device_memory, "_CONTAINER_LIMITS", ())
  device = local_device()
  machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
  assert device.memory_bytes == machine
  assert device.description == f"CPU ({os.cpu_count()} cores)"
  assert 0 < device.program_bytes < machine


@_ON_CPU
@pytest.mark.parametrize(
  ("content", "is_limit"), [("123456789\n", True), ("max\n", False)]
)
def test_a_container_has_what_it_may_use(
  tmp_path, monkeypatch, content, is_limit
):
  limit = tmp_path / "memory.max"
  limit.write_text(content)
  paths = (str(limit), str(tmp_path / "missing"))
  monkeypatch.setattr(device_memory, "_CONTAINER_LIMITS", paths)
  assert (local_device().memory_bytes == 123456789) is is_limit


@_ON_CPU
def test_the_peak_rises_with_what_is_allocated():
  before = peak_bytes()
  size = before + (64 << 20)  # More than ever was resident.
  array = np.ones(size, np.uint8)
  assert peak_bytes() >= before + (32 << 20)
  del array
