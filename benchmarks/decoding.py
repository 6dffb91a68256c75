r"""Logits to prediction files: questions per second, against sorted lists.

  python -m benchmarks.decoding --data_file=dev.json

Both sides decode the windows of the file with the same random logits with
peaks. They write predictions.json, nbest_predictions.json and, for SQuAD 2.0,
null_odds.json. They run in one process, in turns. The program fails if their
answers are not the same spans. The texts may differ where run_squad cannot
align WordPieces with words.
"""

import functools
import json
import os
import statistics
import tempfile

import numpy as np
from absl import flags

from benchmarks import inputs, repetitions
from benchmarks.machine import describe_machine
from benchmarks.tables import print_head, print_row
from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import define_flags
from bert_span.text.options import WindowOptions

_DATA_FILE = inputs.data_file_flag()
_PRESET = inputs.vocabulary_flag()
_QUESTIONS = flags.DEFINE_integer(
  "questions", 2000, "Maximum number of questions.", lower_bound=1
)
_REPETITIONS = flags.DEFINE_integer(
  "repetitions", 5, "Measurements of each side.", lower_bound=1
)
_WARM_UP = flags.DEFINE_integer(
  "warm_up", 1, "Rounds to warm up.", lower_bound=1
)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the logits.")
define_flags(WindowOptions)


def main(argv):
  """Measures both sides with and without "no answer"."""
  vocabulary = inputs.vocabulary_of(_PRESET.value)
  parts = _logits(vocabulary)
  count = sum(len(part.examples) for part in parts)
  windows = sum(len(part.windows["example_index"]) for part in parts)
  print(describe_machine("tensorflow"))
  print(f"{count} questions, {windows} windows")
  print_head(
    *("SQuAD", "side", "questions/s", "lowest to highest", "ratio"),
    text=("SQuAD", "side", "lowest to highest"),
  )
  for name, version_2 in (("1.1", False), ("2.0", True)):
    seconds = _take_turns(parts, vocabulary, version_2)
    slow = statistics.median(seconds["loops"])
    for side, values in seconds.items():
      median = statistics.median(values)
      spread = repetitions.spread(repetitions.rate_summary(count, values))
      ratio = f"{slow / median:.1f}"
      print_row(name, side, f"{count / median:,.0f}", spread, ratio)


def _take_turns(parts, vocabulary, version_2):
  """Times both sides in turns; returns a dict from side to seconds."""
  from bert_span.heads.span import SPAN_HEAD

  from benchmarks.slow_decoder import decode_slowly
  from bert_span.answers.decoding.options import DecoderOptions
  from bert_span.answers.prediction_files import write_predictions
  from bert_span.answers.window_logits import WindowDecoder

  options = DecoderOptions(version_2_with_negative=version_2)
  decode = WindowDecoder(SPAN_HEAD, options)

  def bert_span(folder):
    predictions = [p for part in parts for p in decode(part)]
    write_predictions(folder, SPAN_HEAD, predictions, version_2)
    return predictions

  def loops(folder):
    decode_slowly(parts, vocabulary, options, folder)

  with (
    tempfile.TemporaryDirectory() as slow_folder,
    tempfile.TemporaryDirectory() as folder,
  ):
    works = {
      "loops": functools.partial(loops, slow_folder),
      "bert_span": functools.partial(bert_span, folder),
    }
    repetitions.seconds_in_turns(works, range(_WARM_UP.value))
    seconds = repetitions.seconds_in_turns(works, range(_REPETITIONS.value))
    _check_equal(slow_folder, parts, bert_span(folder))
  return seconds


def _check_equal(folder, parts, predictions):
  """Fails if the loops chose another answer than our predictions."""
  from bert_span.conformance_checks.comparison import is_text_of

  with open(os.path.join(folder, "predictions.json"), encoding="utf-8") as file:
    texts = json.load(file)
  examples = [example for part in parts for example in part.examples]
  for example, prediction in zip(examples, predictions, strict=True):
    text = texts[example.qas_id]
    if text != prediction.text and not is_text_of(
      text, example.context, prediction
    ):
      raise RuntimeError(
        f"Question {example.qas_id}: {text!r} by loops, {prediction.text!r} "
        "by bert_span."
      )


def _logits(vocabulary):
  """List of `WindowLogits` with random logits."""
  from bert_span.answers.window_logits import WindowLogits
  from bert_span.data.preprocessor import SpanPreprocessor
  from bert_span.data.window_batches import window_batches

  examples = inputs.read_examples(_DATA_FILE.value)[: _QUESTIONS.value]
  preprocessor = SpanPreprocessor(
    vocabulary, True, model_flags.window_options(), pad_to_max=True
  )
  rng = np.random.default_rng(_SEED.value)
  return [
    WindowLogits(
      batch,
      windows,
      {f"{end}_logits": _peaky(rng, windows) for end in ("start", "end")},
    )
    for batch, windows in window_batches(examples, preprocessor)
  ]


def _peaky(rng, windows):
  """Normal logits with one peak per window, float32 [windows, length]."""
  shape = windows["input_ids"].shape
  logits = rng.normal(0, 2, shape)
  lengths = windows["input_mask"].sum(axis=1)
  logits[np.arange(shape[0]), rng.integers(0, lengths)] += 8
  return logits.astype(np.float32)


if __name__ == "__main__":
  program.run_program(main)
