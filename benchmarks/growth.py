r"""Time and peak memory against the number of questions and their length.

  python -m benchmarks.growth
  python -m benchmarks.growth --questions= --characters=10000,1000000

Smallest setting:
  python -m benchmarks.growth --questions=2 --characters= --repetitions=1

Each case runs in its own process after one question to warm up: a number of
questions about a passage of 1,000 characters, or one question about a passage
of a number of characters. Prints the median and the spread of seconds,
microseconds per character, and the peak memory of the process before and after.
If time is linear, the microseconds are constant; if memory is flat, so is the
peak, except for passages and answers. Each Chinese character of a passage is a
WordPiece, so no passage of that length has more windows.
"""

import json
import statistics

from absl import flags

from benchmarks import repetitions
from benchmarks.inputs import count_flag, random_head_flag, whole_numbers
from benchmarks.machine import describe_machine
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_PRESET = random_head_flag()
_QUESTIONS = flags.DEFINE_list(
  "questions", ["1000", "10000", "100000"], "Numbers of questions to measure."
)
_CHARACTERS = flags.DEFINE_list(
  "characters",
  ["1000", "10000", "100000", "1000000"],
  "Lengths of a passage to measure, in characters.",
)
_REPETITIONS = count_flag("repetitions", 3, "Measurements of each case.")
_CASE = flags.DEFINE_string(
  "case", None, "One case to measure: questions,characters."
)
_PASSAGE_CHARACTERS = 1000


def main(argv):
  """Measures each case in its own process, or the one of --case."""
  if _CASE.value:
    print(json.dumps(_measure(*map(int, _CASE.value.split(",")))))
    return
  cases = [(n, _PASSAGE_CHARACTERS) for n in whole_numbers(_QUESTIONS)]
  cases += [(1, n) for n in whole_numbers(_CHARACTERS)]
  print(describe_machine("tensorflow"))
  print_head(
    *("questions", "characters", "windows", "seconds", "lowest to highest"),
    *("microseconds per character", "MB before", "MB at the peak"),
    text=("lowest to highest",),
  )
  for questions, characters in cases:
    result = repetitions.measured_apart(
      "benchmarks.growth", f"{questions},{characters}"
    )
    seconds = statistics.median(result["seconds"])
    low, high = min(result["seconds"]), max(result["seconds"])
    print_row(
      *(f"{questions:,}", f"{characters:,}", f"{result['windows']:,}"),
      *(f"{seconds:,.2f}", f"{low:,.2f} to {high:,.2f}"),
      f"{1e6 * seconds / (questions * characters):.1f}",
      *(f"{result['before_mb']:,}", f"{result['peak_mb']:,}"),
    )


def _measure(questions, characters):
  """Answers the questions of a case; returns the dict to print."""
  from benchmarks.random_models import questions_about, random_extractor
  from bert_span.jobs.dry_run import peak_bytes

  extractor = random_extractor(_PRESET.value)

  def ask(examples):
    for _ in extractor.predictions(examples):
      pass  # Keeps no answers.

  ask(questions_about(_PASSAGE_CHARACTERS, 1))  # Loads and traces everything.
  before = peak_bytes()
  examples = questions_about(characters, questions)
  seconds, _ = repetitions.repeated_seconds(
    lambda: ask(examples), _REPETITIONS.value, warm_up=0
  )
  peak = peak_bytes()
  windows = extractor.preprocessor(
    {"question": [examples[0].question], "context": [examples[0].context]}
  )
  return {
    "seconds": seconds,
    "windows": questions * len(windows["token_ids"]),
    "before_mb": round(before / 1e6),
    "peak_mb": round(peak / 1e6),
  }


if __name__ == "__main__":
  program.run_program(main)
