r"""Peak memory of answering a question about long documents.

  python -m benchmarks.long_document_memory
  python -m benchmarks.long_document_memory --preset=all-minilm-l6-v2 \
    --characters=10000,100000

Prints one JSON line a length, in ascending order: the passage's characters, its
windows, the process's peak memory before (after a first short question) and
after it in MB, and the difference in bytes a character. The passage is of
Chinese characters, each a WordPiece of its own: the most windows that a
passage of that length can give.
"""

import json
import resource
import time

from absl import flags

from bert_span import programs

_PRESET = flags.DEFINE_string(
  "preset",
  None,
  "Encoder, as in run_squad, on which a random span head is put; without it a "
  "random encoder of one layer and 16 units.",
)
_CHARACTERS = flags.DEFINE_list(
  "characters",
  ["10000", "100000", "1000000"],
  "Lengths of the passage in characters, ascending.",
)
_QUESTIONS = flags.DEFINE_integer(
  "questions", 1, "Questions asked about the same passage.", lower_bound=1
)


def main(argv):
  """Asks about one length after the other and prints what it took."""
  programs.refuse_arguments(argv)
  lengths = _lengths()
  from benchmarks.random_extractor import random_extractor

  extractor = random_extractor(_PRESET.value)
  _ask(extractor, characters=100, questions=1)  # loads and traces everything
  for characters in lengths:
    before, begin = _peak_bytes(), time.monotonic()
    windows = _ask(extractor, characters, _QUESTIONS.value)
    after = _peak_bytes()
    row = {
      "characters": characters,
      "questions": _QUESTIONS.value,
      "windows": windows,
      "peak_before_mb": round(before / 1e6),
      "peak_mb": round(after / 1e6),
      "bytes_a_character": round((after - before) / characters),
      "seconds": round(time.monotonic() - begin, 1),
    }
    print(json.dumps(row), flush=True)


def run():
  """Entry point."""
  programs.run_program(main)


def _lengths():
  programs.check(
    _CHARACTERS.value and all(map(str.isdecimal, _CHARACTERS.value)),
    "--characters must list whole numbers, as in 10000,100000.",
  )
  lengths = [int(length) for length in _CHARACTERS.value]
  programs.check(
    lengths == sorted(lengths),
    "--characters must be ascending: a peak does not go down.",
  )
  return lengths


def _ask(extractor, characters, questions):
  """Answers questions about a passage; returns how many windows it had."""
  from benchmarks.random_extractor import QUESTION, passage_of
  from bert_span import SquadExample

  passage = passage_of(characters)
  examples = [SquadExample(str(i), QUESTION, passage) for i in range(questions)]
  windows = []
  for prediction in extractor.predict(
    examples, on_logits=lambda logits: windows.append(len(logits.start_logits))
  ):
    start, end = prediction.char_start, prediction.char_end
    if prediction.text != passage[start:end]:
      raise ValueError(f"{prediction} is not the passage's text.")
  return sum(windows)


def _peak_bytes():
  """Peak resident memory of this process; Linux counts it in KiB."""
  return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
  run()
