"""Several devices: which are chosen, two parts of this CPU, two workers."""

import functools
import json
import pathlib
import sys

import numpy as np
import pytest
import tensorflow as tf

from bert_span import BertAdamW, WarmupLinearDecay
from bert_span.modeling.keras_internals import sublayers
from bert_span.training.checkpoints import random_states
from bert_span.training.loop import Trainer
from bert_span.training.options import (
  MIRRORED,
  MULTI_WORKER,
  ONE_DEVICE,
  TPU,
  ExecutionOptions,
  StrategyOptions,
  TrainOptions,
)
from bert_span.training.strategy import choose_strategy, make_strategy
from tests.support.models import CONTEXT, QUESTION, tiny_extractor
from tests.support.programs import finish_workers, start_workers, succeeds
from tests.support.training import (
  LENGTH,
  LOSS_FN,
  STEPS,
  all_values,
  assert_same,
  batches,
  compared_weights,
  copy_stopped,
  make_span_model,
  max_difference,
  read_events,
)


class Run:
  """One training, and what it left."""

  def __init__(
    self,
    folder,
    strategy,
    batch_size=6,
    dropout=0.0,
    loss_fn=LOSS_FN,
    unsummed=False,
    layer_decay=1.0,
    name=None,
    architecture="bert",
    save_checkpoints_steps=STEPS,
    **execution,
  ):
    with strategy.scope():
      self.model = make_span_model(dropout, 1, architecture=architecture)
      self.optimizer = BertAdamW(
        WarmupLinearDecay(1e-2, STEPS, 1),
        layer_decay=layer_decay,
      )
    before = compared_weights(self.model)
    table = self.model.backbone.token_embedding.embeddings.path
    folder = folder / (name or f"run{len(list(folder.iterdir()))}")
    self.trainer = Trainer(
      self.model,
      loss_fn,
      self.optimizer,
      STEPS,
      TrainOptions(
        train_batch_size=np.max(batch_size).item(),
        clip_norm=0.1,
        iterations_per_loop=1,
        save_checkpoints_steps=save_checkpoints_steps,
        seed=0,
        execution=ExecutionOptions(**execution),
      ),
      folder,
      strategy=strategy,
      unsummed_embeddings=(table,) if unsummed else (),
    )
    self.trainer.train(functools.partial(batches, batch_size))
    self.events = read_events(folder)
    self.weights = compared_weights(self.model)
    self.moved = max_difference(before, self.weights)


def even(folder, one, two):
  """Summed along a ring, recomputed, and one of them compiled."""
  modes = {"all_reduce": "ring", "recompute": True}
  for architecture, jit_compile in (("bert", "on"), ("deberta-v2", "off")):
    options = {"layer_decay": 0.9, "architecture": architecture}
    assert_same_updates(
      Run(folder, one, **options),
      Run(folder, two, jit_compile=jit_compile, **options, **modes),
    )


def uneven(folder, one, two):
  """In two parts with the unsummed norm; embeddings in a layer of their own."""
  # On two devices 3 windows and 2, or 1 and none.
  options = {"batch_size": (5, 1, 5, 5, 1), "unsummed": True}
  options["architecture"] = "camembert"
  assert_same_updates(
    Run(folder, one, **options), Run(folder, two, **options, accumulate_steps=2)
  )


def assert_same_updates(expected, run):
  assert max_difference(expected.weights, run.weights) < 1e-5
  assert expected.moved > 0.1  # and these are updates worth comparing
  norms, losses = (expected.events[name] for name in ("global_norm", "loss"))
  assert min(norms) > 0.1  # every step was clipped, to 0.1
  np.testing.assert_allclose(norms, run.events["global_norm"], rtol=1e-5)
  np.testing.assert_allclose(losses, run.events["loss"], rtol=0, atol=1e-5)
  assert_same_copies(run.model)
  assert run.trainer.runner.num_traces == 1


def assert_same_copies(model):
  for weight in model.trainable_variables:
    np.testing.assert_array_equal(*weight.value.values)


def dropout_and_overflow(folder, unused_one, two):
  """Devices draw masks of their own, and skip a step together.

  They have the same windows, so dropout alone differs. The gradient of the last
  device is infinite in steps 2 and 4 of 5.
  """

  def loss_fn(model, batch):
    is_short = tf.shape(batch["token_ids"])[1] == LENGTH - 1
    batch = {name: tf.zeros_like(values) for name, values in batch.items()}
    ones = tf.ones_like(batch["token_ids"])
    batch |= {"token_ids": ones, "padding_mask": ones}
    losses = LOSS_FN(model, batch)
    replica = tf.distribute.get_replica_context().replica_id_in_sync_group
    on_first = tf.cast(replica == 0, tf.float32)
    curves = {"first": losses * on_first, "rest": losses * (1 - on_first)}
    is_huge = is_short & (replica == 1)
    return tf.where(is_huge, losses * np.float32(1e38), losses), curves

  run = Run(folder, two, dropout=0.5, loss_fn=loss_fn, precision="float16")
  curves = run.events
  assert all(np.abs(np.subtract(curves["first"], curves["rest"])) > 1e-4)
  for state in random_states(run.model):
    first, second = (copy.numpy() for copy in state.value.values)
    assert second[0] - first[0] == 2**31  # seeds
    assert first[1] == second[1] == STEPS  # draws
  # The scale is halved after each of them.
  assert curves["loss_scale"] == [2.0**n for n in (15, 15, 14, 14, 13)]
  assert curves["skipped_steps"] == [0.0, 1.0, 1.0, 2.0, 2.0]
  assert run.optimizer.iterations.numpy() == 3
  assert all(np.isfinite(weight).all() for weight in run.weights.values())
  assert_same_copies(run.model)


