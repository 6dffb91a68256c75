"""The training loop: batches in, trained weights and checkpoints out."""

import contextlib

import tensorflow as tf

from bert_span.storage.log import log_line
from bert_span.training.devices.strategy import is_chief, own_folder
from bert_span.training.devices.worker_agreement import check_same_step
from bert_span.training.loss_scale import LossScale
from bert_span.training.optimizer import check_optimizer, optimizer_options
from bert_span.training.replica_dropout import seed_dropout, spread_dropout
from bert_span.training.run.checkpoints import RunCheckpoints
from bert_span.training.run.event_file import EventFile
from bert_span.training.run.progress import TrainingProgress
from bert_span.training.run.readings import Readings
from bert_span.training.step import make_train_step
from bert_span.training.step_runner import (
  compiles_steps,
  make_runner,
  steps_per_call,
)

# The host reads the loss this often, and every second: seldom enough that an
# accelerator is not kept waiting, often enough for a person.
_STEPS_PER_READING = 20


class Trainer:
  """Trains a model, and continues where an earlier call was stopped.

  The loop is its own and not keras.Model.fit: one loss over the whole batch,
  one global norm over dense gradients, exact continuation. A run that was
  killed and started again ends with the same weights, bit for bit, as one
  that was not (on one CPU).

  Example:
    trainer = Trainer(model, loss_fn, create_optimizer(1e-4),
                      100, TrainOptions(), "/tmp/run")
    trainer.train(dataset_fn)  # model now holds the trained weights

  Files in output_dir: model.ckpt-<step>.* and checkpoint, as run_squad;
  training_options.json, what must not change within the run; train/, event
  files for TensorBoard (loss, learning_rate, global_norm,
  examples_per_second).

  Args:
    model: built keras.Model.
    loss_fn: see make_train_step; the means of what it gives beside the losses
      get a curve of their own.
    optimizer: keras optimizer, such as create_optimizer gives.
    num_train_steps: updates of the whole run.
    options: `TrainOptions`.
    output_dir: folder of the run, local or any path of tf.io.gfile.
    fingerprint: dict of JSON values that the data and the model depend on
      (files, max_seq_length, ...): a run is not continued with other ones.
    log: function of one str, for the few lines a run prints; None for stderr.
    callbacks: sequence of `Callback`, asked in this order between the steps.
    strategy: tf.distribute.Strategy in whose scope model and optimizer were
      made; None for one device.
    unsummed_embeddings: see `make_train_step`.

  Raises:
    ValueError: the model is not built, or the optimizer sums gradients over
      devices itself.
  """

  def __init__(
    self,
    model,
    loss_fn,
    optimizer,
    num_train_steps,
    options,
    output_dir,
    fingerprint=None,
    log=None,
    callbacks=(),
    strategy=None,
    unsummed_embeddings=(),
  ):
    if not model.trainable_variables:
      raise ValueError(
        f"The model {model.name!r} has no trainable weights. Build it (call "
        "it once) and leave it trainable before you train it."
      )
    self._model = model
    self._loss_fn = loss_fn
    self._optimizer = optimizer
    self._num_train_steps = num_train_steps
    self._options = options
    self._unsummed_embeddings = tuple(unsummed_embeddings)
    self._output_dir = str(output_dir)
    self._log = log or log_line
    self._callbacks = tuple(callbacks)
    self._strategy = strategy or tf.distribute.get_strategy()
    check_optimizer(optimizer, self._strategy)
    # Slots must exist before a checkpoint is restored into them.
    with self._strategy.scope():
      optimizer.build(model.trainable_variables)
      is_float16 = options.execution.precision == "float16"
      self._loss_scale = LossScale(optimizer) if is_float16 else None
    # The chief's is the run's folder, the others write where nobody looks.
    self._own_dir = own_folder(self._strategy, self._output_dir)
    self._step = tf.Variable(0, dtype=tf.int64, trainable=False, name="step")
    seed_dropout(model, options.seed)
    self._checkpoints = RunCheckpoints(
      model,
      optimizer,
      self._step,
      self._output_dir,
      self._unchangeable_options(fingerprint),
      options.keep_checkpoint_max if is_chief(self._strategy) else 1,
      self._own_dir,
      {c.name: c.state for c in self._callbacks if c.state is not None},
      self._log,
    )
    self._runner = None

  @property
  def step(self):
    """Steps made, those of earlier calls included."""
    return int(self._step)

  @property
  def num_traces(self):
    """How often the step was traced; more than once wastes time."""
    return 0 if self._runner is None else self._runner.num_traces

  def train(self, dataset_fn):
    """Trains until num_train_steps steps are made, over all calls together.

    Fewer are made where a callback has a reason to stop.

    Args:
      dataset_fn: function first_step -> tf.data.Dataset of dicts of tensors
        [batch, ...] that gives the batches of the steps first_step,
        first_step + 1, ... The batch of a step must depend on nothing but
        the number of the step.

    Returns:
      Number of steps made by this call; 0 when the run was complete. Either
      way the model holds the weights of the last step.

    Raises:
      ValueError: the checkpoints in output_dir are not of this run; the
        batches ended early; a loss or a norm is not finite.
    """
    self._restore()
    with contextlib.ExitStack() as stack:
      for callback in self._callbacks:
        stack.enter_context(callback)
      return self._train(dataset_fn)

  def _train(self, dataset_fn):
    first_step, last_step = self.step, self._num_train_steps
    # What was due when an earlier call was killed.
    self._call_back(first_step)
    stops = self._stops()
    if first_step >= last_step:
      self._log(f"All {last_step} steps are made already: nothing to train.")
      return 0
    if stops:
      self._tell_stop_reason()
      return 0
    dataset = dataset_fn(first_step)
    self._runner = self._make_runner(dataset)
    with (
      EventFile(tf.io.gfile.join(self._own_dir, "train")) as events,
      TrainingProgress(first_step, last_step, self._log) as progress,
    ):
      readings = Readings(first_step, events, progress)
      self._run_steps(readings)
    return self.step - first_step

  def _run_steps(self, readings):
    """Makes the steps, reads their numbers now and then, saves."""
    step, last_step = self.step, self._num_train_steps
    while step < last_step:
      count = self._count_to_stop(step)
      made = self._runner.run(count)
      for numbers, num_windows in made:
        readings.add(numbers, num_windows)
      if len(made) < count:
        raise ValueError(
          f"The batches ended at step {self.step}, before the {last_step} "
          "steps of the run: dataset_fn must give a batch for every step "
          "(repeat the data over the epochs)."
        )
      step += count
      acts, stops = self._acts(step), self._stops()
      saves, summarizes = self._saves(step), self._summarizes(step)
      if saves or stops or acts or summarizes or readings.is_due:
        # Before a checkpoint in any case: what is saved is finite.
        readings.read(summarizes)
      if acts:
        self._call_back(step)
        stops = self._stops()
      if saves or stops:
        self._log(f"Saved {self._checkpoints.save()}")
      if stops:
        self._tell_stop_reason()
        return

  def _acts(self, step):
    return any(callback.is_due(step) for callback in self._callbacks)

  def _call_back(self, step):
    """Lets the callbacks do what is due."""
    for callback in self._callbacks:
      if callback.is_due(step):
        callback.on_step(step)

  def _stops(self):
    """Whether a callback wants to stop; all workers must ask together."""
    for callback in self._callbacks:
      callback.agree()
    return bool(self._stop_reasons())

  def _stop_reasons(self):
    return [c.stop_reason for c in self._callbacks if c.stop_reason]

  def _tell_stop_reason(self):
    reasons = "; ".join(self._stop_reasons())
    self._log(f"Stopped after step {self.step}: {reasons}.")

  def _saves(self, step):
    is_last = step == self._num_train_steps
    return is_last or step % self._options.save_checkpoints_steps == 0

  def _summarizes(self, step):
    interval = min(_STEPS_PER_READING, self._options.iterations_per_loop)
    return step == self._num_train_steps or step % interval == 0

  def _count_to_stop(self, step):
    """Steps of the next call: up to where something is to be done between."""
    most = self._steps_per_call()
    for count in range(1, most):
      next_step = step + count
      if (
        self._saves(next_step)
        or self._summarizes(next_step)
        or self._acts(next_step)
      ):
        return count
    return most

  def _steps_per_call(self):
    options = self._options
    most = min(_STEPS_PER_READING, options.iterations_per_loop)
    return steps_per_call(self._strategy, most)

  def _make_runner(self, dataset):
    """Compiles the step, and gives it its batches."""
    options, execution = self._options, self._options.execution
    train_step = make_train_step(
      self._model,
      self._loss_fn,
      self._optimizer,
      options.train_batch_size,
      options.clip_norm,
      self._unsummed_embeddings,
      compiles_steps(execution, self._strategy, dataset.element_spec),
      self._loss_scale,
      execution.all_reduce,
    )
    return make_runner(
      train_step,
      self._strategy,
      self._step,
      dataset,
      options.train_batch_size,
      execution.accumulate_steps,
      self._steps_per_call(),
    )

  def _restore(self):
    path = self._checkpoints.restore_or_begin()
    check_same_step(self._strategy, self.step)
    spread_dropout(self._model, self._strategy)
    if path is not None:
      self._log(
        f"Continuing from {path}: {self.step} of "
        f"{self._num_train_steps} steps are made."
      )

  def _unchangeable_options(self, fingerprint):
    options = self._options
    precision = options.execution.precision
    of_callbacks = [callback.fingerprint for callback in self._callbacks]
    return {
      **(fingerprint or {}),
      **{name: v for part in of_callbacks for name, v in part.items()},
      **({} if precision == "float32" else {"precision": precision}),
      "num_train_steps": self._num_train_steps,
      "train_batch_size": options.train_batch_size,
      "clip_norm": options.clip_norm,
      "unsummed_embeddings": list(self._unsummed_embeddings),
      "seed": options.seed,
      "optimizer": optimizer_options(self._optimizer),
    }
