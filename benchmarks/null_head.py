r"""Compares the null score of the span head with a head of its own.

  python -m benchmarks.null_head --data=DATA

DATA is the folder of benchmarks.minilm_squad.data. By default "no answer" is
scored by the same two vectors as every span, at [CLS]. The other model replaces
the start and end logits at [CLS] by the output of a layer of width hidden with
GELU and a last one of width 1, which read [CLS] alone. All models train on the
same questions drawn from train.json, from all-MiniLM-L6-v2, and are scored on
questions drawn from select.json, with the null threshold 0 and with the one
that is best on these questions.
"""

import pathlib
import statistics
import tempfile

import keras
from absl import flags

from benchmarks import tables
from benchmarks.inputs import draw_questions
from bert_span import DecoderOptions, FineTuningOptions, SpanExtractor
from bert_span.answers.scoring.squad_scores import evaluate_squad2
from bert_span.cli import program
from bert_span.modeling.heads import SpanHead
from bert_span.modeling.span_model import SpanModel
from bert_span.presets.load_pretrained import load_pretrained
from bert_span.squad.reader import read_squad

_DATA = flags.DEFINE_string(
  "data", None, "Folder with train.json and select.json.", required=True
)
_NUM_TRAIN_QUESTIONS = flags.DEFINE_integer(
  "num_train_questions", 4800, "Questions to train on.", lower_bound=1
)
_NUM_QUESTIONS = flags.DEFINE_integer(
  "num_questions", 1500, "Questions to score.", lower_bound=1
)
_NUM_SEEDS = flags.DEFINE_integer(
  "num_seeds", 2, "Runs of each head.", lower_bound=2
)
_SCORES = ("f1", "best_f1", "HasAns_f1", "NoAns_f1")


class NullHead(SpanHead):
  """A SpanHead whose logits at [CLS] come from layers of their own."""

  def build(self, input_shape):
    super().build(input_shape)
    self.hidden = keras.layers.Dense(input_shape[-1], "gelu", dtype="float32")
    self.score = keras.layers.Dense(1, dtype="float32")
    self.hidden.build((None, input_shape[-1]))
    self.score.build((None, input_shape[-1]))

  def call(self, sequence_output):
    null = self.score(self.hidden(sequence_output[:, 0]))  # [batch, 1]
    return tuple(
      keras.ops.concatenate([null, logits[:, 1:]], axis=1)
      for logits in super().call(sequence_output)
    )


def main(argv):
  """Trains and scores both heads with each seed."""
  del argv
  data = pathlib.Path(_DATA.value)
  sizes = {
    "train.json": _NUM_TRAIN_QUESTIONS.value,
    "select.json": _NUM_QUESTIONS.value,
  }
  examples = []
  with tempfile.TemporaryDirectory() as folder:
    for name, size in sizes.items():
      path = pathlib.Path(folder) / name
      draw_questions(data / name, size, path)
      examples.append(read_squad(str(path)).examples)
  tables.print_head(
    *("null score", "F1", "deviation", "F1, best threshold", "deviation"),
    *("F1, answerable", "F1, unanswerable"),
    text=("null score",),
  )
  heads = {"of the span head": SpanHead, "of its own": NullHead}
  for name, head_type in heads.items():
    runs = [
      _train(head_type, 12345 + i, *examples) for i in range(_NUM_SEEDS.value)
    ]
    columns = [[run[score] for run in runs] for score in _SCORES]
    means = [f"{statistics.mean(column):.2f}" for column in columns]
    deviations = [f"{statistics.stdev(column):.2f}" for column in columns[:2]]
    cells = (means[0], deviations[0], means[1], deviations[1], *means[2:])
    tables.print_row(name, *cells)


def _train(head_type, seed, train_examples, examples):
  """The scores of a model trained with a seed, a dict of `evaluate_squad2`."""
  keras.utils.set_random_seed(seed)
  loaded = load_pretrained("all-minilm-l6-v2")
  extractor = SpanExtractor(
    SpanModel(loaded.backbone, head_type()),
    loaded.vocabulary(),
    decoder_options=DecoderOptions(version_2_with_negative=True),
  )
  options = FineTuningOptions(
    train_batch_size=16,
    learning_rate=3e-4,
    num_train_epochs=1.0,
    adam_bias_correction=True,
    seed=seed,
  )
  extractor.fit(train_examples, options)
  found = {p.qas_id: p for p in extractor.predict(examples)}
  spans = {
    qas_id: next((entry.text for entry in p.n_best if entry.text), "")
    for qas_id, p in found.items()
  }
  null_odds = {qas_id: p.null_odds for qas_id, p in found.items()}
  return evaluate_squad2(examples, spans, null_odds, na_prob_thresh=0.0)


if __name__ == "__main__":
  program.run_program(main)
