r"""Compares settings of run_squad on the same questions with the same seeds.

  python -m benchmarks.recipe_comparison --data=DATA --work_dir=DIR \
    --change='' --change=--learning_rate=1e-4 --change='--layer_decay=0.9'

DATA is the folder of benchmarks.minilm_squad.data. Each change is added to
--fine_tuning_flags; the empty one is the recipe without a change. All models
train on the same questions drawn from train.json, and are scored on questions
drawn from select.json. Prints the mean and deviation of EM and F1 over the
seeds, and F1 with the null threshold that is best on these questions. An
interrupted comparison continues. --answers and --first_kind change the
questions themselves; they need a --work_dir of their own.
"""

import json
import pathlib
import random
import re
import statistics

from absl import flags

from benchmarks.inputs import draw_questions, read_json
from benchmarks.repetitions import run_module
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_DATA = flags.DEFINE_string(
  "data", None, "Folder with train.json and select.json.", required=True
)
_WORK_DIR = flags.DEFINE_string(
  "work_dir", None, "Folder for all outputs.", required=True
)
_CHANGES = flags.DEFINE_multi_string(
  "change", [""], "Flags of run_squad, separated by blanks; repeatable."
)
_NUM_TRAIN_QUESTIONS = flags.DEFINE_integer(
  "num_train_questions", 4800, "Questions to train on.", lower_bound=1
)
_NUM_QUESTIONS = flags.DEFINE_integer(
  "num_questions", 1500, "Questions to score.", lower_bound=1
)
_NUM_SEEDS = flags.DEFINE_integer(
  "num_seeds", 2, "Runs of each change.", lower_bound=2
)
_ANSWERS = flags.DEFINE_enum(
  "answers",
  "first",
  ["first", "drawn", "most_frequent"],
  "Which annotator's answer of a question is learned. Training on one that is "
  "drawn is, on average, training on soft labels: the loss is linear in them.",
)
_FIRST_KIND = flags.DEFINE_string(
  "first_kind",
  None,
  "Kind of questions, such as qamr, that are learned before all others, with "
  "the seed 12345.",
)
_FINE_TUNING = flags.DEFINE_string(
  "fine_tuning_flags",
  "--preset=all-minilm-l6-v2 --version_2_with_negative --max_seq_length=384 "
  "--doc_stride=128 --length_buckets=32 --train_batch_size=16 "
  "--learning_rate=3e-4 --num_train_epochs=1 --adam_bias_correction",
  "Flags of run_squad that all changes start from.",
)
_SCORES = ("exact", "f1", "best_f1", "HasAns_f1", "NoAns_f1")


def main(argv):
  """Trains and scores one change after the other."""
  data = pathlib.Path(_DATA.value)
  work_dir = pathlib.Path(_WORK_DIR.value)
  work_dir.mkdir(parents=True, exist_ok=True)
  files = [work_dir / "train.json", work_dir / "select.json"]
  sizes = [_NUM_TRAIN_QUESTIONS.value, _NUM_QUESTIONS.value]
  for path, size in zip(files, sizes, strict=True):
    draw_questions(data / path.name, size, path)
  preset = _rewrite(files[0], work_dir)
  print_head(
    *("change", "EM", "deviation", "F1", "deviation"),
    *("F1, best threshold", "F1, answerable", "F1, unanswerable"),
    text=("change",),
  )
  for change in _CHANGES.value:
    output_dir = work_dir / (re.sub(r"[^\w.=-]+", "_", change) or "none")
    runs = _train(change.split() + preset, *files, output_dir)
    columns = [[run["scores"][name] for run in runs] for name in _SCORES]
    exact, f1, *parts = (statistics.mean(column) for column in columns)
    spreads = [statistics.stdev(column) for column in columns]
    figures = (exact, spreads[0], f1, spreads[1], *parts)
    name = f"`{change}`" if change else "(none)"
    print_row(name, *(f"{figure:.2f}" for figure in figures))


def _rewrite(train_file, work_dir):
  """Applies --answers and --first_kind; returns the flag of a model, if any."""
  content = read_json(train_file)
  paragraphs = [p for a in content["data"] for p in a["paragraphs"]]
  rng = random.Random(0)
  for (question,) in (paragraph["qas"] for paragraph in paragraphs):
    answers = question["answers"]
    texts = [answer["text"] for answer in answers]
    if answers and _ANSWERS.value == "drawn":
      question["answers"] = [rng.choice(answers)]
    elif answers and _ANSWERS.value == "most_frequent":
      question["answers"] = [max(answers, key=lambda a: texts.count(a["text"]))]
  kind, parts = f"{_FIRST_KIND.value}/", {True: [], False: []}
  for paragraph in paragraphs:
    is_first = paragraph["qas"][0]["id"].startswith(kind)
    parts[is_first].append({"title": "", "paragraphs": [paragraph]})
  paths = {True: work_dir / "first.json", False: train_file}
  for is_first, path in paths.items():
    path.write_text(json.dumps({**content, "data": parts[is_first]}), "utf-8")
  if not parts[True]:
    return []
  output_dir = work_dir / "first"
  _run([f"--train_file={paths[True]}", f"--output_dir={output_dir}"])
  return [f"--preset={output_dir / 'model'}"]


def _train(change, train_file, predict_file, output_dir):
  """The runs of one change, a list of flags: list of dicts with scores."""
  arguments = [
    f"--train_file={train_file}",
    f"--predict_file={predict_file}",
    f"--output_dir={output_dir}",
    f"--num_seeds={_NUM_SEEDS.value}",
    *("--do_predict", "--do_eval"),
  ]
  _run(arguments + change)
  return read_json(output_dir / "seeds.json")["runs"]


def _run(arguments):
  run_module(
    *("bert_span.run_squad", "--do_train", *_FINE_TUNING.value.split()),
    *("--keep_checkpoint_max=1", *arguments),
  )


if __name__ == "__main__":
  program.run_program(main)
