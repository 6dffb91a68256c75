r"""Trains both heads on answers of several spans and compares them.

  python -m benchmarks.bio_head --data=multispanqa_part.json --work_dir=DIR \
    [--preset=MODEL] [--num_held_out=90] [--heads=span,bio] [--bio_flags=...]

The last questions of the file are held out. Each head is trained on the others
with flags/bio_multispan.flags and answers the held-out ones. Its answers are
scored as sets of spans. Prints one line for each head.
"""

import json
import pathlib

from absl import flags

from benchmarks.inputs import read_json
from benchmarks.repetitions import run_module
from bert_span.cli import program
from bert_span.jobs.evaluate import score_files

_DATA = flags.DEFINE_string("data", None, "MultiSpanQA file.", required=True)
_WORK_DIR = flags.DEFINE_string(
  "work_dir", None, "Folder for all outputs.", required=True
)
_PRESET = flags.DEFINE_string(
  "preset", "all-minilm-l6-v2", "Model to start from."
)
_NUM_HELD_OUT = flags.DEFINE_integer(
  "num_held_out", 90, "Questions to score, not trained on.", lower_bound=1
)
_HEADS = flags.DEFINE_list("heads", ["span", "bio"], "Heads to train.")
_BIO_FLAGS = flags.DEFINE_string(
  "bio_flags", "", "More flags of run_squad, separated by blanks."
)


def main(argv):
  """Splits the file, trains and scores each head."""
  work_dir = pathlib.Path(_WORK_DIR.value)
  work_dir.mkdir(parents=True, exist_ok=True)
  train_file, held_out_file = _split(work_dir)
  for head in _HEADS.value:
    output_dir = work_dir / head
    _run(head, train_file, held_out_file, output_dir)
    # The span head has one answer per question, so its set has one span.
    name = "span_predictions" if head == "bio" else "predictions"
    scores = score_files(
      str(held_out_file), str(output_dir / f"{name}.json"), multi_span=True
    )
    figures = ", ".join(f"{key} {value:.2f}" for key, value in scores.items())
    print(f"{head} head from {_PRESET.value}: {figures}", flush=True)


def _split(work_dir):
  """Writes the training and the held-out questions."""
  content = read_json(pathlib.Path(_DATA.value))
  records = content["data"]
  parts = {
    "train.json": records[: -_NUM_HELD_OUT.value],
    "held_out.json": records[-_NUM_HELD_OUT.value :],
  }
  for name, part in parts.items():
    text = json.dumps({**content, "data": part})
    (work_dir / name).write_text(text, encoding="utf-8")
  return tuple(work_dir / name for name in parts)


def _run(head, train_file, held_out_file, output_dir):
  recipe = pathlib.Path(__file__).parent.parent / "flags/bio_multispan.flags"
  run_module(
    *("bert_span.run_squad", f"--flagfile={recipe}"),
    f"--preset={_PRESET.value}",
    f"--head={head}",
    f"--train_file={train_file}",
    f"--predict_file={held_out_file}",
    f"--output_dir={output_dir}",
    *_BIO_FLAGS.value.split(),
  )


if __name__ == "__main__":
  program.run_program(main)
