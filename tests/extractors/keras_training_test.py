"""Keras' own compile, fit, evaluate, predict, save: strings in, logits out."""

import dataclasses
import functools
import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from programs import run_python
from span_runs import compared_weights, max_difference, read_events
from tiny_extractor import (
  CONTEXT,
  QUESTION,
  eagerly,
  shared_model,
  tiny_extractor,
)

from bert_span import (
  AnswerSpan,
  BertAdamW,
  BioExtractor,
  BioLoss,
  FineTuningOptions,
  SpanExtractor,
  SpanLoss,
  SquadExample,
  WarmupLinearDecay,
)
from bert_span.fine_tuning.fine_tuner import (
  batches_of,
  fine_tune,
  training_batches,
  training_set_of,
  window_loss_fn,
)
from bert_span.modeling.keras_internals import sublayers
from bert_span.training.loop import Trainer

_X = {"question": [QUESTION, "When?", "Who?"], "context": [CONTEXT] * 3}
_Y = {"answer_text": ["Anna", "1895", ""], "answer_start": [22, 30, -1]}
_BIO_Y = {
  "answer_text": [[["Anna", "1895"], ["Anna"]], [["1895"]], [[]]],
  "answer_start": [[[22, 30], [22]], [[30]], [[]]],
}


@pytest.mark.parametrize(
  ("kind", "y"), [(SpanExtractor, _Y), (BioExtractor, _BIO_Y)]
)
def test_fit_on_strings_lowers_the_loss_and_answers_with_the_new_weights(
  kind, y
):
  extractor = tiny_extractor(kind=kind)
  with eagerly():
    before = extractor.answer(QUESTION, CONTEXT)
  extractor.compile(optimizer=BertAdamW(5e-3))
  fit = extractor.fit(x=_X, y=y, batch_size=2, epochs=25, verbose=0)
  evaluate = functools.partial(extractor.evaluate, verbose=0, return_dict=True)
  last = evaluate(_X, y)["loss"]
  assert last < 0.2 * fit.history["loss"][0]
  with eagerly():
    after = extractor.answers(QUESTION, CONTEXT)
  assert "Anna" in [answer.text for answer in after]
  assert after[0] != before
  # The same of a dataset of batches.
  x = {name: tf.constant(texts) for name, texts in _X.items()}
  batches = tf.data.Dataset.from_tensor_slices(
    (x, extractor.preprocessor.label_tensors(y))
  ).batch(3)
  assert evaluate(batches)["loss"] == pytest.approx(last, rel=1e-5)
  logits = extractor.predict(_X, verbose=0)
  assert {name: x.shape[1:] for name, x in logits.items()} == {
    name: (32, *shape) for name, shape in kind.logits.items()
  }
  # Labels in a dataset are ignored.
  for name, values in extractor.predict(batches, verbose=0).items():
    np.testing.assert_allclose(values, logits[name], atol=1e-5)


def test_callbacks_of_keras_work(tmp_path):
  extractor = tiny_extractor()
  extractor.compile(optimizer=BertAdamW(1e-2))
  history = extractor.fit(
    x=_X,
    y=_Y,
    batch_size=2,
    epochs=3,
    validation_data=(_X, _Y),
    callbacks=[
      keras.callbacks.EarlyStopping("val_loss", patience=0, min_delta=100),
      keras.callbacks.ModelCheckpoint(tmp_path / "best.keras"),
      keras.callbacks.BackupAndRestore(tmp_path / "backup"),
      keras.callbacks.TensorBoard(tmp_path / "events"),
    ],
    verbose=0,
  ).history
  # No epoch improves by 100, so the second one is the last.
  assert len(history["loss"]) == 2
  last = extractor.evaluate(_X, _Y, batch_size=2, verbose=0, return_dict=True)[
    "loss"
  ]
  assert history["val_loss"][-1] == pytest.approx(last, rel=1e-5)
  events = read_events(tmp_path / "events")
  assert events["epoch_loss"] == pytest.approx(history["loss"])
  saved = keras.saving.load_model(tmp_path / "best.keras")
  for weight, expected in zip(saved.weights, extractor.weights, strict=True):
    np.testing.assert_array_equal(weight, expected)


_LOAD = """
import sys, keras
# Classes are registered when they are imported.
from bert_span import BertAdamW, BioExtractor, SpanExtractor
for path in sys.argv[1:]:
  load = keras.saving.load_model
  if not path.endswith(".keras"):
    load = SpanExtractor.from_preset
  print(load(path).answer("Who built the mill?", {context!r}))
"""


