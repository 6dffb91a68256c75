"""compile and fit beside the package's own loop."""

import dataclasses

import keras
import numpy as np
import pytest
from span_runs import compared_weights, max_difference, read_events
from tiny_extractor import CONTEXT, tiny_extractor

from bert_span import BioLoss, FineTuningOptions, SpanLoss
from bert_span.fine_tuning.fine_tuner import (
  batches_of,
  keras_batches,
  training_set_of,
)
from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD
from bert_span.modeling.keras_internals import sublayers
from bert_span.squad.example import Answer, SquadExample
from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.loop import Trainer
from bert_span.training.optimizer import BertAdamW

_STEPS = 6
_OPTIONS = FineTuningOptions(train_batch_size=4, length_bucket=8)
_LOSSES = {
  "sum of ends": (SPAN_HEAD, SpanLoss("sum")),
  "tags": (BIO_HEAD, BioLoss("mean", (3.0, 2.0, 1.0))),
}


_EXAMPLES = [
  SquadExample("1", "Who built the mill?", CONTEXT, (Answer("Anna", 22),)),
  SquadExample("2", "When?", CONTEXT, (Answer("1895", 30),)),
  SquadExample("3", "When?", f"{CONTEXT} {CONTEXT}", (Answer("1895", 30),)),
  SquadExample("4", "Who?", "Anna.", (Answer("Anna", 0),)),
  SquadExample("5", "Who?", "The mill.", is_impossible=True),
]


def _extractor(head):
  extractor = tiny_extractor(head=head)
  for dropout in sublayers(extractor.model, keras.layers.Dropout):
    dropout.rate = 0.0
  return extractor


def _optimizer():
  return BertAdamW(WarmupLinearDecay(1e-2, _STEPS, 1))


def _loop(head, loss, folder):
  """Losses and weights of the package's own loop, which clips nothing here."""
  extractor = _extractor(head)
  training_set = training_set_of(extractor, _EXAMPLES, _OPTIONS)
  trainer = Trainer(
    extractor.model,
    extractor.head.loss_fn(loss),
    _optimizer(),
    _STEPS,
    dataclasses.replace(_OPTIONS, clip_norm=1e9, iterations_per_loop=1),
    folder,
  )
  trainer.train(batches_of(extractor, training_set, _OPTIONS).dataset)
  return read_events(folder)["loss"], compared_weights(extractor.model)


@pytest.mark.large
@pytest.mark.parametrize("name", _LOSSES)
def test_fit_has_the_losses_and_weights_of_the_own_loop(tmp_path, name):
  head, loss = _LOSSES[name]
  expected_losses, expected_weights = _loop(head, loss, tmp_path)
  extractor = _extractor(head)
  model = extractor.model
  before = compared_weights(model)
  # step_test.py compiles a step by XLA, as Keras would here.
  model.compile(_optimizer(), loss=loss, jit_compile=False)
  batches = keras_batches(extractor, _EXAMPLES, _OPTIONS)
  history = model.fit(batches, epochs=_STEPS, steps_per_epoch=1, verbose=0)
  np.testing.assert_allclose(
    history.history["loss"], expected_losses, rtol=1e-5
  )
  # The loss after the last update, too.
  assert max_difference(expected_weights, compared_weights(model)) < 1e-5
  assert max_difference(before, compared_weights(model)) > 1e-2
