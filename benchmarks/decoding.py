r"""Logits to prediction files: questions per second, against nested loops.

  python -m benchmarks.decoding --data_file=dev.json

Smallest setting:
  python -m benchmarks.decoding --questions=8 --repetitions=1

Both sides decode the windows of the file with the same random logits with
peaks, in one process, in turns. `loops` tries all pairs of the best starts and
ends of a window, as run_squad does (tests/support/squad.py), and
writes nothing. `bert_span` also writes predictions.json, nbest_predictions.json
and, for SQuAD 2.0, null_odds.json. The program fails if their answers differ.
"""

import statistics
import tempfile

import numpy as np

from benchmarks import inputs, repetitions
from benchmarks.machine import describe_machine
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_DATA_FILE = inputs.data_file_flag()
_PRESET = inputs.vocabulary_flag()
_QUESTIONS = inputs.count_flag(
  "questions", 2000, "Maximum number of questions."
)
_REPETITIONS = inputs.count_flag("repetitions", 5, "Measurements of each side.")


def main(argv):
  """Measures both sides with and without "no answer"."""
  parts = _logits()
  count = sum(len(part.examples) for part in parts)
  windows = sum(len(part.windows["example_index"]) for part in parts)
  print(describe_machine("tensorflow"))
  print(f"{count} questions, {windows} windows")
  print_head(
    *("SQuAD", "side", "questions/s", "lowest to highest", "ratio"),
    text=("SQuAD", "side", "lowest to highest"),
  )
  for name, version_2 in (("1.1", False), ("2.0", True)):
    seconds = _take_turns(parts, version_2)
    slow = statistics.median(seconds["loops"])
    for side, values in seconds.items():
      median = statistics.median(values)
      spread = repetitions.spread(repetitions.rate_summary(count, values))
      ratio = f"{slow / median:.1f}"
      print_row(name, side, f"{count / median:,.0f}", spread, ratio)


def _logits():
  """Returns a list of `WindowLogits` with random logits."""
  from bert_span.answers.window_logits import WindowLogits
  from bert_span.data.preprocessor import SpanPreprocessor
  from bert_span.data.window_batches import window_batches

  examples = inputs.read_examples(_DATA_FILE.value)[: _QUESTIONS.value]
  vocabulary = inputs.vocabulary_of(_PRESET.value)
  preprocessor = SpanPreprocessor(vocabulary, pad_to_max=True)
  rng = np.random.default_rng(0)
  names = ("start_logits", "end_logits")
  return [
    WindowLogits(batch, windows, {name: _peaky(rng, windows) for name in names})
    for batch, windows in window_batches(examples, preprocessor)
  ]


def _peaky(rng, windows):
  """Returns normal logits with one peak per window, [windows, length]."""
  shape = windows["token_ids"].shape
  logits = rng.normal(0, 2, shape)
  lengths = windows["padding_mask"].sum(axis=1)
  logits[np.arange(shape[0]), rng.integers(0, lengths)] += 8
  return logits.astype(np.float32)


def _take_turns(parts, version_2):
  """Times both sides in turns; returns a dict from side to seconds."""
  from bert_span.answers.columns import SPAN_COLUMNS
  from bert_span.answers.decoding.options import DecoderOptions
  from bert_span.answers.prediction_files import write_predictions
  from bert_span.answers.window_logits import WindowDecoder
  from bert_span.extractors.span_extractor import SpanExtractor

  options = DecoderOptions(version_2_with_negative=version_2)
  decode = WindowDecoder(SpanExtractor, options)

  def bert_span():
    predictions = [p for part in parts for p in decode(part)]
    with tempfile.TemporaryDirectory() as folder:
      write_predictions(folder, SPAN_COLUMNS, predictions, version_2)
    return predictions

  def loops():
    return [answer for part in parts for answer in _loop(part, options)]

  for text, prediction in zip(loops(), bert_span(), strict=True):
    if text != prediction.answer.text:
      raise RuntimeError(
        f"Question {prediction.qas_id}: {text!r} by loops, "
        f"{prediction.answer.text!r} by bert_span."
      )
  return repetitions.seconds_in_turns(
    {"loops": loops, "bert_span": bert_span}, _REPETITIONS.value
  )


def _loop(part, options):
  """Yields the answer to each question of a `WindowLogits`."""
  from tests.support.squad import decode_by_loops

  for index, example in enumerate(part.examples):
    rows = part.windows["example_index"] == index
    spans, null_odds = decode_by_loops(
      example.context,
      {name: values[rows] for name, values in part.windows.items()},
      part.logits["start_logits"][rows],
      part.logits["end_logits"][rows],
      options,
    )
    is_null = options.version_2_with_negative and null_odds > 0
    yield spans[0][0] if spans and not is_null else ""


if __name__ == "__main__":
  program.run_program(main)
