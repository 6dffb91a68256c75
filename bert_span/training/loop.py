"""The training loop: trains weights on batches and saves checkpoints."""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence

import keras
import tensorflow as tf

from bert_span.modeling.encoder_modes import computing_in, recomputing_layers
from bert_span.storage.log import log_line
from bert_span.training.checkpoints import RunCheckpoints
from bert_span.training.optimizer import optimizer_options
from bert_span.training.options import TrainOptions
from bert_span.training.progress import TrainingProgress
from bert_span.training.step import LossScale, TrainStep
from bert_span.training.step_runner import (
  StepRunner,
  compiles_steps,
  seed_dropout,
  spread_dropout,
)
from bert_span.training.strategy import check_same_step, device_kind

# Steps between two readings of the metrics. More often, an accelerator would
# wait for the host.
_STEPS_PER_REPORT = 20


@dataclasses.dataclass(eq=False)
class Trainer:
  """Trains a model, and continues where an earlier call was stopped.

  Unlike keras.Model.fit it has one loss over the whole batch, one global norm
  over dense gradients, and exact continuation: a run that was killed and
  started again ends with the same weights, bit for bit (on one CPU).
  """

  model: keras.Model  # built; precision and recompute apply to its `backbone`
  loss_fn: Callable  # see `TrainStep`; all of its metrics become curves
  # BertAdamW on several devices: other optimizers sum gradients twice.
  optimizer: keras.optimizers.Optimizer
  num_train_steps: int  # updates of the whole run
  options: TrainOptions
  output_dir: str  # local or remote: checkpoints, and train/ for TensorBoard
  # JSON values; a run with other values is not continued.
  fingerprint: Mapping | None = None
  callbacks: Sequence = ()  # of `Callback`, called in this order between steps
  # The strategy in whose scope model and optimizer were made; None: one device.
  strategy: tf.distribute.Strategy | None = None
  saves_checkpoints: bool = True  # if False, a stopped run begins anew
  unsummed_embeddings: Sequence = ()  # see `TrainStep`

  def __post_init__(self):
    self.strategy = self.strategy or tf.distribute.get_strategy()
    # Slots must exist before a checkpoint is restored into them.
    with self.strategy.scope():
      self.optimizer.build(self.model.trainable_variables)
      is_float16 = self.options.execution.precision == "float16"
      self._loss_scale = LossScale(self.optimizer) if is_float16 else None
    self._step = tf.Variable(0, dtype=tf.int64, trainable=False, name="step")
    seed_dropout(self.model, self.options.seed)
    self._checkpoints = RunCheckpoints(
      self.model,
      self.optimizer,
      self._step,
      str(self.output_dir),
      self._fixed_options(),
      self.options.keep_checkpoint_max,
      self.strategy,
      {c.name: c.state for c in self.callbacks if c.state is not None},
    )

  @property
  def step(self):
    """Steps made, including those of earlier calls."""
    return int(self._step)

  def train(self, dataset_fn):
    """Trains until num_train_steps are made or a callback stops it.

    `dataset_fn` is a function of a first step to a tf.data.Dataset of that
    step's batch and all later ones, dicts of tensors [batch, ...]. A batch must
    depend on the step only. Returns the steps made by this call.
    """
    path = self._checkpoints.restore_or_begin()
    first_step, last_step = self.step, self.num_train_steps
    check_same_step(self.strategy, first_step)
    spread_dropout(self.model, self.strategy)
    if path:
      log_line(f"Continuing from {path}, step {first_step} of {last_step}.")
    execution = self.options.execution
    backbone = getattr(self.model, "backbone", None)
    with contextlib.ExitStack() as stack:
      stack.enter_context(computing_in(backbone, execution.precision))
      stack.enter_context(recomputing_layers(backbone, execution.recompute))
      for callback in self.callbacks:
        stack.enter_context(callback)
      # Callbacks that were due when an earlier call was killed.
      self._call_back(first_step)
      stop_reasons = self._stop_reasons()
      if first_step >= last_step:
        log_line(f"All {last_step} steps are made already: nothing to train.")
      elif not stop_reasons:
        stop_reasons = self._train(dataset_fn, first_step)
      if stop_reasons and first_step < last_step:
        reasons = "; ".join(stop_reasons)
        log_line(f"Stopped after step {self.step}: {reasons}.")
    return self.step - first_step

  def _train(self, dataset_fn, step):
    """Trains from `step` on; returns the reasons to stop."""
    options, last_step = self.options, self.num_train_steps
    report_steps = min(_STEPS_PER_REPORT, options.iterations_per_loop)
    # On a CPU a step takes much longer than a call.
    most_steps = 1 if device_kind(self.strategy) == "CPU" else report_steps
    dataset = dataset_fn(step)
    train_step = TrainStep(
      self.model,
      self.model.trainable_variables,
      self.loss_fn,
      self.optimizer,
      options,
      unsummed_embeddings=self.unsummed_embeddings,
      jit_compile=compiles_steps(options.execution, self.strategy, dataset),
      loss_scale=self._loss_scale,
    )
    self.runner = StepRunner(
      self.strategy, train_step, self._step, dataset, most_steps
    )

    def is_time(step, period):
      return step == last_step or step % period == 0

    def is_due(step):
      return (
        any(callback.is_due(step) for callback in self.callbacks)
        or is_time(step, options.save_checkpoints_steps)
        or is_time(step, report_steps)
      )

    stop_reasons = []
    write_dir = self._checkpoints.write_dir
    with TrainingProgress(
      step, last_step, options.train_batch_size, write_dir
    ) as progress:
      while step < last_step and not stop_reasons:
        # One call makes steps until something is due.
        count = 1
        while count < most_steps and not is_due(step + count):
          count += 1
        progress.add(self.runner.run(count))
        step += count
        stop_reasons = self._stop_reasons()
        if is_due(step) or stop_reasons or progress.is_due:
          # It refuses a loss that is not finite, so it comes before saving.
          progress.report(writes_event=is_time(step, report_steps))
        if self._call_back(step):
          stop_reasons = self._stop_reasons()
        is_saved = is_time(step, options.save_checkpoints_steps) or stop_reasons
        if self.saves_checkpoints and is_saved:
          log_line(f"Saved {self._checkpoints.save()}")
    return stop_reasons

  def _call_back(self, step):
    """Calls the callbacks that are due; returns whether there are any."""
    due = [callback for callback in self.callbacks if callback.is_due(step)]
    for callback in due:
      callback.on_step(step)
    return bool(due)

  def _stop_reasons(self):
    reasons = [callback.stop_reason() for callback in self.callbacks]
    return list(filter(None, reasons))

  def _fixed_options(self):
    """Returns the JSON values that must not change within the run."""
    options, fixed = self.options, dict(self.fingerprint or {})
    for callback in self.callbacks:
      fixed |= callback.fingerprint
    if options.execution.precision != "float32":
      fixed["precision"] = options.execution.precision
    return fixed | {
      "num_train_steps": self.num_train_steps,
      "train_batch_size": options.train_batch_size,
      "clip_norm": options.clip_norm,
      "unsummed_embeddings": list(self.unsummed_embeddings),
      "seed": options.seed,
      "optimizer": optimizer_options(self.optimizer),
    }
