"""Several devices: on two parts of this CPU, in another process."""

import json

import distributed_checks
import numpy as np
import pytest
import tensorflow as tf
from programs import run_program

from bert_span.training.options import (
  MIRRORED,
  MULTI_WORKER,
  ONE_DEVICE,
  TPU,
  ExecutionOptions,
  StrategyOptions,
  check_strategy,
)
from bert_span.training.strategy import choose_strategy, make_strategy


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
  """What distributed_checks.py found."""
  folder = tmp_path_factory.mktemp("checks")
  run = run_program(distributed_checks.__file__, folder)
  assert run.returncode == 0, run.stderr[-3000:]
  return json.loads(run.stdout)


@pytest.mark.large
@pytest.mark.parametrize(
  "name",
  # Summed along a ring, recomputed and compiled; in two parts with the unsummed
  # norm, where the second device has fewer windows or none.
  ["even", "uneven"],
)
def test_two_devices_make_the_updates_of_one(checks, name):
  found = checks[name]
  for difference in ("weights", "norms", "losses"):
    assert found[difference] < 1e-5
  assert found["moved"] > 0.1  # and these are updates worth comparing
  assert found["smallest_norm"] > 0.1  # every step was clipped, to 0.1
  assert (found["copies"], found["traces"]) == (0.0, 1)


@pytest.mark.large
def test_devices_draw_masks_of_their_own_and_skip_a_step_together(checks):
  """The gradient of one device is infinite in steps 2 and 4 of 5."""
  found = checks["dropout_and_overflow"]
  # The same windows and the same weights: masks alone can differ.
  assert all(np.abs(np.subtract(found["first"], found["rest"])) > 1e-4)
  for first, second in found["states"]:
    assert second[0] - first[0] == 2**31  # seeds
    assert first[1] == second[1] == 5  # draws
  # The scale is halved after each of them.
  assert found["loss_scale"] == [2.0**15, 2.0**15, 2.0**14, 2.0**14, 2.0**13]
  assert found["skipped_steps"] == [0.0, 1.0, 1.0, 2.0, 2.0]
  assert found["iterations"] == 3
  assert found["is_finite"]
  assert found["copies"] == 0.0


@pytest.mark.large
@pytest.mark.parametrize(
  ("precision", "apart"), [("bfloat16", 0.03), ("float16", 0.005)]
)
def test_the_loss_curve_in_half_precision_follows_that_in_float32(
  checks, precision, apart
):
  found = checks["curves"]
  difference = np.abs(np.subtract(found[precision], found["float32"]))
  assert 0 < difference.max() < apart
  assert found["dtypes_afterwards"] == ["float32"]


@pytest.mark.skipif(
  bool(tf.config.list_physical_devices("GPU")), reason="there is a GPU"
)
def test_nccl_without_a_gpu_is_refused():
  with pytest.raises(ValueError, match="--all_reduce=nccl is for GPUs"):
    make_strategy(StrategyOptions(), ExecutionOptions(all_reduce="nccl"))


@pytest.mark.parametrize("name", ["local", "my-tpu"])
def test_a_tpu_that_is_not_there_is_named(name):
  """As far as a TPU's code runs without one: resolver and initialization."""
  options = StrategyOptions(TPU, tpu_name=name, tpu_zone="z", gcp_project="p")
  with pytest.raises(ValueError, match=f"no TPU of the name {name}.*--use_tpu"):
    make_strategy(options, ExecutionOptions())


def _tf_config(cluster, kind="worker", index=0):
  task = {"type": kind, "index": index}
  return json.dumps({"cluster": cluster, "task": task})


def test_a_damaged_tf_config_is_refused_with_an_example(monkeypatch):
  two = {"worker": ["a:1", "b:1"]}
  for config in (
    *("{", json.dumps({"cluster": two}), _tf_config({"ps": ["a:1"]})),
    *(_tf_config(two, "evaluator"), _tf_config(two, index=2)),
    _tf_config({"chief": ["a:1", "b:1"]}, "chief"),
  ):
    monkeypatch.setenv("TF_CONFIG", config)
    with pytest.raises(ValueError, match='"type": "worker", "ind') as error:
      make_strategy(StrategyOptions(), ExecutionOptions())
    assert config in str(error.value)


@pytest.mark.parametrize(
  ("options", "num_workers", "name"),
  [
    (StrategyOptions(), 0, ONE_DEVICE),
    (StrategyOptions(), 2, MULTI_WORKER),
    (StrategyOptions(num_devices=2), 0, MIRRORED),
    (StrategyOptions(MIRRORED), 1, MIRRORED),
    (StrategyOptions(use_tpu=True, num_tpu_cores=8), 0, TPU),
    (StrategyOptions(MULTI_WORKER), 0, None),
    (StrategyOptions(MIRRORED), 2, None),
    (StrategyOptions(use_tpu=True), 2, None),
  ],
)
def test_options_and_workers_choose_the_strategy_or_do_not_fit(
  monkeypatch, options, num_workers, name
):
  check_strategy(options, ExecutionOptions("bfloat16"))
  workers = [f"a:{number}" for number in range(num_workers)]
  cluster = {"worker": workers} if workers else {}
  monkeypatch.setenv("TF_CONFIG", _tf_config(cluster))
  if name:
    assert choose_strategy(options, num_gpus=0) == name
  else:
    with pytest.raises(ValueError, match=f"TF_CONFIG names {num_workers}"):
      choose_strategy(options, num_gpus=0)


def test_options_that_contradict_each_other_are_refused_with_the_remedy():
  for options, execution, remedy in (
    (StrategyOptions(ONE_DEVICE), {"all_reduce": "ring"}, "--all_reduce"),
    (StrategyOptions(MIRRORED, use_tpu=True), {}, "--use_tpu"),
    (StrategyOptions(TPU, 4), {}, "--num_tpu_cores"),
    (StrategyOptions(TPU), {"jit_compile": "on"}, "--jit_compile"),
    (StrategyOptions(TPU), {"all_reduce": "nccl"}, "--all_reduce"),
  ):
    with pytest.raises(ValueError, match=remedy):
      check_strategy(options, ExecutionOptions(**execution))
