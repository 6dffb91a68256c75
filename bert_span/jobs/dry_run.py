"""Reports the steps and the memory of a training that is not carried out.

Everything before the first step is done, so what would stop the training stops
the dry run, too. The memory is measured in one step with the longest windows.
"""

import contextlib

import numpy as np
import tensorflow as tf

from bert_span.modeling.encoder_modes import computing_in, recomputing_layers
from bert_span.pretraining.loss import pretraining_loss_fn, with_batch_weights
from bert_span.storage.process_memory import process_peak_bytes
from bert_span.training.checkpoints import steps_made
from bert_span.training.fine_tuner import batches_of, window_loss_fn
from bert_span.training.optimizer import BertAdamW
from bert_span.training.options import MULTI_WORKER, ONE_DEVICE, TPU
from bert_span.training.step import TrainStep
from bert_span.training.step_runner import StepRunner, compiles_steps
from bert_span.training.strategy import choose_strategy, named_workers


def fine_tuning_lines(extractor, training_set, options):
  """Yields lines of text on what run_squad would do with its windows."""
  windows = training_set.windows
  yield (
    f"Windows: {len(windows):,} of {training_set.num_examples:,} questions, "
    f"{windows.num_without_answer:,} of them without the answer."
  )
  yield from training_set.skipped.lines()
  num_steps = options.num_train_steps(training_set.num_examples)
  num_warmup_steps = options.num_warmup_steps(num_steps)
  yield from _step_lines(
    num_steps, num_warmup_steps, options, options.output_dir
  )
  batches = batches_of(extractor, training_set, options)
  num_rows = max(options.train_batch_size // num_replicas(options), 1)
  longest = np.resize(np.argsort(windows.lengths)[::-1], num_rows)
  batch = windows.batch(longest, batches.padded_length(longest[:1]))
  loss_fn = window_loss_fn(extractor.preprocessor, extractor.make_loss(options))
  yield memory_line(extractor, loss_fn, batch, options, options)


def pretraining_lines(job, text):
  """Yields lines of text on what `PretrainingJob.train(text)` would do."""
  options = job.options
  steps = options.num_train_steps, options.num_warmup_steps
  yield from _step_lines(*steps, options, options.output_dir)
  num_rows = max(options.train_batch_size // num_replicas(options), 1)
  batches = job.input.training_batches(text, options.train_batch_size)
  first = next(iter(batches.dataset(0)))  # All batches have one length.
  batch = with_batch_weights({name: x[:num_rows] for name, x in first.items()})
  loss_fn = pretraining_loss_fn(options.sbo_weight)
  yield memory_line(job.model, loss_fn, batch, options, options)


def num_replicas(devices):
  """Returns how many devices would share a batch, without connecting to any."""
  gpus = tf.config.list_physical_devices("GPU")
  strategy = choose_strategy(devices, len(gpus))
  if strategy == TPU:
    return devices.num_tpu_cores or 8
  if strategy == ONE_DEVICE:
    return 1
  # Other workers are assumed to have the devices of this machine.
  workers = named_workers() if strategy == MULTI_WORKER else 1
  return workers * (devices.num_devices or max(len(gpus), 1))


def memory_line(model, loss_fn, batch, options, devices):
  """Returns a line on the memory of a step with the batch of one device."""
  if devices.is_tpu:
    return "Memory: not measured, there is no TPU on this machine."
  execution, peak = options.execution, None
  # Batches of pre-training have the names of the original's records.
  ids = "token_ids" if "token_ids" in batch else "input_ids"
  rows, length = batch[ids].shape
  step = f"{rows} windows of {length} WordPieces in {execution.precision}"
  with (
    computing_in(model.backbone, execution.precision),
    recomputing_layers(model.backbone, execution.recompute),
    contextlib.suppress(tf.errors.ResourceExhaustedError),
  ):
    peak = measure_step(model, loss_fn, batch, options)
  if peak is None:
    return (
      f"Memory: this device is too small for a step of {step}. Use a larger "
      "accumulate_steps, recompute or precision=bfloat16, or lower "
      "max_seq_length."
    )
  return f"Memory: {peak / 1e9:.2f} GB at the peak of a step of {step}."


def measure_step(model, loss_fn, batch, options):
  """Makes one step on this machine's device; returns the `peak_bytes`."""
  optimizer = BertAdamW(0.0)  # Changes no weight.
  variables = model.trainable_variables
  optimizer.build(variables)
  strategy = tf.distribute.get_strategy()
  # The one batch has one length, as all have in a training of fixed length.
  dataset = tf.data.Dataset.from_tensors(batch)
  compiles = compiles_steps(options.execution, strategy, dataset)
  step = TrainStep(
    model, variables, loss_fn, optimizer, options, jit_compile=compiles
  )
  counter = tf.Variable(0, dtype=tf.int64)
  StepRunner(strategy, step, counter, dataset).run(1)
  return peak_bytes()


def peak_bytes():
  """Returns TensorFlow's peak bytes on the GPU; without one the process's."""
  if tf.config.list_physical_devices("GPU"):
    return tf.config.experimental.get_memory_info("GPU:0")["peak"]
  return process_peak_bytes()


def _step_lines(num_steps, num_warmup_steps, options, output_dir):
  yield (
    f"Steps: {num_steps:,} of {options.train_batch_size} windows, "
    f"{num_warmup_steps:,} of them warm-up; a checkpoint every "
    f"{options.save_checkpoints_steps:,}."
  )
  if made := steps_made(output_dir):
    is_left = made < num_steps
    rest = "the run would continue there." if is_left else "nothing to train."
    yield f"{output_dir} holds a checkpoint of step {made:,}: {rest}"
