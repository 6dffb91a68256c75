"""What would train, without taking it."""

import json
import os

import pytest

from bert_span.training.devices import plan as device_plan
from bert_span.training.devices.strategy_options import StrategyOptions
from bert_span.training.options import ExecutionOptions


def _plan(**options):
  return device_plan.plan_devices(
    StrategyOptions(**options), ExecutionOptions()
  )


@pytest.fixture
def machine_bytes(monkeypatch):
  """The memory of this machine, which has no GPUs and is no container."""
  config = device_plan.tf.config
  monkeypatch.setattr(config, "list_physical_devices", lambda unused_kind: [])
  monkeypatch.setattr(device_plan, "_CONTAINER_LIMITS", ())
  return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_one_device_has_all_memory(machine_bytes):
  plan = _plan()
  assert plan.num_replicas == 1
  assert plan.description == f"1 x CPU ({os.cpu_count()} cores) (one_device)"
  assert plan.memory_bytes == machine_bytes


def test_parts_of_a_cpu_share_its_memory(machine_bytes):
  plan = _plan(num_devices=4)
  assert plan.num_replicas == 4
  assert plan.description.endswith("(mirrored)")
  assert plan.memory_bytes == machine_bytes // 4


@pytest.mark.parametrize(
  ("content", "is_limit"), [("123456789\n", True), ("max\n", False)]
)
def test_a_container_has_what_it_may_use(
  tmp_path, monkeypatch, machine_bytes, content, is_limit
):
  limit = tmp_path / "memory.max"
  limit.write_text(content)
  paths = (str(limit), str(tmp_path / "missing"))
  monkeypatch.setattr(device_plan, "_CONTAINER_LIMITS", paths)
  expected = 123456789 if is_limit else machine_bytes
  assert _plan().memory_bytes == expected


def test_workers_are_counted_and_not_waited_for(machine_bytes, monkeypatch):
  config = {
    "cluster": {"worker": ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"]},
    "task": {"type": "worker", "index": 1},
  }
  monkeypatch.setenv("TF_CONFIG", json.dumps(config))
  plan = _plan()
  assert plan.num_replicas == 3
  assert plan.description.endswith("(multi_worker_mirrored)")
  assert plan.memory_bytes == machine_bytes


def test_a_tpu_is_not_looked_for():
  assert _plan(use_tpu=True) == ("8 TPU cores (tpu)", 8, None, False)
  assert _plan(use_tpu=True, num_tpu_cores=4).num_replicas == 4


def test_devices_that_cannot_be_used_together_are_refused():
  with pytest.raises(ValueError, match="--num_devices=2"):
    _plan(distribution="one_device", num_devices=2)