@pytest.mark.large
def test_saved_models_answer_alike_in_a_fresh_process(tmp_path):
  paths, expected = [], []
  for kind in (SpanExtractor, BioExtractor):
    extractor = tiny_extractor(version_2=True, kind=kind)
    extractor.compile(optimizer=BertAdamW(1e-2))
    extractor.save(tmp_path / f"{kind.head_name}.keras")
    extractor.save_to_preset(tmp_path / kind.head_name)
    paths += [f"{tmp_path}/{kind.head_name}{end}" for end in (".keras", "")]
    expected += [str(extractor.answer(QUESTION, CONTEXT))] * 2
  run = run_python("-c", _LOAD.format(context=CONTEXT), *paths)
  assert run.stdout.splitlines() == expected, run.stderr
  # The optimizer continues, and training does not warn of the pooler.
  loaded = keras.saving.load_model(paths[0])
  assert isinstance(loaded.optimizer, BertAdamW)
  trained = {id(weight) for weight in loaded.trainable_weights}
  assert not trained & {id(w) for w in loaded.backbone.pooled_dense.weights}


def test_a_model_of_prepared_windows_is_keras_own(tmp_path):
  extractor = tiny_extractor()
  inputs, labels = extractor.preprocessor(_X, _Y)
  extractor.compile(optimizer=BertAdamW(1e-2))
  expected = extractor.evaluate(_X, _Y, verbose=0)
  extractor.preprocessor = None
  assert extractor.evaluate(inputs, labels, verbose=0) == expected
  for method in (extractor.save_to_preset, extractor.export):
    with pytest.raises(ValueError, match="Set preprocessor"):
      method(tmp_path / "model")
  with pytest.raises(ValueError, match="Set preprocessor"):
    extractor.answer(QUESTION, CONTEXT)


def test_what_fit_cannot_take_is_refused():
  extractor = SpanExtractor.from_preset(shared_model())
  extractor.compile()
  with pytest.raises(ValueError, match="question and context"):
    extractor.fit([QUESTION], [CONTEXT])
  with pytest.raises(ValueError, match="validation_data"):
    extractor.fit(_X, _Y, validation_split=0.5)
  dataset = tf.data.Dataset.from_tensors((_X, _Y))
  with pytest.raises(ValueError, match="y and sample_weight must be None"):
    extractor.fit(dataset, sample_weight=[1.0, 2.0, 3.0])
  with pytest.raises(ValueError, match="list of str"):
    extractor.predict({"question": QUESTION, "context": CONTEXT})
  with pytest.raises(ValueError, match="3 answer_start, 2 sample_weight"):
    extractor.fit(_X, _Y, sample_weight=[1.0, 2.0])
  with pytest.raises(ValueError, match="export"):
    extractor.quantize("int8")
  wrong = {"answer_text": ["Anna"] * 3, "answer_start": [22, 22, 23]}
  with pytest.raises(Exception, match="char_start 23"):
    extractor.fit(_X, wrong, verbose=0)


def test_answers_follow_adapters_of_lora():
  extractor = tiny_extractor()
  with eagerly():
    extractor.answer(QUESTION, CONTEXT)
    extractor.backbone.enable_lora(4)
    extractor.head.trainable = False
    extractor.compile(optimizer=BertAdamW(0.05))
  before = extractor.predict(_X, verbose=0)["start_logits"]
  extractor.fit(_X, _Y, epochs=5, verbose=0)
  logits = extractor.predict(_X, verbose=0)["start_logits"]
  assert np.abs(logits - before).max() > 1e-2
  examples = [
    SquadExample("q", *texts) for texts in zip(*_X.values(), strict=True)
  ]
  (windows,) = extractor.window_logits(examples)
  is_token = windows.windows["input_mask"] > 0
  np.testing.assert_allclose(
    windows.logits["start_logits"][is_token],
    logits[:, : is_token.shape[1]][is_token],
    atol=1e-4,
  )


def test_a_saved_model_knows_its_frozen_layers_and_its_optimizer(tmp_path):
  extractor = tiny_extractor()
  extractor.backbone.trainable = False
  extractor.backbone.transformer_layers[-1].trainable = True
  extractor.compile(optimizer=BertAdamW(1e-3))
  extractor.fit(_X, _Y, verbose=0)
  extractor.save(tmp_path / "qa.keras")
  loaded = keras.saving.load_model(tmp_path / "qa.keras")
  names = [weight.path for weight in extractor.trainable_weights]
  assert [weight.path for weight in loaded.trainable_weights] == names
  assert int(loaded.optimizer.iterations) == 1
  # The pooler, on which no logit depends, stays frozen.
  loaded.backbone.trainable = True
  loaded.compile(optimizer=BertAdamW(1e-3))
  pooler = {id(weight) for weight in loaded.backbone.pooled_dense.weights}
  assert not pooler & {id(weight) for weight in loaded.trainable_weights}


