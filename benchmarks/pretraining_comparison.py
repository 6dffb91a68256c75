r"""Compares kinds of pre-training by fine-tuning after each.

  python -m benchmarks.pretraining_comparison --work_dir=DIR \
    --text=text/train.txt --held_out_text=text/held_out.txt \
    --train_file=squad1_train_part.json --predict_file=squad1_dev_half.json

All ways start from --preset and train for the same steps on the same text, with
masked pieces (subword), masked spans (span), masked spans and the span boundary
objective (sbo), recurring span selection (rss), or sbo and rss in turns (both);
"none" is the preset itself. Each model is then fine-tuned on the same questions
with the same seeds, once for each number of questions. The questions are drawn
from the files with a fixed seed, the smaller sets from the larger ones, none
from an article of the scored file. Prints the mean and deviation of the F1,
also on questions whose passage is not in the text, and draws them over the
number of questions. An interrupted run continues.

With --way=none no text is needed: how many questions are worth labelling, for
--preset=minilm_squad. Give --fewest_steps=0 as well, since a hundred steps on
64 questions make a fine-tuned model worse.
"""

import math
import pathlib
import statistics

from absl import flags

from benchmarks.inputs import draw_questions, read_json
from benchmarks.repetitions import run_module
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_WAYS = {
  "none": None,
  "subword": ["--masking=subword", "--nosbo"],
  "span": ["--masking=span", "--nosbo"],
  "sbo": ["--masking=span", "--sbo"],
  "rss": ["--objective=rss"],
  "both": ["--objective=both", "--sbo"],
}
_BATCH_SIZE = 16  # windows

_WORK_DIR = flags.DEFINE_string(
  "work_dir", None, "Folder for all outputs.", required=True
)
_TEXT = flags.DEFINE_string(
  "text", None, "Text to pre-train on, one sentence a line."
)
_HELD_OUT_TEXT = flags.DEFINE_string(
  "held_out_text", None, "Text to score pre-training on."
)
_TRAIN_FILE = flags.DEFINE_string(
  "train_file",
  None,
  "SQuAD file to draw training questions from.",
  required=True,
)
_PREDICT_FILE = flags.DEFINE_string(
  "predict_file",
  None,
  "SQuAD file to draw scored questions from.",
  required=True,
)
_PRESET = flags.DEFINE_string(
  "preset", "all-minilm-l6-v2", "Model to start from."
)
_WAYS_FLAG = flags.DEFINE_multi_enum(
  "way", list(_WAYS), list(_WAYS), "Ways to compare."
)
_NUM_TRAIN_QUESTIONS = flags.DEFINE_list(
  "num_train_questions",
  ["64", "256", "1024", "8000"],
  "Numbers of questions to fine-tune on; 0 scores the preset as it is.",
)
_NUM_QUESTIONS = flags.DEFINE_integer(
  "num_questions", 400, "Questions to score.", lower_bound=1
)
_NUM_SEEDS = flags.DEFINE_integer(
  "num_seeds", 3, "Fine-tuning runs of each model.", lower_bound=2
)
_ONE_SEED_FROM = flags.DEFINE_integer(
  "one_seed_from", 8000, "Number of questions from which one run must do."
)
_FEWEST_STEPS = flags.DEFINE_integer(
  "fewest_steps",
  100,
  "Fewest steps of fine-tuning; a small file has more than two epochs.",
  lower_bound=0,
)
_PRETRAINING = flags.DEFINE_string(
  "pretraining_flags",
  "--max_seq_length=128 --train_batch_size=16 --learning_rate=2e-5 "
  "--num_train_steps=400 --num_warmup_steps=40 --adam_bias_correction "
  "--eval_steps=100",
  "Flags of run_pretraining, separated by blanks.",
)
_FINE_TUNING = flags.DEFINE_string(
  "fine_tuning_flags",
  "--max_seq_length=384 --doc_stride=128 --length_buckets=32 "
  "--learning_rate=2e-4 --adam_bias_correction",
  "Flags of run_squad, separated by blanks; batches have 16 windows. The "
  "epochs are 2, or as many as --fewest_steps need.",
)
_PLOT = flags.DEFINE_string("plot", None, "Figure to write, .svg or .png.")


