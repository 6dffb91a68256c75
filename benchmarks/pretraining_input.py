r"""Masked sequences per second: the input pipeline, masking alone, and a model.

  python -m benchmarks.pretraining_input --input_file='text/*.txt'
  python -m benchmarks.pretraining_input --input_file=... --max_seq_length=512

Smallest setting:
  python -m benchmarks.pretraining_input --input_file=README.md \
    --preset=minilm_squad --max_seq_length=16 --train_batch_size=2 --batches=2 \
    --updates=1 --repetitions=1

`input`: files to masked batches by the pipeline of run_pretraining, including
tokenizer, packing and masking. `model`: updates of --preset on batches in
memory. They run one after the other with all cores. If `input` is much faster,
the model does not wait for text. `masking`: full sequences of random
WordPieces, by processor time, so per core.
"""

import tempfile
import time

import numpy as np
from absl import flags

from benchmarks.inputs import count_flag
from benchmarks.machine import describe_machine
from benchmarks.repetitions import rate_summary, repeated_seconds, spread
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_INPUT_FILE = flags.DEFINE_string(
  "input_file",
  None,
  "Text, one sentence a line; paths and globs.",
  required=True,
)
_PRESET = flags.DEFINE_string("preset", "minilm_squad", "Model to update.")
_MAX_SEQ_LENGTH = flags.DEFINE_integer(
  "max_seq_length", 128, "WordPieces of a sequence.", lower_bound=8
)
_BATCH_SIZE = count_flag("train_batch_size", 32, "Sequences per batch.")
_BATCHES = count_flag(
  "batches", 100, "Batches per measurement of input and masking."
)
_UPDATES = count_flag("updates", 5, "Updates per measurement of the model.")
_REPETITIONS = count_flag("repetitions", 5, "Measurements of each side.")


def main(argv):
  """Measures all sides."""
  with tempfile.TemporaryDirectory() as folder:
    job, dataset = _job_and_dataset(folder)

    def read():
      for _ in dataset.take(_BATCHES.value):
        pass

    batches = dataset.take(_UPDATES.value).cache().repeat()
    runner = _runner(job, batches)

    def train():
      for _ in range(_UPDATES.value):
        runner.run(1)

    seconds = {
      "input": repeated_seconds(read, _REPETITIONS.value)[0],
      "model": repeated_seconds(train, _REPETITIONS.value)[0],
      "masking": _masking_seconds(job.input),
    }
  print(describe_machine("tensorflow"))
  columns = ("side", "sequences/s", "lowest to highest", "ratio")
  print_head(*columns, text=columns[::2])
  rates = {}
  for name, values in seconds.items():
    batches = _UPDATES.value if name == "model" else _BATCHES.value
    rates[name] = rate_summary(batches * _BATCH_SIZE.value, values)
  for name, rate in rates.items():
    ratio = f"{rate['median'] / rates['model']['median']:.1f}"
    print_row(name, f"{rate['median']:,.1f}", spread(rate, 1), ratio)


def _masking_seconds(pretraining_input):
  """Returns processor seconds of --batches batches, for each repetition."""
  num_tokens = _MAX_SEQ_LENGTH.value - 2
  num_words = len(pretraining_input.vocabulary)
  texts = np.random.default_rng(0).integers(
    min(999, num_words // 2),  # above the special tokens
    num_words,
    (_BATCH_SIZE.value, num_tokens),
    np.int32,
  )
  seconds = []
  for _ in range(_REPETITIONS.value):
    begin = time.process_time()
    for epoch in range(_BATCHES.value):
      pretraining_input.arrays(
        [
          pretraining_input.mask(text, epoch, number)
          for number, text in enumerate(texts)
        ]
      )
    seconds.append(time.process_time() - begin)
  return seconds


def _job_and_dataset(folder):
  """Returns a `PretrainingJob` and the dataset of its batches."""
  from bert_span.jobs.run_pretraining import PretrainingJob
  from bert_span.pretraining.text_sources import find_sources
  from bert_span.run_pretraining import RunPretrainingOptions

  options = RunPretrainingOptions(
    do_train=True,
    output_dir=folder,
    input_file=_INPUT_FILE.value,
    preset=_PRESET.value,
    max_seq_length=_MAX_SEQ_LENGTH.value,
    train_batch_size=_BATCH_SIZE.value,
  )
  job, text = PretrainingJob(options), find_sources(options)
  return job, job.input.training_batches(text, _BATCH_SIZE.value).dataset(0)


def _runner(job, batches):
  """Returns the `StepRunner` of the job's model and of batches in memory."""
  import tensorflow as tf

  from bert_span.pretraining.loss import pretraining_loss_fn, with_batch_weights
  from bert_span.training.optimizer import BertAdamW
  from bert_span.training.options import TrainOptions
  from bert_span.training.step import TrainStep
  from bert_span.training.step_runner import StepRunner

  optimizer, variables = BertAdamW(1e-4), job.model.trainable_variables
  optimizer.build(variables)
  options = TrainOptions(train_batch_size=_BATCH_SIZE.value)
  loss_fn = pretraining_loss_fn(1.0)
  step = TrainStep(job.model, variables, loss_fn, optimizer, options)
  counter = tf.Variable(0, dtype=tf.int64)
  strategy = tf.distribute.get_strategy()
  return StepRunner(strategy, step, counter, batches.map(with_batch_weights))


if __name__ == "__main__":
  program.run_program(main)