_STEPS = 6
_OPTIONS = FineTuningOptions(train_batch_size=4, length_bucket=8)
_LOSSES = {
  "sum of ends": (SpanExtractor, SpanLoss("sum")),
  "tags": (BioExtractor, BioLoss("mean", (3.0, 2.0, 1.0))),
}
_EXAMPLES = [
  SquadExample("1", QUESTION, CONTEXT, (AnswerSpan("Anna", 22),)),
  SquadExample("2", "When?", CONTEXT, (AnswerSpan("1895", 30),)),
  SquadExample("3", "When?", f"{CONTEXT} {CONTEXT}", (AnswerSpan("1895", 30),)),
  SquadExample("4", "Who?", "Anna.", (AnswerSpan("Anna", 0),)),
  SquadExample("5", "Who?", "The mill.", is_impossible=True),
]


def _without_dropout(kind):
  extractor = tiny_extractor(kind=kind)
  for dropout in sublayers(extractor, keras.layers.Dropout):
    dropout.rate = 0.0
  return extractor


def _optimizer():
  return BertAdamW(WarmupLinearDecay(1e-2, _STEPS, 1))


def _loop(kind, loss, folder):
  """Losses and weights of the package's own loop, which clips nothing here."""
  extractor = _without_dropout(kind)
  training_set = training_set_of(extractor, _EXAMPLES, _OPTIONS)
  trainer = Trainer(
    extractor,
    window_loss_fn(extractor.preprocessor, loss),
    _optimizer(),
    _STEPS,
    dataclasses.replace(_OPTIONS, clip_norm=1e9, iterations_per_loop=1),
    folder,
  )
  trainer.train(batches_of(extractor, training_set, _OPTIONS).dataset)
  return read_events(folder)["loss"], compared_weights(extractor)


@pytest.mark.large
@pytest.mark.parametrize("name", _LOSSES)
def test_fit_has_the_losses_and_weights_of_fine_tune(tmp_path, name):
  kind, loss = _LOSSES[name]
  expected_losses, expected_weights = _loop(kind, loss, tmp_path)
  extractor = _without_dropout(kind)
  before = compared_weights(extractor)
  batches = training_batches(extractor, _EXAMPLES, _OPTIONS)
  extractor.preprocessor = None
  extractor.compile(_optimizer(), loss=loss)
  history = extractor.fit(batches, epochs=_STEPS, steps_per_epoch=1, verbose=0)
  np.testing.assert_allclose(
    history.history["loss"], expected_losses, rtol=1e-5
  )
  # The loss after the last update, too.
  assert max_difference(expected_weights, compared_weights(extractor)) < 1e-5
  assert max_difference(before, compared_weights(extractor)) > 1e-2


def test_fine_tune_leaves_frozen_layers_as_they_are(tmp_path):
  extractor = tiny_extractor()
  extractor.backbone.trainable = False
  frozen = [np.array(weight) for weight in extractor.backbone.weights]
  head = [np.array(weight) for weight in extractor.head.weights]
  fine_tune(extractor, _EXAMPLES, _OPTIONS, output_dir=tmp_path)
  for weight, before in zip(extractor.backbone.weights, frozen, strict=True):
    np.testing.assert_array_equal(weight, before)
  for weight, before in zip(extractor.head.weights, head, strict=True):
    assert np.any(weight != before)


def test_fewer_questions_than_a_batch_train_as_the_message_says():
  extractor, examples = tiny_extractor(), _EXAMPLES[:8]
  assert len(examples) < FineTuningOptions().train_batch_size
  with pytest.raises(ValueError, match=f"^{len(examples)} examples") as error:
    fine_tune(extractor, examples[:8])
  (size,) = re.findall(r"train_batch_size=(\d+)", str(error.value))
  before = compared_weights(extractor)
  assert fine_tune(
    extractor, examples, FineTuningOptions(train_batch_size=int(size))
  )
  assert max_difference(before, compared_weights(extractor)) > 0
  extractor.compile(optimizer=BertAdamW(1e-2))
  assert np.isfinite(extractor.fit(_X, _Y, verbose=0).history["loss"]).all()
