"""What would train, without taking it."""

import json

import pytest

from bert_span.training.devices import plan as device_plan
from bert_span.training.devices.device_memory import local_device
from bert_span.training.devices.strategy_options import StrategyOptions
from bert_span.training.options import ExecutionOptions


def _plan(environ=None, **options):
  return device_plan.plan_devices(
    StrategyOptions(**options), ExecutionOptions(), environ or {}
  )


@pytest.fixture
def no_gpus(monkeypatch):
  config = device_plan.tf.config
  monkeypatch.setattr(config, "list_physical_devices", lambda unused_kind: [])


@pytest.mark.usefixtures("no_gpus")
def test_one_device_has_all_memory():
  plan = _plan()
  assert plan.num_replicas == 1
  assert plan.description.startswith("1 x CPU (")
  assert plan.description.endswith("(one_device)")
  assert plan.memory_bytes == local_device().memory_bytes


@pytest.mark.usefixtures("no_gpus")
def test_parts_of_a_cpu_share_memory_and_program():
  plan, whole = _plan(num_devices=4), local_device()
  assert plan.num_replicas == 4
  assert plan.description.endswith("(mirrored)")
  assert plan.memory_bytes == whole.memory_bytes // 4
  assert plan.program_bytes == whole.program_bytes // 4


@pytest.mark.usefixtures("no_gpus")
def test_workers_are_counted_and_not_waited_for():
  config = {
    "cluster": {"worker": ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"]},
    "task": {"type": "worker", "index": 1},
  }
  plan = _plan({"TF_CONFIG": json.dumps(config)})
  assert plan.num_replicas == 3
  assert plan.description.endswith("(multi_worker_mirrored)")
  assert plan.memory_bytes == local_device().memory_bytes


def test_a_tpu_is_not_looked_for():
  assert _plan(use_tpu=True) == ("8 TPU cores (tpu)", 8, None, 0)
  assert _plan(use_tpu=True, num_tpu_cores=4).num_replicas == 4


def test_what_cannot_be_had_is_refused():
  with pytest.raises(ValueError, match="--distribution=one_device with"):
    _plan(distribution="one_device", num_devices=2)
