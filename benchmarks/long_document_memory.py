r"""Peak memory of answering a question about long documents.

  python -m benchmarks.long_document_memory
  python -m benchmarks.long_document_memory --preset=all-minilm-l6-v2 \
    --characters=10000,100000

Prints one JSON line for each length: characters and windows of the passage,
the process's memory before and its peak in MB, the difference in bytes per
character, and the peak if the logits of all windows are returned, too. Each
Chinese character of the passage is a WordPiece, so no passage of that length
has more windows. Needs Linux, which reports the peaks in /proc.
"""

import json
import time

from absl import flags

from benchmarks.inputs import random_head_flag, whole_numbers
from bert_span.cli import program

_PRESET = random_head_flag()
_CHARACTERS = flags.DEFINE_list(
  "characters",
  ["10000", "100000", "1000000"],
  "Lengths of the passage in characters, ascending.",
)
_QUESTIONS = flags.DEFINE_integer(
  "questions", 1, "Questions asked about the same passage.", lower_bound=1
)


def main(argv):
  """Measures one length after the other."""
  lengths = whole_numbers(_CHARACTERS)
  program.check(
    lengths == sorted(lengths),
    "--characters must be ascending, since memory is not given back.",
  )
  from benchmarks.random_models import random_extractor

  extractor = random_extractor(_PRESET.value)
  _measure(extractor, 100, 1)  # Loads and traces everything.
  for characters in lengths:
    found = _measure(extractor, characters, _QUESTIONS.value)
    print(json.dumps(found), flush=True)


def _measure(extractor, characters, questions):
  """Answers questions about a passage; returns the dict to print."""
  from benchmarks.random_models import questions_about

  examples = questions_about(characters, questions)
  passage, windows = examples[0].context, []

  def count(logits):
    windows.append(len(logits.windows["example_index"]))

  begin, before = time.monotonic(), _memory("VmRSS")
  _forget_peak()
  _check(extractor.predict(examples), passage)
  seconds, peak = time.monotonic() - begin, _memory("VmHWM")
  _forget_peak()
  _check(extractor.predict(examples, on_logits=count), passage)
  return {
    "characters": characters,
    "questions": questions,
    "windows": sum(windows),
    "before_mb": round(before / 1e6),
    "peak_mb": round(peak / 1e6),
    "peak_with_logits_mb": round(_memory("VmHWM") / 1e6),
    "bytes_a_character": round((peak - before) / characters),
    "seconds": round(seconds, 1),
  }


def _check(predictions, passage):
  for prediction in predictions:
    start, end = prediction.char_start, prediction.char_end
    if prediction.text != passage[start:end]:
      raise ValueError(f"{prediction} is not the passage's text.")


def _forget_peak():
  """Resets this process's peak memory to its current memory."""
  with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
    file.write("5")


def _memory(field):
  """Bytes of a field of /proc/self/status, which has KiB."""
  with open("/proc/self/status", encoding="ascii") as file:
    line = next(line for line in file if line.startswith(field))
  return 1024 * int(line.split()[1])


if __name__ == "__main__":
  program.run_program(main)
