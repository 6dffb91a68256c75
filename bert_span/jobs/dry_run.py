"""What a training would do, found without training.

All that comes before the first step is done: what would stop a training stops
the dry run, too. One step of the longest windows is made to measure its memory.
"""

import contextlib
import os
import pathlib
import resource
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.python.client import device_lib

from bert_span.fine_tuning.fine_tuner import batches_of, window_loss_fn
from bert_span.lint.lint_report import PERCENTILES, length_summary
from bert_span.modeling.encoder import encoder_config
from bert_span.modeling.encoder_modes import computing_in, recomputing_layers
from bert_span.pretraining.batches import are_records
from bert_span.pretraining.loss import pretraining_loss_fn, with_batch_weights
from bert_span.pretraining.pretrainer import sample_lengths
from bert_span.training.checkpoints import steps_made
from bert_span.training.optimizer import BertAdamW
from bert_span.training.options import MULTI_WORKER, ONE_DEVICE, TPU
from bert_span.training.step import TrainStep
from bert_span.training.step_runner import StepRunner, compiles_steps
from bert_span.training.strategy import choose_strategy, named_workers

# Where Linux says how much memory a container may use: version 2 and 1.
_CONTAINER_LIMITS = (
  "/sys/fs/cgroup/memory.max",
  "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)


class DevicePlan(NamedTuple):
  description: str  # such as "2 x GPU (NVIDIA A100) (mirrored)"
  num_replicas: int  # devices that share a batch
  memory_bytes: int | None  # of each; None for a TPU, where it is not known
  is_local: bool = True  # whether a step can be measured on this machine


def plan_devices(options, memory_gb=None):
  """Returns a `DevicePlan` without waiting for workers or a TPU."""
  gpus = tf.config.list_physical_devices("GPU")
  name = choose_strategy(options, len(gpus))
  memory_bytes = int(memory_gb * 1e9) if memory_gb else None
  if name == TPU:
    cores = options.num_tpu_cores or 8
    return DevicePlan(f"{cores} TPU cores ({TPU})", cores, memory_bytes, False)
  here = 1 if name == ONE_DEVICE else options.num_devices or max(len(gpus), 1)
  # Other workers are assumed to have the devices of this machine.
  replicas = here * (named_workers() if name == MULTI_WORKER else 1)
  if gpus:
    details = tf.config.experimental.get_device_details(gpus[0])
    device = f"GPU ({details.get('device_name', 'unknown')})"
    # What TensorFlow may allocate on the first GPU.
    available_bytes = next(
      device.memory_limit
      for device in device_lib.list_local_devices()
      if device.device_type == "GPU"
    )
  else:
    device = f"CPU ({os.cpu_count()} cores)"
    # The replicas of one CPU share its memory.
    available_bytes = _host_bytes() // here
  description = f"{replicas} x {device} ({name})"
  return DevicePlan(description, replicas, memory_bytes or available_bytes)


def fine_tuning_lines(extractor, training_set, options, output_dir, plan):
  """Yields lines of text on what `fine_tune` would do, on a `DevicePlan`."""
  windows, model = training_set.windows, extractor
  batches = batches_of(extractor, training_set, options)
  yield from _model_lines(model, plan)
  yield (
    f"Windows: {len(windows):,} of {training_set.num_examples:,} questions, "
    f"{windows.num_without_answer:,} of them without the answer."
  )
  yield from training_set.skipped.lines()
  yield _lengths_line(windows.lengths)
  most = extractor.window_options.max_seq_length
  yield _padding_line(windows.lengths, batches, options, most)
  num_steps = options.num_train_steps(training_set.num_examples)
  steps = (num_steps, options.num_warmup_steps(num_steps))
  yield from _steps_lines(*steps, options, model, output_dir)
  rows = _rows_per_replica(options, plan)
  longest = np.resize(np.argsort(windows.lengths)[::-1], rows)
  batch = windows.batch(longest, batches.padded_length(longest[:1]))
  loss_fn = window_loss_fn(extractor.preprocessor, extractor.make_loss(options))
  yield from memory_lines(model, loss_fn, batch, options, plan)


def pretraining_lines(job, text, plan):
  """Yields lines of text on what `PretrainingJob.train(text)` would do."""
  run, options = job.run, job.run.options
  batches = job.input.training_batches(text, options.train_batch_size)
  yield from _model_lines(job.model, plan)
  kind = "record files" if are_records(text) else "sources"
  yield (
    f"Text: {len(text):,} {kind}; sequences of {run.max_seq_length} WordPieces "
    f"with up to {run.masking.max_predictions} masked."
  )
  lengths = sample_lengths(batches)
  yield f"{_lengths_line(lengths)} (the first {len(lengths):,} sequences)"
  steps = (options.num_train_steps, options.num_warmup_steps)
  yield from _steps_lines(*steps, options, job.model, run.output_dir)
  rows = _rows_per_replica(options, plan)
  first = next(iter(batches.dataset(0)))  # All batches have one length.
  batch = with_batch_weights({name: x[:rows] for name, x in first.items()})
  loss_fn = pretraining_loss_fn(options.sbo_weight)
  yield from memory_lines(job.model, loss_fn, batch, options, plan)


def memory_lines(model, loss_fn, batch, options, plan):
  """Yields lines on the memory of a step with a device's largest batch."""
  if not plan.is_local:
    yield "Memory: not measured, there is no such device on this machine."
    return
  execution, peak = options.execution, None
  rows, length = batch["input_ids"].shape
  step = f"{rows} windows of {length} WordPieces in {execution.precision}"
  if execution.accumulate_steps > 1:
    step += f" --accumulate_steps={execution.accumulate_steps}"
  if execution.recompute:
    step += " --recompute"
  with (
    computing_in(model.backbone, execution.precision),
    recomputing_layers(model.backbone, execution.recompute),
    contextlib.suppress(tf.errors.ResourceExhaustedError),
  ):
    peak = measure_step(model, loss_fn, batch, options)
  if peak is not None:
    yield (
      f"Memory, measured: {_gigabytes(peak)} at the peak of one step on a "
      f"device, with {step}."
    )
  if peak is not None and peak <= plan.memory_bytes:
    yield "It fits."
  else:
    yield (
      f"It does not fit into {_gigabytes(plan.memory_bytes)}: {step}. Use a "
      "larger --accumulate_steps, --recompute or --precision=bfloat16, or "
      "lower --max_seq_length."
    )


def measure_step(model, loss_fn, batch, options):
  """Makes one step on this machine's device; returns its `peak_bytes`."""
  optimizer = BertAdamW(0.0)  # Changes no weight.
  variables = model.trainable_variables
  optimizer.build(variables)
  strategy = tf.distribute.get_strategy()
  # Of one length, as the batches of a training with a fixed length are.
  dataset = tf.data.Dataset.from_tensors(batch)
  compiles = compiles_steps(options.execution, strategy, dataset)
  step = TrainStep(
    model, variables, loss_fn, optimizer, options, jit_compile=compiles
  )
  counter = tf.Variable(0, dtype=tf.int64)
  StepRunner(strategy, step, counter, dataset).run(1)
  return peak_bytes()


def peak_bytes():
  """Peak bytes of TensorFlow on the GPU, or without one of the process."""
  if tf.config.list_physical_devices("GPU"):
    return tf.config.experimental.get_memory_info("GPU:0")["peak"]
  # Linux counts in KiB.
  return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _host_bytes():
  """Memory of the machine, or of the container."""
  limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
  for path in _CONTAINER_LIMITS:
    # ValueError: "max" is no limit.
    with contextlib.suppress(FileNotFoundError, ValueError):
      limits.append(int(pathlib.Path(path).read_text()))
  return min(limits)


def _rows_per_replica(options, plan):
  return -(-options.train_batch_size // plan.num_replicas)  # rounded up


def _model_lines(model, plan):
  size, backbone = plan.memory_bytes, model.backbone
  memory = f", {_gigabytes(size)} each" if size else ""
  yield f"Devices: {plan.description}{memory}."
  yield (
    f"Model: {model.count_params():,} parameters; {backbone.num_layers} "
    f"layers, hidden size {backbone.hidden_dim}, {backbone.num_heads} heads, "
    f"feed-forward size {backbone.intermediate_dim:,}, vocabulary "
    f"{encoder_config(backbone).vocabulary_size:,}."
  )


def _lengths_line(lengths):
  of = length_summary(lengths)
  levels = ", ".join(f"{p} % {of[f'p{p}']}" for p in PERCENTILES)
  mean, longest = of["mean"], of["max"]
  return f"Lengths: mean {mean:.1f} WordPieces, {levels}, longest {longest}."


def _padding_line(lengths, batches, options, most):
  """Returns the share of padding, in buckets and at max_seq_length."""

  def padding(padded):
    # The first epoch's batches may lack long windows.
    share = max(0.0, 1 - float(np.mean(lengths)) / padded)
    return f"{100 * share:.0f} % of it padding"

  to_most = f"to {most}: {padding(most)}"
  if options.length_bucket is None:
    return f"Padding: {to_most}."
  padded = batches.mean_padded_length()
  return (
    f"Padding: to multiples of {options.length_bucket}: {padded:.1f} "
    f"WordPieces a window, {padding(padded)}; "
    f"{to_most}, {most / padded:.1f} times as many WordPieces."
  )


def _steps_lines(num_steps, num_warmup_steps, options, model, output_dir):
  # Weights and the two averages of Adam, in float32.
  checkpoint = 3 * 4 * model.count_params()
  yield (
    f"Steps: {num_steps:,} of {options.train_batch_size} windows, "
    f"{num_warmup_steps:,} of them warm-up; a checkpoint of "
    f"{_gigabytes(checkpoint)} every {options.save_checkpoints_steps:,}."
  )
  if made := steps_made(output_dir):
    is_left = made < num_steps
    rest = "the run would continue there." if is_left else "nothing to train."
    yield f"{output_dir} holds a checkpoint of step {made:,}: {rest}"


def _gigabytes(size):
  return f"{size / 1e9:.2f} GB" if size < 1e10 else f"{size / 1e9:.1f} GB"
