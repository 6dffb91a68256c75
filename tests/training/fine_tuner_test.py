"""Which examples `fine_tune` takes, and what it learns of them."""

import dataclasses
import re

import numpy as np
import pytest
import tensorflow as tf

from bert_span import (
  AnswerSpan,
  BertAdamW,
  BioExtractor,
  BioLoss,
  DecoderOptions,
  FineTuningOptions,
  SpanExtractor,
  SpanLoss,
  SquadExample,
  WarmupLinearDecay,
  fine_tune,
)
from bert_span.squad.reader import make_squad_file
from bert_span.squad.rules import training_examples
from bert_span.training.fine_tuner import (
  batches_of,
  label_training_windows,
  training_batches,
  window_loss_fn,
)
from bert_span.training.loop import Trainer
from tests.support.models import (
  CONTEXT,
  QUESTION,
  shared_extractor,
  tiny_extractor,
  with_lora,
)
from tests.support.training import compared_weights, max_difference, read_events

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


@pytest.mark.large
def test_training_without_a_folder_keeps_no_checkpoint(squad_file, capsys):
  extractor = tiny_extractor()
  before = extractor.get_weights()
  assert fine_tune(extractor, iter(squad_file.examples), _OPTIONS) == 2
  assert any(map(np.any, map(np.subtract, extractor.get_weights(), before)))
  # The folder of the checkpoints would not outlive the call.
  assert "Saved" not in capsys.readouterr().err


def test_examples_that_do_not_train_are_refused_with_the_remedy(squad_file):
  extractor = tiny_extractor()
  with pytest.raises(ValueError, match="no examples"):
    fine_tune(extractor, iter([]), _OPTIONS)
  with pytest.raises(ValueError, match="'lost'"):
    fine_tune(extractor, squad_file.examples[:1], _OPTIONS)
  extractor.preprocessor = None
  with pytest.raises(ValueError, match="preprocessor"):
    fine_tune(extractor, squad_file, _OPTIONS)


_EXAMPLES = [
  SquadExample("1", QUESTION, CONTEXT, (AnswerSpan("Anna", 22),)),
  SquadExample("2", "When?", CONTEXT, (_YEAR,)),
  SquadExample("3", "When?", f"{CONTEXT} {CONTEXT}", (_YEAR,)),
  SquadExample("4", "Who?", "Anna.", (AnswerSpan("Anna", 0),)),
  SquadExample("5", "Who?", "The mill.", is_impossible=True),
]
_SHORT = FineTuningOptions(
  train_batch_size=4, num_train_epochs=1, length_bucket=8
)
_STEPS = 6
_LOSSES = {
  "sum of ends": (SpanExtractor, SpanLoss("sum")),
  "tags": (BioExtractor, BioLoss("mean", (3.0, 2.0, 1.0))),
}


def _optimizer():
  return BertAdamW(WarmupLinearDecay(1e-2, _STEPS, 1))


def _loop(kind, loss, folder):
  """Losses and weights of the package's own loop, which clips nothing here."""
  extractor = tiny_extractor(kind=kind, dropout=0.0, attention_dropout=0.0)
  training_set = label_training_windows(extractor, _EXAMPLES, _SHORT)
  trainer = Trainer(
    extractor,
    window_loss_fn(extractor.preprocessor, loss),
    _optimizer(),
    _STEPS,
    dataclasses.replace(_SHORT, clip_norm=1e9, iterations_per_loop=1),
    folder,
  )
  trainer.train(batches_of(extractor, training_set, _SHORT).dataset)
  return read_events(folder)["loss"], compared_weights(extractor)


