r"""Fine-tunes a model on a few questions of one kind, with several settings.

  python -m benchmarks.minilm_squad.own_questions --model=minilm_squad \
    --data=DIR --kind=amazon --kind=reddit

DIR is the --output_dir of data.py. Of --kind, every second article of
PART_KIND.json is trained on, and all others are scored. Each setting starts
from --model, once with each seed, which draws other questions; the mean of all
runs is a row. One of five questions is unanswerable. Columns, in percent:
  EM, F1      of the scored questions
  answerable  F1 of the answerable ones, "no answer" counts 0
  forced      the same without "no answer"
  refused     share of the unanswerable questions with "no answer"
"""

import itertools
import os
import random

import numpy as np
from absl import flags

from benchmarks.inputs import check, count_flag, read_examples
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_MODEL = flags.DEFINE_string(
  "model", "minilm_squad", "Model directory, or minilm_squad."
)
_DATA = flags.DEFINE_string(
  "data", None, "Output folder of benchmarks.minilm_squad.data.", required=True
)
_KINDS = flags.DEFINE_multi_string(
  "kind", ["amazon", "reddit"], "Kind of the questions; repeatable."
)
_PART = flags.DEFINE_enum(
  "part", "select", ["select", "held_out"], "Part of the data: PART_KIND.json."
)
_QUESTIONS = count_flag("questions", 50, "Number of questions to train on.")
_SCORED = count_flag("scored", 250, "Number of questions to score, of a kind.")
_SEEDS = count_flag("seeds", 2, "Number of seeds.")
_RATES = flags.DEFINE_multi_float(
  "learning_rate", [3e-5, 1e-4], "Rate; repeatable."
)
_EPOCHS = flags.DEFINE_multi_float(
  "num_train_epochs", [2.0, 5.0], "Number of epochs; repeatable."
)
_REPLAY = flags.DEFINE_multi_integer(
  "replay",
  [0, 50],
  "Number of questions of the sample that are mixed in; repeatable.",
)
_LAYER_DECAY = flags.DEFINE_multi_float(
  "layer_decay", [1.0], "Factor of the rate from layer to layer; repeatable."
)
_UNANSWERABLE = 0.2


def main(argv):
  """Fine-tunes and scores with all combinations of the settings."""
  from bert_span import SpanExtractor

  sample = read_examples(None, "train.json")
  parts = [_parts(kind) for kind in _KINDS.value]
  start = SpanExtractor.from_preset(_MODEL.value)
  names = ("learning_rate", "num_train_epochs", "replay", "layer_decay")
  print_head(*names, "EM", "F1", "answerable", "forced", "refused")
  scores = [_scores(start, scored) for _, scored in parts]
  print_row(*("-" for _ in names), *_cells(scores))
  values = (_RATES, _EPOCHS, _REPLAY, _LAYER_DECAY)
  for setting in itertools.product(*(holder.value for holder in values)):
    scores = [
      _scores(_fine_tuned(train, sample, seed, *setting), scored)
      for train, scored in parts
      for seed in range(_SEEDS.value)
    ]
    print_row(*setting, *_cells(scores))


def _parts(kind):
  """Returns the examples to train on and those to score."""
  from bert_span import read_squad

  path = os.path.join(_DATA.value, f"{_PART.value}_{kind}.json")
  check(os.path.exists(path), f"--data: there is no {path}.")
  examples = read_squad(path).examples
  articles = {e.title: None for e in examples}
  trained = set(list(articles)[::2])
  scored = [e for e in examples if e.title not in trained]
  chance = random.Random(0)
  return (
    [e for e in examples if e.title in trained],
    chance.sample(scored, min(_SCORED.value, len(scored))),
  )


def _fine_tuned(train, sample, seed, rate, epochs, replay, layer_decay):
  """Returns the model after training with a setting."""
  from bert_span import SpanExtractor, fine_tune
  from bert_span.training.fine_tuning_options import FineTuningOptions

  chance = random.Random(seed)
  sorts = [
    [e for e in train if bool(e.answers) == has] for has in (True, False)
  ]
  num_unanswerable = round(_UNANSWERABLE * _QUESTIONS.value)
  counts = (_QUESTIONS.value - num_unanswerable, num_unanswerable)
  drawn = [
    example
    for group, count in zip((*sorts, sample), (*counts, replay), strict=True)
    for example in chance.sample(group, count)
  ]
  extractor = SpanExtractor.from_preset(_MODEL.value)
  options = FineTuningOptions(
    train_batch_size=8,
    learning_rate=rate,
    num_train_epochs=epochs,
    layer_decay=layer_decay,
    adam_bias_correction=True,
    seed=seed,
  )
  fine_tune(extractor, drawn, options)
  return extractor


def _scores(extractor, examples):
  """Returns a row's figures, from 0 to 1."""
  from bert_span.scoring.squad_scores import question_scores

  rows = []  # (is answerable, EM, F1, F1 without "no answer")
  for example, prediction in zip(
    examples, extractor.predictions(examples), strict=True
  ):
    best = next((e.text for e in prediction.n_best if e.text), "")
    forced = question_scores(example, best, version_2=True)[1]
    scores = question_scores(example, prediction.answer.text, version_2=True)
    rows.append((bool(example.answers), *scores, forced))
  answerable, exact, f1, forced = map(np.array, zip(*rows, strict=True))
  return (
    *(exact.mean(), f1.mean(), f1[answerable].mean()),
    *(forced[answerable].mean(), f1[~answerable].mean()),
  )


def _cells(scores):
  return [f"{100 * figure:.1f}" for figure in np.mean(scores, axis=0)]


if __name__ == "__main__":
  program.run_program(main)
