"""What a training would do, found out without training.

Everything is read and made that comes before the first step, so that what
would stop a training stops the dry run, with the same message.
"""

import dataclasses

import numpy as np

from bert_span.fine_tuning.fine_tuner import batches_of
from bert_span.pretraining.pretrainer import sample_lengths
from bert_span.squad.lint.length_summary import PERCENTILES, length_summary
from bert_span.training.devices.memory_estimate import (
  ModelSizes,
  StepOptions,
  estimate_memory,
)
from bert_span.training.devices.memory_fit import largest_batch, ways_to_fit
from bert_span.training.devices.plan import plan_devices
from bert_span.training.run.checkpoints import steps_made

_ADAM_AVERAGES = 2
_FLOAT_BYTES = 4


def planned_devices(devices, execution, memory_gb=None):
  """The `DevicePlan` of a training.

  Args:
    devices: `StrategyOptions`.
    execution: `ExecutionOptions`.
    memory_gb: memory of a device in GB (10^9 bytes); None for that of this
      machine's.
  """
  plan = plan_devices(devices, execution)
  if memory_gb:
    plan = plan._replace(memory_bytes=int(memory_gb * 1e9))
  return plan


def fine_tuning_lines(job, source, plan):
  """Tells what `SquadJob.train` would do.

  Args:
    job: `SquadJob`.
    source: what its `train` takes.
    plan: `DevicePlan`, what would train.

  Yields:
    Lines of text.
  """
  extractor, training_set, _ = job.training_inputs(source)
  options, windows = job.fine_tuning_options, training_set.windows
  batches = batches_of(extractor, training_set, options)
  num_steps = options.num_train_steps(training_set.num_examples)
  num_warmup_steps = options.num_warmup_steps(num_steps)
  sizes = model_sizes(extractor.model)
  yield from _model_lines(sizes, plan)
  yield (
    f"Windows: {len(windows):,} of {training_set.num_examples:,} questions, "
    f"{windows.num_without_answer:,} of them without an answer."
  )
  yield from training_set.skipped.lines()
  yield _lengths_line(windows.lengths)
  yield _padding_line(windows.lengths, batches, options, job.window_options)
  yield from _steps_lines(
    num_steps, num_warmup_steps, options, sizes, job.output_dir
  )
  longest = batches.padded_length(np.argmax(windows.lengths)[np.newaxis])
  yield from memory_lines(sizes, options, longest, plan)


def pretraining_lines(job, text, plan):
  """Tells what `PretrainingJob.train` would do.

  Args:
    job: `PretrainingJob`.
    text: `TextInput`.
    plan: `DevicePlan`, what would train.

  Yields:
    Lines of text.
  """
  options = job.options
  objectives = 2 if options.span_boundary else 1
  sizes = dataclasses.replace(
    model_sizes(job.model),
    vocabulary_targets=objectives * job.masking.max_predictions,
  )
  yield from _model_lines(sizes, plan)
  yield (
    f"Text: {len(text.sources):,} "
    f"{'record files' if text.are_records else 'sources'}; sequences of "
    f"{job.max_seq_length} WordPieces with up to "
    f"{job.masking.max_predictions} masked."
  )
  lengths = sample_lengths(job.training_batches(text))
  yield f"{_lengths_line(lengths)} (the first {len(lengths):,} sequences)"
  yield from _steps_lines(
    options.num_train_steps,
    options.num_warmup_steps,
    options,
    sizes,
    job.output_dir,
  )
  yield from memory_lines(sizes, options, job.max_seq_length, plan)


def model_sizes(model):
  """The `ModelSizes` of a built model with a `backbone`."""
  backbone = model.backbone
  return ModelSizes(
    num_layers=backbone.num_layers,
    hidden_dim=backbone.hidden_dim,
    num_heads=backbone.num_heads,
    intermediate_dim=backbone.intermediate_dim,
    vocabulary_size=backbone.vocabulary_size,
    num_parameters=model.count_params(),
  )


