"""The training loop: batches in, trained weights and checkpoints out."""

import contextlib

import tensorflow as tf

from bert_span.storage.log import log_line
from bert_span.training.checkpoints import RunCheckpoints
from bert_span.training.optimizer import (
  averaged_weights,
  check_optimizer,
  optimizer_options,
)
from bert_span.training.progress import TrainingProgress
from bert_span.training.step import LossScale, TrainStep
from bert_span.training.step_runner import (
  StepRunner,
  compiles_steps,
  seed_dropout,
  spread_dropout,
  steps_per_call,
)
from bert_span.training.workers import (
  check_same_step,
  is_chief,
  own_folder,
)

# The host reads the metrics this often, and every second: seldom enough not to
# keep an accelerator waiting, often enough for a person.
_STEPS_PER_REPORT = 20


class Trainer:
  """Trains a model, and continues where an earlier call was stopped.

  Unlike keras.Model.fit it has one loss over the whole batch, one global norm
  over dense gradients, and exact continuation: a run that was killed and
  started again ends with the same weights, bit for bit (on one CPU).

  Example:
    trainer = Trainer(model, loss_fn, BertAdamW(1e-4),
                      100, TrainOptions(), "/tmp/run")
    trainer.train(dataset_fn)  # model now holds the trained weights

  output_dir gets model.ckpt-<step>.* and checkpoint, as run_squad writes them,
  training_options.json, and train/, event files for TensorBoard.

  Args:
    model: built keras.Model.
    loss_fn: see `TrainStep`; its other metrics become curves too.
    optimizer: keras optimizer, such as BertAdamW.
    num_train_steps: updates of the whole run.
    options: `TrainOptions`.
    output_dir: folder of the run, local or remote.
    fingerprint: dict of JSON values that the data and the model depend on; a
      run is not continued with other values.
    log: function of one str; None for stderr.
    callbacks: sequence of `Callback`, called in this order between the steps.
    strategy: tf.distribute.Strategy in whose scope model and optimizer were
      made; None for one device.
    unsummed_embeddings: see `TrainStep`.

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
    self._unsummed_embeddings = list(unsummed_embeddings)
    self._log = log or log_line
    self._callbacks = tuple(callbacks)
    self._strategy = strategy or tf.distribute.get_strategy()
    check_optimizer(optimizer, self._strategy)
    # Slots must exist before a checkpoint is restored into them.
    with self._strategy.scope():
      optimizer.build(model.trainable_variables)
      is_float16 = options.execution.precision == "float16"
      self._loss_scale = LossScale(optimizer) if is_float16 else None
    # Workers that are not the chief write to a temporary folder.
    self._own_dir = own_folder(self._strategy, str(output_dir))
    self._step = tf.Variable(0, dtype=tf.int64, trainable=False, name="step")
    seed_dropout(model, options.seed)
    self._checkpoints = RunCheckpoints(
      model,
      optimizer,
      self._step,
      str(output_dir),
      self._fixed_options(fingerprint or {}),
      options.keep_checkpoint_max if is_chief(self._strategy) else 1,
      self._own_dir,
      {c.name: c.state for c in self._callbacks if c.state is not None},
      self._log,
    )
    self._runner = None

  @property
  def step(self):
    """Steps made, including those of earlier calls."""
    return int(self._step)

  @property
  def num_traces(self):
    """How often the step was traced; more than once wastes time."""
    return 0 if self._runner is None else self._runner.num_traces

  def train(self, dataset_fn):
    """Trains until num_train_steps steps are made, over all calls together.

    It stops earlier where a callback has a reason to.

    Args:
      dataset_fn: function first_step -> tf.data.Dataset of dicts of tensors
        [batch, ...], the batches of the steps from there on. The batch of a
        step must depend on nothing but the number of the step.

    Returns:
      Number of steps made by this call; 0 when the run was complete. If the
      optimizer keeps moving averages, the model has these in the end.

    Raises:
      ValueError: the checkpoints in output_dir are of another run, the
        batches ended early, or a loss or a norm is not finite.
    """
    path = self._checkpoints.restore_or_begin()
    first_step, last_step = self.step, self._num_train_steps
    check_same_step(self._strategy, first_step)
    spread_dropout(self._model, self._strategy)
    if path is not None:
      self._log(
        f"Continuing from {path}: {first_step} of {last_step} steps are made."
      )
    with contextlib.ExitStack() as stack:
      for callback in self._callbacks:
        stack.enter_context(callback)
      # What was due when an earlier call was killed.
      self._call_back(first_step)
      stop_reasons = self._stop_reasons()
      if first_step >= last_step:
        self._log(f"All {last_step} steps are made already: nothing to train.")
        stop_reasons = []
      elif not stop_reasons:
        stop_reasons = self._train(dataset_fn, first_step)
      if stop_reasons:
        reasons = "; ".join(stop_reasons)
        self._log(f"Stopped after step {self.step}: {reasons}.")
    self._optimizer.finalize_variable_values(self._model.trainable_variables)
    return self.step - first_step

  def _train(self, dataset_fn, step):
    """The loop from `step` on; returns the reasons to stop."""
    options, last_step = self._options, self._num_train_steps
    report_steps = min(_STEPS_PER_REPORT, options.iterations_per_loop)
    most_steps = steps_per_call(self._strategy, report_steps)
    self._runner = self._make_runner(dataset_fn(step), most_steps)

    def saves(step):
      return step == last_step or step % options.save_checkpoints_steps == 0

    def reports(step):
      return step == last_step or step % report_steps == 0

    def is_due(step):
      is_called = any(callback.is_due(step) for callback in self._callbacks)
      return is_called or saves(step) or reports(step)

    stop_reasons = []
    with TrainingProgress(
      step, last_step, options.train_batch_size, self._own_dir, self._log
    ) as progress:
      while step < last_step and not stop_reasons:
        # As many steps in one call as nothing is due in between.
        count = 1
        while count < most_steps and not is_due(step + count):
          count += 1
        made = self._runner.run(count)
        progress.add(made)
        if len(made) < count:
          raise ValueError(
            f"The batches ended at step {self.step}, before the {last_step} "
            "steps of the run: dataset_fn must give a batch for every step "
            "(repeat the data over the epochs)."
          )
        step += count
        stop_reasons = self._stop_reasons()
        if is_due(step) or stop_reasons or progress.is_due:
          # Before anything is saved: it refuses a loss that is not finite.
          progress.report(writes_event=reports(step))
        if self._call_back(step):
          stop_reasons = self._stop_reasons()
        if saves(step) or stop_reasons:
          self._log(f"Saved {self._checkpoints.save()}")
    return stop_reasons

  def _call_back(self, step):
    """Calls the callbacks that are due; returns whether there are any."""
    due = [callback for callback in self._callbacks if callback.is_due(step)]
    variables = self._model.trainable_variables
    with averaged_weights(self._optimizer, variables if due else []):
      for callback in due:
        callback.on_step(step)
    return bool(due)

  def _stop_reasons(self):
    """The callbacks' reasons to stop; all workers must ask together."""
    for callback in self._callbacks:
      callback.agree()
    return [c.stop_reason for c in self._callbacks if c.stop_reason]

  def _make_runner(self, dataset, most_steps):
    options, execution = self._options, self._options.execution
    train_step = TrainStep(
      self._model,
      self._loss_fn,
      self._optimizer,
      options.train_batch_size,
      options.clip_norm,
      self._unsummed_embeddings,
      compiles_steps(
        execution.jit_compile, self._strategy, dataset.element_spec
      ),
      self._loss_scale,
      execution.all_reduce,
    )
    return StepRunner(
      self._strategy,
      train_step,
      self._step,
      dataset,
      execution.accumulate_steps,
      most_steps,
    )

  def _fixed_options(self, fingerprint):
    """What must not change within the run, a dict of JSON values."""
    options, precision = self._options, self._options.execution.precision
    fixed = dict(fingerprint)
    for callback in self._callbacks:
      fixed |= callback.fingerprint
    if precision != "float32":
      fixed["precision"] = precision
    return fixed | {
      "num_train_steps": self._num_train_steps,
      "train_batch_size": options.train_batch_size,
      "clip_norm": options.clip_norm,
      "unsummed_embeddings": self._unsummed_embeddings,
      "seed": options.seed,
      "optimizer": optimizer_options(self._optimizer),
    }
