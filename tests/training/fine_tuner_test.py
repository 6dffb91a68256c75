"""Which examples `fine_tune` takes, and what it learns of them."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span import AnswerSpan, FineTuningOptions, SquadExample, fine_tune
from bert_span.squad.reader import make_squad_file
from bert_span.squad.rules import training_examples
from bert_span.training.fine_tuner import training_batches
from tests.support.models import CONTEXT, QUESTION, eagerly, tiny_extractor

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


def test_a_file_or_a_generator_has_the_batches_that_run_squad_takes(
  squad_file, capsys
):
  extractor = tiny_extractor()
  chosen = training_examples(squad_file, version_2_with_negative=True)
  assert [example.qas_id for example in chosen] == ["late", "no"]
  (_, labels), *_ = expected = _batches(extractor, chosen)
  assert sorted(labels["start_logits"] > 0) == [False, True]
  capsys.readouterr()
  for examples in (squad_file, iter(squad_file.examples)):
    for pair, other in zip(
      _batches(extractor, examples), expected, strict=True
    ):
      tf.nest.map_structure(np.testing.assert_array_equal, pair, other)
    log = capsys.readouterr().err
    assert "'lost'" in log and "'unlabelled'" in log


def _batches(extractor, examples):
  batches = training_batches(extractor, examples, _OPTIONS)
  return list(batches.take(2).as_numpy_iterator())


def test_training_without_a_folder_keeps_no_checkpoint(squad_file, capsys):
  extractor = tiny_extractor()
  before = extractor.get_weights()
  assert fine_tune(extractor, iter(squad_file.examples), _OPTIONS) == 2
  assert any(map(np.any, map(np.subtract, extractor.get_weights(), before)))
  # The folder of the checkpoints would not outlive the call.
  assert "Saved" not in capsys.readouterr().err


@pytest.mark.large
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
  with eagerly():
    expected = extractor.predict(text, verbose=0)["start_logits"]
  given = after.logits["start_logits"]
  assert np.abs(given - before.logits["start_logits"]).max() > 1e-2
  width = (after.windows["padding_mask"] > 0).sum()
  np.testing.assert_allclose(given[0, :width], expected[0, :width], atol=1e-4)


def test_examples_that_do_not_train_are_refused_with_the_remedy(squad_file):
  extractor = tiny_extractor()
  with pytest.raises(ValueError, match="no examples"):
    fine_tune(extractor, iter([]), _OPTIONS)
  with pytest.raises(ValueError, match="'lost'"):
    fine_tune(extractor, squad_file.examples[:1], _OPTIONS)
  extractor.preprocessor = None
  with pytest.raises(ValueError, match="preprocessor"):
    fine_tune(extractor, squad_file, _OPTIONS)