def keras_fit(unused_folder, one, two):
  """Keras' own fit, where the optimizer sums the gradients."""
  x = {"question": [QUESTION, "When?"] * 3, "context": [CONTEXT] * 6}
  y = {"answer_text": ["Anna", "1895"] * 3, "answer_start": [22, 30] * 3}
  weights = []
  for strategy in (one, two):
    with strategy.scope():
      extractor = tiny_extractor(dropout=0.0, attention_dropout=0.0)
      before = compared_weights(extractor)
      extractor.compile(optimizer=BertAdamW(1e-2))
    extractor.fit(x=x, y=y, batch_size=2, shuffle=False, verbose=0)
    weights.append(compared_weights(extractor))
  assert max_difference(*weights) < 1e-5
  assert max_difference(before, weights[1]) > 0.01
  assert_same_copies(extractor)


def resumed(folder, unused_one, two):
  """Stopped after step 2: the devices still draw masks of their own."""
  options = {"dropout": 0.5, "save_checkpoints_steps": 2}
  whole = Run(folder, two, name="whole", **options)
  copy_stopped(folder / "whole", folder / "stopped", 2)
  again = Run(folder, two, name="stopped", **options)
  losses = whole.events["loss"]  # of both runs in the folder of the second
  assert again.events["loss"] == losses + losses[2:]
  assert_same(all_values(again.trainer), all_values(whole.trainer))
  states = [random_states(run.model) for run in (again, whole)]
  for state, expected in zip(*states, strict=True):
    assert_same(state.value.values, expected.value.values)


@pytest.mark.large
@pytest.mark.parametrize(
  "check", [even, uneven, dropout_and_overflow, keras_fit, resumed]
)
def test_two_parts_of_a_cpu_train_as_the_whole(check, tmp_path):
  """In another process: TensorFlow divides a CPU only before it begins."""
  succeeds(__file__, check.__name__, tmp_path)


def train_as_worker(folder):
  """What each of two workers does; prints JSON."""
  strategy = make_strategy(StrategyOptions(), ExecutionOptions())
  # A batch of 5 on two workers: the second one has a row less.
  run = Run(folder, strategy, batch_size=5, layer_decay=0.9, name="run")
  own_dir = pathlib.Path(run.trainer._checkpoints.write_dir)
  run.model.save_weights(own_dir / "whole.weights.h5")
  weights = {path: values.tolist() for path, values in run.weights.items()}
  files = sorted(path.name for path in own_dir.iterdir())
  print(json.dumps([weights, files, str(own_dir)]))


@pytest.mark.large
def test_two_workers_make_the_updates_of_one_device(tmp_path):
  workers = start_workers(__file__, "train_as_worker", tmp_path)
  done = finish_workers(workers)
  (weights, *chief), (same_weights, *other) = (
    json.loads(run.stdout) for run in done
  )
  assert weights == same_weights
  one = tf.distribute.get_strategy()
  expected = Run(tmp_path, one, batch_size=5, layer_decay=0.9).weights
  # What was saved can be read by a model without a strategy.
  fresh = make_span_model(num_layers=1)
  fresh.load_weights(tmp_path / "run" / "whole.weights.h5")
  assert max_difference(expected, compared_weights(fresh)) < 1e-5

  # Every worker saves, only the chief to the folder of the run.
  (files, own_dir), (other_files, other_dir) = chief, other
  assert own_dir == str(tmp_path / "run") != other_dir
  assert not pathlib.Path(other_dir).exists()
  assert {"checkpoint", "model.ckpt-5.index", "train"} <= set(files)
  assert files == other_files
  assert len(list((tmp_path / "run" / "train").iterdir())) == 1


@pytest.mark.large
def test_the_loss_curve_in_half_precision_follows_that_in_float32(tmp_path):
  one = tf.distribute.get_strategy()
  plain, *halves = (
    Run(tmp_path, one, layer_decay=0.9, precision=precision)
    for precision in ("float32", "bfloat16", "float16")
  )
  for half, apart in zip(halves, (0.03, 0.005), strict=True):
    difference = np.abs(np.subtract(half.events["loss"], plain.events["loss"]))
    assert 0 < difference.max() < apart
    assert {part.compute_dtype for part in sublayers(half.model)} == {"float32"}


@pytest.mark.skipif(
  bool(tf.config.list_physical_devices("GPU")), reason="there is a GPU"
)
def test_nccl_without_a_gpu_is_refused():
  with pytest.raises(ValueError, match="all_reduce=nccl"):
    make_strategy(StrategyOptions(), ExecutionOptions(all_reduce="nccl"))


@pytest.mark.parametrize("name", ["local", "my-tpu"])
def test_a_tpu_that_is_not_there_is_named(name):
  """As far as a TPU's code runs without one: resolver and initialization."""
  options = StrategyOptions(TPU, tpu_name=name, tpu_zone="z", gcp_project="p")
  with pytest.raises(ValueError, match=f"name {name} .* use_tpu"):
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
  workers = [f"a:{number}" for number in range(num_workers)]
  cluster = {"worker": workers} if workers else {}
  monkeypatch.setenv("TF_CONFIG", _tf_config(cluster))
  if name:
    assert choose_strategy(options, num_gpus=0) == name
  else:
    with pytest.raises(ValueError, match=f"TF_CONFIG .*{num_workers} "):
      choose_strategy(options, num_gpus=0)


if __name__ == "__main__":
  check, folder = globals()[sys.argv[1]], pathlib.Path(sys.argv[2])
  if check is train_as_worker:
    train_as_worker(folder)
  else:
    strategy = make_strategy(StrategyOptions(MIRRORED, 2), ExecutionOptions())
    check(folder, tf.distribute.get_strategy(), strategy)
