"""The training loop: updates by hand, exact resume, and what is refused."""

import json
import re
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_span.training.checkpoints import random_states, steps_made
from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.loop import Trainer
from bert_span.training.options import TrainOptions
from bert_span.training.run_folder import RunFlags
from tests.support.training import (
  BATCH,
  NUM_STEPS,
  all_values,
  assert_same,
  dataset_fn,
  loss_fn,
  make_batch,
  make_model,
  make_trainer,
  read_events,
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
  """A finished run, which warned of nothing: its folder and trainer."""
  folder = tmp_path_factory.mktemp("finished")
  trainer = make_trainer(folder, iterations_per_loop=1, keep_checkpoint_max=2)
  with warnings.catch_warnings():
    warnings.simplefilter("error", UserWarning)
    assert trainer.train(dataset_fn) == NUM_STEPS
  return folder, trainer


def test_a_stopped_run_ends_with_the_very_weights_of_an_unstopped_one(
  finished, tmp_path, capsys
):
  _, whole = finished
  # Stops in step 6, between two checkpoints.
  stopped = make_trainer(tmp_path)
  with pytest.raises(ValueError, match="step 5"):
    stopped.train(lambda first: dataset_fn(first, last_step=5))
  capsys.readouterr()
  resumed = make_trainer(tmp_path, make_model(seed=99))
  assert resumed.train(dataset_fn) == NUM_STEPS - 4
  assert "model.ckpt-4" in capsys.readouterr().err.splitlines()[0]
  assert_same(all_values(resumed), all_values(whole))


def test_events_hold_rate_norm_and_speed_and_the_mean_loss_of_their_steps(
  finished, tmp_path
):
  events = read_events(finished[0])
  losses, rates = events.pop("loss"), events.pop("learning_rate")
  assert set(events) == {"global_norm", "examples_per_second"}
  # The step number counts updates made, the rate is that of the update.
  schedule = WarmupLinearDecay(0.1, NUM_STEPS, 2)
  assert rates == [float(schedule(step)) for step in range(NUM_STEPS)]
  make_trainer(tmp_path, iterations_per_loop=3).train(dataset_fn)
  means = [np.mean(losses[:3]), np.mean(losses[3:6]), losses[6]]
  np.testing.assert_allclose(read_events(tmp_path)["loss"], means, rtol=1e-6)


def test_a_step_is_traced_once_and_spares_weights_without_gradient(finished):
  _, trainer = finished
  assert len({make_batch(i)["input_ids"].shape for i in range(7)}) == 4
  assert trainer.runner.num_traces == 1
  new = make_model()
  for name, is_same in (("pooler", True), ("logits", False)):
    kernels = [m.get_layer(name).get_weights()[0] for m in (trainer.model, new)]
    assert np.array_equal(*kernels) == is_same


def test_a_complete_run_has_the_files_of_run_squad_and_is_not_trained_again(
  finished, tmp_path, capsys
):
  folder, whole = finished
  names = sorted(path.name for path in folder.glob("*.index"))
  assert names == ["model.ckpt-6.index", "model.ckpt-7.index"]
  assert (folder / "checkpoint").exists()
  assert (steps_made(str(folder)), steps_made(str(tmp_path))) == (7, 0)
  # How often is saved may change within a run.
  again = make_trainer(folder, make_model(seed=99), save_checkpoints_steps=5)
  assert again.train(dataset_fn=None) == 0  # asks for no data
  assert "All 7 steps" in capsys.readouterr().err.splitlines()[-1]
  assert_same(again.model.get_weights(), whole.model.get_weights())


def train_one_step(folder, model, loss_fn, batch, size, rate, unsummed=()):
  """One step of gradient descent, clipped to norm 1; its events."""
  Trainer(
    model,
    loss_fn,
    keras.optimizers.SGD(rate),
    num_train_steps=1,
    options=TrainOptions(train_batch_size=size),
    output_dir=folder,
    unsummed_embeddings=unsummed,
  ).train(lambda first: tf.data.Dataset.from_tensors(batch))
  return read_events(folder)


@pytest.mark.parametrize(
  ("x", "batch_size", "expected"),
  [
    # The gradient is the sum of x over the batch size: [6, 8] / 2 = [3, 4],
    # of norm 5. Clipped to 1: [0.6, 0.8]. The rate is 0.5.
    ([[2.0, 3.0], [4.0, 5.0]], 2, [1 - 0.3, 1 - 0.4]),
    ([[0.8, 0.4]], 4, [0.9, 0.95]),  # 1 window of 4; not clipped
  ],
)
def test_an_update_by_hand(tmp_path, x, batch_size, expected):
  dense = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")
  model = keras.Sequential([keras.Input([2]), dense])

  def loss_fn(model, batch):
    losses = model(batch["x"], training=True)[:, 0]
    return losses, {"half": losses / 2}

  batch = {"x": np.array(x, np.float32)}
  events = train_one_step(tmp_path, model, loss_fn, batch, batch_size, 0.5)
  np.testing.assert_allclose(dense.kernel.numpy()[:, 0], expected, rtol=1e-6)
  gradient = np.sum(x, axis=0) / batch_size
  loss = gradient.sum()
  found = [events[name] for name in ("global_norm", "loss", "half")]
  values = [[np.linalg.norm(gradient)], [loss], [loss / 2]]
  np.testing.assert_allclose(found, values, rtol=1e-6)


@pytest.mark.parametrize("unsummed", [False, True])
def test_repeated_ids_are_summed_before_the_norm_unless_asked_otherwise(
  tmp_path, unsummed
):
  tokens = keras.Input([None], dtype="int32")
  model = keras.Model(tokens, keras.layers.Embedding(5, 1)(tokens))
  (table,) = model.trainable_variables
  before = table.numpy()
  events = train_one_step(
    tmp_path,
    model,
    lambda model, batch: tf.reduce_sum(model(batch["ids"]), axis=[1, 2]),
    {"ids": np.array([[2, 2, 2, 4]], np.int32)},
    *(1, 1.0, [table.path] if unsummed else []),
  )
  # Rows 2 and 4 have gradients 3 and 1; unsummed there are four of 1.
  norm = 2.0 if unsummed else np.sqrt(10)
  np.testing.assert_allclose(events["global_norm"], [norm], rtol=1e-6)
  # The update is clipped by that norm and sums the rows either way.
  np.testing.assert_allclose(
    (before - table.numpy())[:, 0], [0, 0, 3 / norm, 0, 1 / norm], atol=1e-6
  )


def test_a_loss_without_the_model_is_refused(tmp_path):
  trainer = make_trainer(tmp_path)
  trainer.loss_fn = lambda model, batch: tf.ones([BATCH])
  with pytest.raises(ValueError, match=r"loss_fn.* 7 trainable"):
    trainer.train(dataset_fn)


def test_a_run_is_not_continued_with_other_options(finished):
  folder, _ = finished
  changed = {"rate": 0.2, "num_train_steps": 9, "train_batch_size": 8}
  flags = [RunFlags(str(folder), "not accepted")]
  with pytest.raises(ValueError, match="output_dir") as error:
    make_trainer(folder, callbacks=flags, **changed).train(dataset_fn)
  assert not (folder / "run.flags").exists()
  for name, old, new in (
    ("optimizer.learning_rate.learning_rate", "0.1", "0.2"),
    ("num_train_steps", "7", "9"),
    ("train_batch_size", "4", "8"),
  ):
    assert re.search(rf" {name} [a-z ]+{old}\b[^;]+{new}\b", str(error.value))


def test_a_run_without_checkpoint_begins_anew_with_the_dropout_of_another_seed(
  finished, tmp_path
):
  stopped = make_trainer(tmp_path)
  with pytest.raises(ValueError, match="step 1"):
    stopped.train(lambda first: dataset_fn(first, last_step=1))
  other = make_trainer(tmp_path, seed=5)
  assert other.train(dataset_fn) == NUM_STEPS
  saved = json.loads((tmp_path / "training_options.json").read_text())
  assert (saved["seed"], saved["max_seq_length"]) == (5, 384)
  _, whole = finished
  for trainer in (whole, other):
    (state,) = random_states(trainer.model)
    assert state.numpy()[1] == NUM_STEPS
  assert not np.array_equal(
    other.model.get_weights()[0], whole.model.get_weights()[0]
  )


def test_a_loss_that_is_not_finite_stops_the_run_and_is_not_saved(tmp_path):
  trainer = make_trainer(tmp_path)

  def spoiled_loss_fn(model, batch):
    is_spoiled = tf.equal(trainer._step, 3)
    return tf.where(is_spoiled, np.nan, loss_fn(model, batch))

  trainer.loss_fn = spoiled_loss_fn
  with pytest.raises(ValueError, match=r"loss of step 4.*nan"):
    trainer.train(dataset_fn)
  assert [p.name for p in tmp_path.glob("*.index")] == ["model.ckpt-2.index"]
