"""Devices and memory of a dry run; the programs' own tests run it whole."""

import json
import os
import re
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf
from tiny_extractor import shared_extractor, tiny_extractor

from bert_span import FineTuningOptions, SpanLoss
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.fine_tuning.fine_tuner import window_loss_fn
from bert_span.jobs import dry_run
from bert_span.jobs.dry_run import DevicePlan
from bert_span.training.options import ExecutionOptions, StrategyOptions

_ROWS, _LENGTH = 6, 16
_LOSS_FN = window_loss_fn(SpanPreprocessor, SpanLoss())


def _batch():
  tokens, ends = np.ones([_ROWS, _LENGTH], np.int32), np.ones([_ROWS], np.int32)
  inputs = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), tokens)
  return {**inputs, "start_positions": ends, "end_positions": ends}


def _lines(peak, plan, **execution):
  options = FineTuningOptions(execution=ExecutionOptions(**execution))
  model = shared_extractor().model
  with mock.patch.object(dry_run, "measure_step", peak):
    return [*dry_run.memory_lines(model, _LOSS_FN, _batch(), options, plan)]


@pytest.mark.large
def test_a_measured_step_changes_no_weight():
  execution = ExecutionOptions("bfloat16", accumulate_steps=4, recompute=True)
  model = tiny_extractor().model
  before = model.get_weights()
  options = FineTuningOptions(train_batch_size=12, execution=execution)
  plan = DevicePlan("2 x CPU", 2, 1 << 60)
  least = dry_run.peak_bytes() / 1e9
  lines = list(dry_run.memory_lines(model, _LOSS_FN, _batch(), options, plan))
  assert float(re.search(r"([\d.]+) GB", lines[0]).group(1)) > least - 0.01
  assert lines[-1] == "It fits."
  for weight, expected in zip(model.get_weights(), before, strict=True):
    np.testing.assert_array_equal(weight, expected)


def test_the_peak_is_compared_with_the_memory_of_a_device():
  def exhausted(*_):
    raise tf.errors.ResourceExhaustedError(None, None, "out of memory")

  plan = DevicePlan("1 x CPU", 1, 2 * 10**9)
  first, last = _lines(lambda *_: 1_230_000_000, plan, accumulate_steps=2)
  assert "1.23 GB" in first
  assert "6 windows of 16 WordPieces in float32 --accumulate_steps=2" in first
  assert last == "It fits."
  *_, last = _lines(lambda *_: 2_000_000_001, plan)
  assert "2.00 GB" in last and "--recompute" in last
  (line,) = _lines(exhausted, plan)
  assert "does not fit into 2.00 GB" in line and "--accumulate_steps" in line
  # Without the device nothing is measured.
  (line,) = _lines(None, DevicePlan("8 TPU cores (tpu)", 8, None, False))
  assert "not measured" in line


def _plan(**options):
  return dry_run.plan_devices(StrategyOptions(**options))


@pytest.fixture
def machine_bytes(monkeypatch):
  """The memory of this machine, which has no GPUs and is no container."""
  config = dry_run.tf.config
  monkeypatch.setattr(config, "list_physical_devices", lambda unused_kind: [])
  monkeypatch.setattr(dry_run, "_CONTAINER_LIMITS", ())
  return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_the_parts_of_a_cpu_share_its_memory_or_that_of_a_container(
  tmp_path, monkeypatch, machine_bytes
):
  for count, name in (None, "one_device"), (4, "mirrored"):
    replicas = count or 1
    description = f"{replicas} x CPU ({os.cpu_count()} cores) ({name})"
    expected = DevicePlan(description, replicas, machine_bytes // replicas)
    assert _plan(num_devices=count) == expected
  limit = tmp_path / "memory.max"
  paths = (str(limit), str(tmp_path / "missing"))
  monkeypatch.setattr(dry_run, "_CONTAINER_LIMITS", paths)
  for content, expected in ("123456789\n", 123456789), ("max\n", machine_bytes):
    limit.write_text(content)
    assert _plan().memory_bytes == expected


def test_other_machines_are_counted_and_not_waited_for(
  machine_bytes, monkeypatch
):
  assert _plan(use_tpu=True) == ("8 TPU cores (tpu)", 8, None, False)
  assert _plan(use_tpu=True, num_tpu_cores=4).num_replicas == 4
  cluster = {"worker": ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"]}
  config = {"cluster": cluster, "task": {"type": "worker", "index": 1}}
  monkeypatch.setenv("TF_CONFIG", json.dumps(config))
  plan = _plan()
  assert (plan.num_replicas, plan.memory_bytes) == (3, machine_bytes)
  assert plan.description.endswith("(multi_worker_mirrored)")
