"""Scores of a development set during training, against the official ones."""

import pytest

from bert_span import DecoderOptions, FineTuningOptions, SquadExample
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.scoring.squad_scores import (
  evaluate_multi_span,
  evaluate_squad1,
  evaluate_squad2,
)
from bert_span.squad.example import AnswerSpan
from bert_span.squad.reader import SquadFile
from bert_span.training.callbacks import Callback
from bert_span.training.development_set import DevelopmentSet
from bert_span.training.fine_tuner import label_training_windows, train_on
from bert_span.training.options import ExecutionOptions, SelectionOptions
from tests.support.models import (
  CONTEXT,
  QUESTION,
  eagerly,
  shared_extractor,
  tiny_extractor,
)


def _squad_file(impossible=0):
  """Three questions, the last ones without an answer."""
  examples = []
  for i, text in enumerate(["Anna", "1895", "The mill"]):
    is_impossible = i >= 3 - impossible
    answers = () if is_impossible else (AnswerSpan(text, CONTEXT.index(text)),)
    examples.append(
      SquadExample(f"q{i}", QUESTION, CONTEXT, answers, is_impossible)
    )
  return SquadFile("dev.json", tuple(examples), bool(impossible))


def _development(squad_file, metric="f1"):
  return DevelopmentSet(squad_file, 2, SelectionOptions(10, metric))


@pytest.mark.parametrize(
  ("kind", "version_2", "names"),
  [
    (SpanExtractor, False, ["exact_match", "f1"]),
    (SpanExtractor, True, ["exact", "f1", "HasAns_f1", "NoAns_f1"]),
    (
      BioExtractor,
      False,
      ["exact_match", "f1", "exact_match_f1", "overlap_f1"],
    ),
  ],
)
def test_scores_are_the_official_ones(kind, version_2, names):
  extractor = shared_extractor(version_2, kind)
  squad_file = _squad_file(impossible=int(version_2))
  passed = []  # All answers pass through what may interrupt them.

  def interruptible(answers):
    for answer in answers:
      passed.append(answer)
      yield answer

  with eagerly():
    scores = _development(squad_file).scores(extractor, interruptible)
    predictions = list(extractor.predictions(squad_file.examples))
  assert len(passed) == len(predictions)
  texts = {p.qas_id: p.answer.text for p in predictions}
  evaluate = evaluate_squad2 if version_2 else evaluate_squad1
  official = evaluate(squad_file.examples, texts)
  if kind is BioExtractor:  # It is scored by its spans too.
    spans = {p.qas_id: [s.text for s in p.spans] for p in predictions}
    official |= evaluate_multi_span(squad_file.examples, spans)
  assert scores == {name: official[name] for name in names}


@pytest.mark.large
def test_scores_in_training_are_those_of_a_model_with_its_weights(tmp_path):
  """Those of the saved model, that is: in float32 however it is trained."""
  extractor, squad_file = tiny_extractor(), _squad_file()
  development, seen = _development(squad_file), []

  class Scorer(Callback):
    def is_due(self, step):
      return step in (1, 11)

    def on_step(self, step):
      weights = extractor.get_weights()
      seen.append((weights, development.scores(extractor, iter)))

  options = FineTuningOptions(
    train_batch_size=3,
    learning_rate=3e-2,
    num_train_epochs=11,
    execution=ExecutionOptions("bfloat16"),
  )
  training_set = label_training_windows(extractor, squad_file.examples, options)
  train_on(extractor, training_set, options, tmp_path, [Scorer()])
  other = tiny_extractor()
  for weights, scores in seen:
    other.set_weights(weights)
    with eagerly():
      assert scores == development.scores(other, iter)
  assert len(seen) == 2
  assert seen[0][1] != seen[-1][1]


def test_the_metric_has_the_name_of_the_data_which_are_checked_first():
  for impossible, asked, metric in (
    (0, "exact_match", "exact_match"),
    (1, "exact_match", "exact"),
    (1, "f1", "f1"),
  ):
    options = DecoderOptions(version_2_with_negative=bool(impossible))
    development = _development(_squad_file(impossible), asked)
    selection = development.selection_options(options, SpanExtractor)
    assert selection == SelectionOptions(10, metric)
  # A question that nobody has answered is named before the training.
  example = SquadExample("q9", QUESTION, CONTEXT)
  development = _development(SquadFile("dev.json", (example,), False))
  with pytest.raises(ValueError, match="q9"):
    development.selection_options(DecoderOptions(), SpanExtractor)


def test_other_questions_and_decoding_have_another_fingerprint():
  one, two = _development(_squad_file()), _development(_squad_file(1))
  options, other = DecoderOptions(), DecoderOptions(max_answer_length=5)
  fingerprint = one.fingerprint(options)
  assert fingerprint == _development(_squad_file()).fingerprint(options)
  assert fingerprint != two.fingerprint(options)
  assert fingerprint != one.fingerprint(other)
  assert fingerprint["num_questions"] == 3
