r"""Compares kinds of pre-training by fine-tuning after each.

  python -m benchmarks.pretraining_comparison --work_dir=DIR \
    --text=text/train.txt --held_out_text=text/held_out.txt \
    --train_file=squad1_train_part.json --predict_file=squad1_dev_half.json

All ways start from --preset and train for the same steps on the same text, with
masked pieces (subword), masked spans (span), or masked spans and the span
boundary objective (sbo); "none" is the preset itself. Each model is then
fine-tuned on the same questions with the same seeds. The questions are drawn
from the files with a fixed seed. Prints the mean and deviation of the scores,
and the F1 on questions whose passage is not in the text. An interrupted run
continues.
"""

import json
import pathlib
import random
import statistics
import subprocess
import sys

from absl import app, flags

_WAYS = {
  "none": None,
  "subword": ["--masking=subword", "--nosbo"],
  "span": ["--masking=span", "--nosbo"],
  "sbo": ["--masking=span", "--sbo"],
}

_WORK_DIR = flags.DEFINE_string(
  "work_dir", None, "Folder for all outputs.", required=True
)
_TEXT = flags.DEFINE_string(
  "text", None, "Text to pre-train on, one sentence a line.", required=True
)
_HELD_OUT_TEXT = flags.DEFINE_string(
  "held_out_text", None, "Text to score on.", required=True
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
_NUM_TRAIN_QUESTIONS = flags.DEFINE_integer(
  "num_train_questions", 2000, "Questions to fine-tune on.", lower_bound=1
)
_NUM_QUESTIONS = flags.DEFINE_integer(
  "num_questions", 400, "Questions to score.", lower_bound=1
)
_NUM_SEEDS = flags.DEFINE_integer(
  "num_seeds", 3, "Fine-tuning runs of each model.", lower_bound=2
)
_PRETRAINING = flags.DEFINE_string(
  "pretraining_flags",
  "--max_seq_length=128 --train_batch_size=16 --learning_rate=2e-4 "
  "--num_train_steps=600 --num_warmup_steps=60 --adam_bias_correction "
  "--eval_steps=100",
  "Flags of run_pretraining, separated by blanks.",
)
_FINE_TUNING = flags.DEFINE_string(
  "fine_tuning_flags",
  "--max_seq_length=384 --doc_stride=128 --train_batch_size=16 "
  "--learning_rate=2e-4 --num_train_epochs=2 --adam_bias_correction",
  "Flags of run_squad, separated by blanks.",
)


def main(argv):
  """Pre-trains, fine-tunes and scores, one way after the other."""
  del argv
  work_dir = pathlib.Path(_WORK_DIR.value)
  work_dir.mkdir(parents=True, exist_ok=True)
  train_file, predict_file = work_dir / "train.json", work_dir / "dev.json"
  _draw(_TRAIN_FILE.value, _NUM_TRAIN_QUESTIONS.value, train_file)
  _draw(_PREDICT_FILE.value, _NUM_QUESTIONS.value, predict_file)
  rows = []
  for way in _WAYS_FLAG.value:
    preset = _PRESET.value
    if _WAYS[way] is not None:
      preset = _pretrain(way, work_dir / way / "pretrained")
    rows.append(
      (way, _fine_tune(preset, train_file, predict_file, work_dir / way))
    )
  unseen = _unseen_questions(predict_file)
  print("way         EM mean  deviation   F1 mean  deviation F1 unseen")
  for way, result in rows:
    cells = [
      result[kind][name]
      for name in ("exact_match", "f1")
      for kind in ("mean", "deviation")
    ]
    cells.append(_mean_f1(unseen, result["runs"]))
    print(way.ljust(9) + "".join(f"{cell:10.2f}" for cell in cells))
  print(
    f"unseen: {len(unseen)} of {_NUM_QUESTIONS.value} questions, with passages "
    "that are not in the text"
  )


def _draw(path, num_questions, drawn_path):
  """Writes a SQuAD file with questions drawn from another one."""
  content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
  paragraphs = [
    (article["title"], paragraph)
    for article in content["data"]
    for paragraph in article["paragraphs"]
  ]
  questions = [
    (title, paragraph["context"], question)
    for title, paragraph in paragraphs
    for question in paragraph["qas"]
  ]
  drawn = random.Random(0).sample(questions, num_questions)
  data = [
    {"title": title, "paragraphs": [{"context": context, "qas": [question]}]}
    for title, context, question in drawn
  ]
  text = json.dumps({"version": content.get("version"), "data": data})
  drawn_path.write_text(text, encoding="utf-8")


def _pretrain(way, output_dir):
  """Path of the model pre-trained in one way."""
  model = output_dir / "model"
  if not model.exists():
    _run(
      "run_pretraining",
      f"--preset={_PRESET.value}",
      f"--input_file={_TEXT.value}",
      f"--eval_file={_HELD_OUT_TEXT.value}",
      f"--output_dir={output_dir}",
      *("--do_train", "--do_eval", "--nodo_export"),
      *_PRETRAINING.value.split(),
      *_WAYS[way],
    )
  return model


def _fine_tune(preset, train_file, predict_file, work_dir):
  """The content of run_squad's seeds.json: mean and deviation of scores."""
  output_dir = work_dir / "fine_tuned"
  _run(
    "run_squad",
    f"--preset={preset}",
    f"--train_file={train_file}",
    f"--predict_file={predict_file}",
    f"--output_dir={output_dir}",
    f"--num_seeds={_NUM_SEEDS.value}",
    *("--do_train", "--do_predict", "--do_eval"),
    *_FINE_TUNING.value.split(),
  )
  seeds = (output_dir / "seeds.json").read_text(encoding="utf-8")
  return json.loads(seeds)


def _unseen_questions(predict_file):
  """The `SquadExample`s whose passage is in neither pre-training text."""
  from bert_span.squad.reader import read_squad

  texts = [
    " ".join(pathlib.Path(path).read_text(encoding="utf-8").split())
    for path in (_TEXT.value, _HELD_OUT_TEXT.value)
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
    predictions = json.loads(path.read_text(encoding="utf-8"))
    predictions = {e.qas_id: predictions[e.qas_id] for e in examples}
    scores.append(evaluate_squad1(examples, predictions)["f1"])
  return statistics.mean(scores)


def _run(program, *arguments):
  command = [sys.executable, "-m", f"bert_span.{program}", *arguments]
  subprocess.run(command, check=True)


if __name__ == "__main__":
  app.run(main)
