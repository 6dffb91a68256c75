"""Which examples `fine_tune` takes, and what it learns of them."""

import numpy as np
import pytest

from bert_span import AnswerSpan, FineTuningOptions, SquadExample, fine_tune
from bert_span.squad.reader import make_squad_file
from bert_span.squad.rules import training_examples
from bert_span.training.fine_tuner import training_batches
from tests.support.models import CONTEXT, QUESTION, tiny_extractor

_OPTIONS = FineTuningOptions(train_batch_size=2, num_train_epochs=2)
_LOST, _YEAR = AnswerSpan("Berta", 3), AnswerSpan("1895", 30)


@pytest.fixture
def squad_file():
  """Two questions to learn from, and two that run_squad skips."""
  examples = [
    SquadExample("lost", QUESTION, CONTEXT, (_LOST,)),
    SquadExample("late", "When?", CONTEXT, (_LOST, _YEAR)),
    SquadExample("unlabelled", QUESTION, CONTEXT),
    SquadExample("no", "Who?", CONTEXT, is_impossible=True),
  ]
  return make_squad_file("t.json", examples, version_2=True)


def test_a_file_or_a_generator_trains_as_the_examples_that_run_squad_takes(
  squad_file, capsys
):
  chosen = training_examples(squad_file, version_2_with_negative=True)
  assert [example.qas_id for example in chosen] == ["late", "no"]
  weights, logs = [], []
  for examples in (chosen, squad_file, iter(squad_file.examples)):
    extractor = tiny_extractor()
    assert fine_tune(extractor, examples, _OPTIONS) == 2
    weights.append(extractor.get_weights())
    logs.append(capsys.readouterr().err)
  for others in weights[1:]:
    for weight, expected in zip(others, weights[0], strict=True):
      np.testing.assert_array_equal(weight, expected)
  for log in logs[1:]:
    assert "question 'lost'" in log and "question 'unlabelled'" in log
  # The folder of the checkpoints would not outlive the call.
  assert not any("Saved" in log for log in logs)


def test_answers_follow_what_lora_learned(squad_file):
  extractor = tiny_extractor()
  (before,) = extractor.window_logits(squad_file.examples[:1])
  extractor.backbone.enable_lora(4)
  extractor.head.trainable = False
  options = FineTuningOptions(
    train_batch_size=2, num_train_epochs=20, learning_rate=0.05
  )
  fine_tune(extractor, squad_file, options)
  (after,) = extractor.window_logits(squad_file.examples[:1])
  text = {"question": [QUESTION], "context": [CONTEXT]}
  expected = extractor.predict(text, verbose=0)["start_logits"]
  given = after.logits["start_logits"]
  assert np.abs(given - before.logits["start_logits"]).max() > 1e-2
  width = (after.windows["padding_mask"] > 0).sum()
  np.testing.assert_allclose(given[0, :width], expected[0, :width], atol=1e-4)


def test_batches_are_of_the_same_examples(squad_file):
  batches = training_batches(tiny_extractor(), squad_file, _OPTIONS)
  _, labels = next(iter(batches))
  assert sorted(labels["start_logits"].numpy() > 0) == [False, True]


def test_examples_that_do_not_train_are_refused_with_the_remedy(squad_file):
  extractor = tiny_extractor()
  with pytest.raises(ValueError, match="no examples"):
    fine_tune(extractor, iter([]), _OPTIONS)
  with pytest.raises(ValueError, match="question 'lost'"):
    fine_tune(extractor, squad_file.examples[:1], _OPTIONS)
  extractor.preprocessor = None
  with pytest.raises(ValueError, match="Set preprocessor"):
    fine_tune(extractor, squad_file, _OPTIONS)
