"""Devices and memory of a dry run; the programs' own tests run it whole."""

import json
import re
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from bert_span import FineTuningOptions, SpanLoss
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.jobs import dry_run
from bert_span.training.fine_tuner import window_loss_fn
from bert_span.training.options import ExecutionOptions, StrategyOptions
from tests.support.models import shared_extractor, tiny_extractor

_ROWS, _LENGTH = 6, 16
_LOSS_FN = window_loss_fn(SpanPreprocessor, SpanLoss())


def _line(model, devices=None, **execution):
  tokens, ends = np.ones([_ROWS, _LENGTH], np.int32), np.ones([_ROWS], np.int32)
  batch = dict.fromkeys(("token_ids", "padding_mask", "segment_ids"), tokens)
  batch |= {"start_positions": ends, "end_positions": ends}
  options = FineTuningOptions(
    train_batch_size=12, execution=ExecutionOptions(**execution)
  )
  devices = devices or StrategyOptions()
  return dry_run.memory_line(model, _LOSS_FN, batch, options, devices)


@pytest.mark.large
def test_a_measured_step_changes_no_weight():
  model = tiny_extractor()
  before = model.get_weights()
  line = _line(model, precision="bfloat16", accumulate_steps=4)
  assert float(re.search(r"([\d.]+) GB", line).group(1)) > 0.1
  assert "6 windows of 16 WordPieces in bfloat16" in line
  for weight, expected in zip(model.get_weights(), before, strict=True):
    np.testing.assert_array_equal(weight, expected)


def test_the_peak_is_reported_and_a_device_that_is_too_small():
  def line_of(peak, **arguments):
    with mock.patch.object(dry_run, "measure_step", peak):
      return _line(shared_extractor(), **arguments)

  def exhausted(*_):
    raise tf.errors.ResourceExhaustedError(None, None, "out of memory")

  assert "1.23 GB at the peak" in line_of(lambda *_: 1_230_000_000)
  assert "recompute" in line_of(exhausted)
  # Without the device nothing is measured.
  for options in ({"use_tpu": True}, {"distribution": "tpu"}):
    assert "not measured" in line_of(None, devices=StrategyOptions(**options))


def test_other_machines_are_counted_and_not_waited_for(monkeypatch):
  def count(**options):
    return dry_run.num_replicas(StrategyOptions(**options))

  assert count() == 1
  assert count(num_devices=4) == 4
  assert count(use_tpu=True) == 8
  assert count(use_tpu=True, num_tpu_cores=4) == 4
  cluster = {"worker": ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"]}
  config = {"cluster": cluster, "task": {"type": "worker", "index": 1}}
  monkeypatch.setenv("TF_CONFIG", json.dumps(config))
  assert count() == 3