def memory_lines(sizes, options, seq_length, plan):
  """Tells what memory a training takes and what would fit.

  Args:
    sizes: `ModelSizes`.
    options: `FineTuningOptions` or `PretrainingOptions`.
    seq_length: WordPieces of the longest batch, padding included.
    plan: `DevicePlan`, what would train.

  Yields:
    Lines of text.
  """
  step = StepOptions(
    # Rounded up.
    batch_size=-(-options.train_batch_size // plan.num_replicas),
    seq_length=seq_length,
    precision=options.execution.precision,
    accumulate_steps=options.execution.accumulate_steps,
    recompute=options.execution.recompute,
  )
  estimate = estimate_memory(sizes, step, plan.program_bytes)
  parts = ", ".join(
    f"{name} {_gigabytes(size)}"
    for name, size in dataclasses.asdict(estimate).items()
    if size
  )
  yield (
    f"Memory, estimated: {_gigabytes(estimate.total)} on each device for "
    f"{_step_text(step)}: {parts}."
  )
  if plan.memory_bytes is None:
    yield "Nobody tells the device's memory: give --memory_gb."
    return
  yield from _fit_lines(sizes, step, plan)


def _model_lines(sizes, plan):
  memory = ""
  if plan.memory_bytes:
    memory = f", {_gigabytes(plan.memory_bytes)} each"
  yield f"Devices: {plan.description}{memory}."
  yield (
    f"Model: {sizes.num_parameters:,} parameters; {sizes.num_layers} layers, "
    f"hidden size {sizes.hidden_dim}, {sizes.num_heads} heads, feed-forward "
    f"size {sizes.intermediate_dim:,}, vocabulary {sizes.vocabulary_size:,}."
  )


def _lengths_line(lengths):
  summary = length_summary(lengths)
  levels = ", ".join(f"{p} % {summary[f'p{p}']}" for p in PERCENTILES)
  return (
    f"Lengths: mean {summary['mean']:.1f} WordPieces, {levels}, longest "
    f"{summary['max']}."
  )


def _padding_line(lengths, batches, options, window_options):
  """What padding costs, in buckets and without."""
  mean, most = float(np.mean(lengths)), window_options.max_seq_length
  to_most = f"to {most}: {_padding(mean, most)}"
  if options.length_bucket is None:
    return f"Padding: {to_most}."
  padded = batches.mean_padded_length()
  return (
    f"Padding: to multiples of {options.length_bucket}: {padded:.1f} "
    f"WordPieces a window, {_padding(mean, padded)}; "
    f"{to_most}, {most / padded:.1f} times as many WordPieces."
  )


def _steps_lines(num_steps, num_warmup_steps, options, sizes, output_dir):
  checkpoint = (1 + _ADAM_AVERAGES) * _FLOAT_BYTES * sizes.num_parameters
  yield (
    f"Steps: {num_steps:,} of {options.train_batch_size} windows, "
    f"{num_warmup_steps:,} of them warm-up; a checkpoint of "
    f"{_gigabytes(checkpoint)} every {options.save_checkpoints_steps:,}."
  )
  made = steps_made(output_dir)
  if made:
    yield (
      f"{output_dir} holds a checkpoint of step {made:,}: "
      + ("nothing to train." if made >= num_steps else "it would go on there.")
    )


def _fit_lines(sizes, step, plan):
  """Whether it fits, the largest batch, and what to do."""
  memory = plan.memory_bytes, plan.program_bytes
  most = largest_batch(sizes, step, *memory)
  yield (
    f"Largest batch at this length in {_gigabytes(plan.memory_bytes)}: "
    f"{most:,} windows on each device"
    + (f", {_step_flags(step)}." if _step_flags(step) else ".")
  )
  if step.batch_size <= most:
    yield (
      "It fits: neither --accumulate_steps nor --recompute is needed."
      if (not _step_flags(step))
      else "It fits."
    )
    return
  ways = [_step_flags(way) for way in ways_to_fit(sizes, step, *memory)]
  if ways:
    yield f"It does not fit. It would with {'; or with '.join(ways)}."
  else:
    yield (
      "It does not fit, not even one window at a time: lower "
      "--max_seq_length, or take a smaller model or more memory."
    )


def _step_text(step):
  text = (
    f"{step.batch_size} windows of {step.seq_length} WordPieces in "
    f"{step.precision}"
  )
  return f"{text}, {_step_flags(step)}" if _step_flags(step) else text


def _step_flags(step):
  """The flags that save memory, as they are given; "" for none."""
  flags = []
  if step.accumulate_steps > 1:
    flags.append(f"--accumulate_steps={step.accumulate_steps}")
  if step.recompute:
    flags.append("--recompute")
  return " ".join(flags)


def _gigabytes(size):
  return f"{size / 1e9:.2f} GB" if size < 1e10 else f"{size / 1e9:.1f} GB"


def _padding(mean, padded):
  """The share of padding; the first epoch's batches may lack long windows."""
  return f"{100 * max(0.0, 1 - mean / padded):.0f} % of it padding"