@pytest.mark.large
@pytest.mark.parametrize("name", _LOSSES)
def test_fit_has_the_losses_and_weights_of_fine_tune(tmp_path, name):
  kind, loss = _LOSSES[name]
  expected_losses, expected_weights = _loop(kind, loss, tmp_path)
  extractor = tiny_extractor(kind=kind, dropout=0.0, attention_dropout=0.0)
  before = compared_weights(extractor)
  batches = training_batches(extractor, _EXAMPLES, _SHORT)
  extractor.preprocessor = None
  extractor.compile(_optimizer(), loss=loss)
  history = extractor.fit(batches, epochs=_STEPS, steps_per_epoch=1, verbose=0)
  np.testing.assert_allclose(
    history.history["loss"], expected_losses, rtol=1e-5
  )
  # The loss after the last update, too.
  assert max_difference(expected_weights, compared_weights(extractor)) < 1e-5
  assert max_difference(before, compared_weights(extractor)) > 1e-2


@pytest.mark.large
def test_fewer_questions_than_a_batch_train_as_the_message_says():
  extractor, examples = tiny_extractor(), _EXAMPLES
  assert len(examples) < FineTuningOptions().train_batch_size
  with pytest.raises(ValueError, match=f"^{len(examples)} examples") as error:
    fine_tune(extractor, examples)
  (size,) = re.findall(r"train_batch_size=(\d+)", str(error.value))
  before = compared_weights(extractor)
  assert fine_tune(
    extractor, examples, FineTuningOptions(train_batch_size=int(size))
  )
  assert max_difference(before, compared_weights(extractor)) > 0


@pytest.mark.large
def test_fine_tune_leaves_frozen_layers_as_they_are():
  extractor = tiny_extractor()
  extractor.backbone.trainable = False
  frozen = [np.array(weight) for weight in extractor.backbone.weights]
  head = [np.array(weight) for weight in extractor.head.weights]
  fine_tune(extractor, _EXAMPLES, _SHORT)
  for weight, before in zip(extractor.backbone.weights, frozen, strict=True):
    np.testing.assert_array_equal(weight, before)
  for weight, before in zip(extractor.head.weights, head, strict=True):
    assert np.any(weight != before)


def test_what_cannot_be_learned_is_refused():
  for answer in (("Anna", 3), ("Anna", -1), ("", 0), ("x", 10**6)):
    example = SquadExample("q7", QUESTION, CONTEXT, (AnswerSpan(*answer),))
    with pytest.raises(ValueError, match="q7"):
      fine_tune(shared_extractor(), [example])
  spans = ((AnswerSpan("Anna", 22), AnswerSpan("Anna", 3)),)
  example = SquadExample("q7", QUESTION, CONTEXT, annotations=spans)
  with pytest.raises(ValueError, match="q7"):
    fine_tune(shared_extractor(kind=BioExtractor), [example])


@pytest.mark.large
def test_fine_tune_trains_lora_of_the_table_of_tokens():
  extractor = with_lora("bert")
  extractor.head.trainable = False
  before = [np.array(weight) for weight in extractor.trainable_weights]
  frozen = np.array(extractor.backbone.token_embedding._embeddings)
  fine_tune(extractor, _EXAMPLES, _SHORT)
  changed = [
    bool(np.any(weight != old))
    for weight, old in zip(extractor.trainable_weights, before, strict=True)
  ]
  assert all(changed)
  np.testing.assert_array_equal(
    extractor.backbone.token_embedding._embeddings, frozen
  )


@pytest.mark.large
def test_a_step_resets_what_was_fitted_to_other_weights(tmp_path):
  extractor, options = tiny_extractor(), DecoderOptions(temperature=2.0)
  extractor.decoder_options = options
  with pytest.raises(ValueError, match="no examples"):
    fine_tune(extractor, [])
  assert extractor.decoder_options == options
  fine_tune(extractor, _EXAMPLES, _SHORT, tmp_path)
  assert extractor.decoder_options == DecoderOptions()
  # A run that has ended gives its weights, so it resets, too.
  again = tiny_extractor()
  again = SpanExtractor(again.backbone, again.preprocessor, options)
  assert fine_tune(again, _EXAMPLES, _SHORT, tmp_path) == 0
  assert again.head_is_trained and again.decoder_options == DecoderOptions()