def main(argv):
  """Pre-trains, fine-tunes and scores, one way after the other."""
  sizes = sorted(map(int, _NUM_TRAIN_QUESTIONS.value))
  texts = [_TEXT.value, _HELD_OUT_TEXT.value]
  program.check(
    all(texts) or _WAYS_FLAG.value == ["none"],
    "--text and --held_out_text are required, except for --way=none.",
  )
  if _PLOT.value:
    program.check_extra("report", "matplotlib")
  work_dir = pathlib.Path(_WORK_DIR.value)
  work_dir.mkdir(parents=True, exist_ok=True)
  predict_file = work_dir / "dev.json"
  scored = pathlib.Path(_PREDICT_FILE.value)
  draw_questions(scored, _NUM_QUESTIONS.value, predict_file)
  for size in filter(None, sizes):
    drawn = work_dir / f"train_{size}.json"
    draw_questions(pathlib.Path(_TRAIN_FILE.value), size, drawn, scored)
  unseen = _unseen_questions(predict_file, filter(None, texts))
  rows = {}
  for way in _WAYS_FLAG.value:
    preset = _PRESET.value
    if _WAYS[way] is not None:
      preset = _pretrain(way, work_dir / way / "pretrained")
    for size in sizes:
      rows[way, size] = _fine_tune(preset, size, predict_file, work_dir / way)
  print_head(
    *("way", "questions", "F1", "deviation", "by seed", "F1, unseen"),
    text=("way", "by seed"),
  )
  for (way, size), runs in rows.items():
    scores = [run["scores"]["f1"] for run in runs]
    spread = f"{statistics.stdev(scores):.2f}" if len(scores) > 1 else "-"
    print_row(
      *(way, f"{size:,}", f"{statistics.mean(scores):.2f}", spread),
      ", ".join(f"{score:.1f}" for score in scores),
      f"{_mean_f1(unseen, runs):.2f}",
    )
  print(
    f"unseen: {len(unseen)} of {_NUM_QUESTIONS.value} questions, with passages "
    "that are not in the text"
  )
  if _PLOT.value:
    _plot(rows, sizes)


def _pretrain(way, output_dir):
  """Path of the model pre-trained in one way."""
  model = output_dir / "model"
  if not model.exists():
    run_module(
      "bert_span.run_pretraining",
      f"--preset={_PRESET.value}",
      f"--input_file={_TEXT.value}",
      f"--eval_file={_HELD_OUT_TEXT.value}",
      f"--output_dir={output_dir}",
      *("--do_train", "--do_eval", "--nodo_export"),
      *_PRETRAINING.value.split(),
      *_WAYS[way],
    )
  return model


def _fine_tune(preset, size, predict_file, work_dir):
  """The runs on so many questions: list of dicts of scores and output_dir."""
  output_dir = work_dir / f"fine_tuned_{size}"
  scoring = [
    f"--preset={preset}",
    f"--predict_file={predict_file}",
    f"--output_dir={output_dir}",
    *("--do_predict", "--do_eval"),
  ]
  if not size:
    run_module("bert_span.run_squad", *scoring, *_FINE_TUNING.value.split())
    return [_result(output_dir)]
  num_seeds = 1 if size >= _ONE_SEED_FROM.value else _NUM_SEEDS.value
  epochs = max(2, math.ceil(_FEWEST_STEPS.value * _BATCH_SIZE / size))
  run_module(
    "bert_span.run_squad",
    *scoring,
    f"--train_file={work_dir.parent / f'train_{size}.json'}",
    f"--train_batch_size={_BATCH_SIZE}",
    f"--num_train_epochs={epochs}",
    f"--num_seeds={num_seeds}",
    "--do_train",
    *_FINE_TUNING.value.split(),
  )
  if num_seeds == 1:
    return [_result(output_dir)]
  return read_json(output_dir / "seeds.json")["runs"]


def _result(output_dir):
  scores = read_json(output_dir / "eval_results.json")
  return {"output_dir": str(output_dir), "scores": scores}


def _unseen_questions(predict_file, text_paths):
  """The `SquadExample`s whose passage is in neither pre-training text."""
  from bert_span.squad.reader import read_squad

  texts = [
    " ".join(pathlib.Path(path).read_text(encoding="utf-8").split())
    for path in text_paths
  ]
  return [
    example
    for example in read_squad(predict_file).examples
    if not any(" ".join(example.context.split()) in text for text in texts)
  ]


def _mean_f1(examples, runs):
  """F1 on some of the questions, averaged over the runs of seeds.json."""
  from bert_span.answers.scoring.squad_scores import evaluate_squad1

  scores = []
  for run in runs:
    path = pathlib.Path(run["output_dir"]) / "predictions.json"
    predictions = read_json(path)
    predictions = {e.qas_id: predictions[e.qas_id] for e in examples}
    scores.append(evaluate_squad1(examples, predictions)["f1"])
  return statistics.mean(scores)


def _plot(rows, sizes):
  from matplotlib.figure import Figure

  figure = Figure(figsize=(5.5, 3.6), layout="constrained")
  axes = figure.subplots()
  # Not a logarithm: there may be 0 questions.
  places = range(len(sizes))
  for way in _WAYS_FLAG.value:
    scores = [[r["scores"]["f1"] for r in rows[way, size]] for size in sizes]
    means = [statistics.mean(each) for each in scores]
    spreads = [
      statistics.stdev(each) if len(each) > 1 else 0 for each in scores
    ]
    axes.errorbar(places, means, spreads, fmt="o-", capsize=3, label=way)
  axes.set_xticks(places, [f"{size:,}" for size in sizes])
  axes.set(xlabel="questions", ylabel="F1")
  axes.grid(alpha=0.3)
  axes.legend(fontsize="small")
  figure.savefig(_PLOT.value)


if __name__ == "__main__":
  program.run_program(main)
