"""Keras' own compile, fit, evaluate, predict, save: strings in, logits out."""

import dataclasses
import functools
import re
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

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
from bert_span.modeling.keras_internals import sublayers
from bert_span.training.fine_tuner import (
  batches_of,
  fine_tune,
  label_training_windows,
  training_batches,
  window_loss_fn,
)
from bert_span.training.loop import Trainer
from tests.support.models import (
  CONTEXT,
  QUESTION,
  eagerly,
  shared_model,
  tiny_extractor,
)
from tests.support.programs import run_python
from tests.support.training import compared_weights, max_difference, read_events

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
from bert_span import BertAdamW, BioExtractor, Extractor, SpanExtractor
for path in sys.argv[1:]:
  load = keras.saving.load_model
  if not path.endswith(".keras"):
    load = Extractor.from_preset
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


_batched = tf.data.Dataset.from_tensor_slices


def _batches(x, *labels):
  """A dataset of batches of two questions."""
  return _batched((x, *labels) if labels else x).batch(2)


def _generated():
  """The same, of batches of unknown shapes."""
  types = (
    dict.fromkeys(_X, tf.string),
    {"answer_text": tf.string, "answer_start": tf.int32},
  )
  return tf.data.Dataset.from_generator(lambda: iter([(_X, _Y)]), types)


def _streamed(y):
  """A dataset of one batch that does not say how many it has."""
  return _batched((_X, y)).batch(3).filter(lambda x, y: True)


class _Sequence(keras.utils.PyDataset):
  def __len__(self):
    return 1

  def __getitem__(self, index):
    return _X, _Y


_NAN = float("nan")
_MOVED = {**_Y, "answer_start": [22, 31, -1]}
_BIO_MOVED = {**_BIO_Y, "answer_start": [[[22, 30], [23]], [[30]], [[]]]}
_RAGGED = {k: tf.ragged.constant(v, ragged_rank=2) for k, v in _BIO_Y.items()}
# Arguments of fit, and what names the fault.
_WRONG = {
  "no y": ({"x": _X}, "y is missing"),
  "texts alone": ({"x": _X, "y": _Y["answer_text"]}, "y must be .* list"),
  "a pair": ({"x": _X, "y": ([5] * 3, [5] * 3)}, "y must be .* tuple"),
  "a key": ({"x": _X, "y": {"answer_text": ["Anna"] * 3}}, "answer_start"),
  "offset": ({"x": _X, "y": _MOVED}, "question 1: .*'1895'.* 31"),
  "negative": ({"x": _X, "y": {**_Y, "answer_start": [-2, 30, -1]}}, " -2 "),
  "no start": (
    {"x": _X, "y": {**_Y, "answer_start": [22, -1, -1]}},
    "1: .* -1 ",
  ),
  "large": (
    {"x": _X, "y": {**_Y, "answer_start": [2**32 + 22, 30, -1]}},
    "0: ",
  ),
  "larger": ({"x": _X, "y": {**_Y, "answer_start": [22, 2**70, -1]}}, r"\[1\]"),
  "float": (
    {"x": _X, "y": {**_Y, "answer_start": np.array([22, 30, _NAN])}},
    r"answer_start\[0\] must be an int",
  ),
  "None": (
    {"x": _X, "y": {**_Y, "answer_text": ["Anna", None, ""]}},
    r"answer_text\[1\] .*None",
  ),
  "rank of lists": (
    {"x": _X, "y": {**_Y, "answer_text": np.array([["Anna"]] * 3)}},
    r"answer_text\[0\]",
  ),
  "rank": (
    {"x": _X, "y": {**_Y, "answer_start": tf.zeros([3, 1], tf.int32)}},
    r"answer_start .*rank 1.*\(3, 1\)",
  ),
  "lengths": (
    {"x": _X, "y": {n: v[:2] for n, v in _Y.items()}},
    "3 question, 3 context, 2 answer_text",
  ),
  "bytes": ({"x": {**_X, "context": [b"\xff"] * 3}, "y": _Y}, "0: .*UTF-8"),
  "NaN weight": (
    {"x": _X, "y": _Y, "sample_weight": [1.0, 1.0, _NAN]},
    "question 2: sample_weight",
  ),
  "nothing": (
    {"x": {n: [] for n in _X}, "y": {n: [] for n in _Y}},
    "x has no questions",
  ),
  "prepared": ({"x": {"token_ids": [[1]]}, "y": _Y}, "token_ids.* None"),
  "generator": ({"x": (x for x in [_X])}, "tf.data.Dataset.*generator"),
  "PyDataset": ({"x": _Sequence()}, "tf.data.Dataset.*_Sequence"),
  "unbatched": ({"x": _batched((_X, _Y))}, r"question .*\.batch\("),
  "dataset of x": ({"x": _batches(_X)}, "y is missing"),
  "dataset of tuples": (
    {"x": _batches(tuple(_X.values()), _Y)},
    "x must be .*tuple",
  ),
  "dataset of four": ({"x": _batches(_X, _Y, [1] * 3, [1] * 3)}, "of 4"),
  "dataset of texts": ({"x": _batches(_X, _Y["answer_text"])}, "y must be"),
  "dataset of floats": (
    {"x": _batches(_X, {**_Y, "answer_start": [22.0, 30.0, -1.0]})},
    "answer_start .*integers.* float32",
  ),
  "no shapes": ({"x": _generated()}, "output_signature"),
  "batch_size": ({"x": _batches(_X, _Y), "batch_size": 2}, "batch_size"),
  "row of a dataset": ({"x": _batches(_X, _MOVED)}, "question 1 of batch 0: "),
  "row of its last batch": (
    {"x": _batched((_X, {**_Y, "answer_start": [22, 30, 7]})).batch(2)},
    "question 0 of batch 1: ",
  ),
  "row of an endless dataset": (
    {"x": _batches(_X, _MOVED).repeat(), "steps_per_epoch": 1},
    "question 1 of batch 0: ",
  ),
  "row of a generator": ({"x": _streamed(_MOVED)}, "question 1 of batch 0: "),
  "empty dataset": ({"x": _batches(_X, _Y).take(0)}, "no questions"),
  "validation_data": (
    {"x": _X, "y": _Y, "validation_data": (_X, _MOVED)},
    "validation_data: question 1: ",
  ),
  "validation dataset": (
    {"x": _X, "y": _Y, "validation_data": _batches(_X, _MOVED)},
    "validation_data: question 1 of batch 0: ",
  ),
}
_BIO_WRONG = {
  "y of a span head": ({"x": _X, "y": _Y}, r"answer_text\[0\] .*annotators"),
  "no annotators": (
    {"x": _X, "y": {n: [[v] for v in values] for n, values in _Y.items()}},
    r"answer_text\[0\]\[0\]",
  ),
  "starts": (
    {"x": _X, "y": {**_BIO_Y, "answer_start": [[[22], [22]], [[30]], [[]]]}},
    "question 0: answer_text and answer_start .*annotators",
  ),
  "offset": ({"x": _X, "y": _BIO_MOVED}, "question 0: .*'Anna'.* 23 "),
  "None": (
    {"x": _X, "y": {**_BIO_Y, "answer_text": [[["Anna", None]], [[]], [[]]]}},
    r"answer_text\[0\]\[0\]\[1\]",
  ),
  "unbatched": ({"x": _batched((_X, _RAGGED))}, r"\.batch\("),
  "rank": ({"x": _batches(_X, _Y)}, "answer_text .*rank 3"),
}


def _compiled(kind=SpanExtractor, **options):
  """An extractor that runs op by op, sooner than a graph is made."""
  extractor = kind.from_preset(shared_model(kind=kind))
  extractor.compile(run_eagerly=True, **options)
  return extractor


@pytest.fixture(scope="module")
def compiled():
  """Extractors by kind, which tests share."""
  return {kind: _compiled(kind) for kind in (SpanExtractor, BioExtractor)}


@pytest.mark.parametrize(
  ("kind", "arguments", "named"),
  [(SpanExtractor, *case) for case in _WRONG.values()]
  + [(BioExtractor, *case) for case in _BIO_WRONG.values()],
  ids=[*_WRONG, *(f"tags, {name}" for name in _BIO_WRONG)],
)
def test_a_wrong_y_or_dataset_is_one_error_before_the_first_step(
  compiled, kind, arguments, named
):
  extractor = compiled[kind]
  steps = int(extractor.optimizer.iterations)
  with pytest.raises(ValueError, match=named) as error:
    extractor.fit(**arguments, verbose=0)
  assert len(str(error.value)) < 300
  assert int(extractor.optimizer.iterations) == steps


def test_nothing_to_read_and_missing_labels_are_refused_everywhere(compiled):
  extractor = compiled[SpanExtractor]
  nothing = {name: [] for name in _X}
  for ask in (extractor.predict, extractor.predict_on_batch):
    with pytest.raises(ValueError, match="no questions"):
      ask(nothing)
  with pytest.raises(ValueError, match="no questions"):
    extractor.predict(_batches(_X).filter(lambda x: False), verbose=0)
  for ask in (
    *(extractor.fit, extractor.evaluate),
    *(extractor.train_on_batch, extractor.test_on_batch),
  ):
    with pytest.raises(ValueError, match="y is missing"):
      ask(_X)
    with pytest.raises(ValueError, match=r"question 1: .* 31"):
      ask(_X, _MOVED)
  with pytest.raises(ValueError, match=r"question 1 of batch 0: .* 31"):
    extractor.evaluate(_batches(_X, _MOVED), verbose=0)
  weighted = _batches(_X, _Y, [1.0, 1.0, _NAN])
  with pytest.raises(ValueError, match="question 0 of batch 1: sample_weight"):
    extractor.evaluate(weighted, verbose=0)
  with pytest.raises(ValueError, match=r"call `compile\(\)`"):
    SpanExtractor.from_preset(shared_model()).fit(_X, _Y)
  assert not extractor.fit(_X, _Y, epochs=0).epoch


def test_columns_of_arrays_are_read_as_lists_are(compiled):
  extractor = compiled[SpanExtractor]
  expected = extractor.evaluate(_X, _Y, verbose=0)
  for kind in (object, None):
    x, y = (
      {name: np.array(values, kind) for name, values in columns.items()}
      for columns in (_X, _Y)
    )
    assert extractor.evaluate(x, y, verbose=0) == expected
  # As Keras does, None is no weight.
  batches = _batched((_X, _Y)).batch(3).map(lambda x, y: (x, y, None))
  assert extractor.evaluate(batches, verbose=0) == expected


def test_a_right_fit_after_a_wrong_one_ends():
  extractor = SpanExtractor.from_preset(shared_model())
  extractor.compile()
  wrong = {"answer_text": tf.constant([["Anna"]] * 3), "answer_start": [22] * 3}
  with pytest.raises(ValueError, match="answer_text"):
    extractor.fit(_X, wrong, verbose=0)
  with pytest.raises(ValueError, match="question 0 of batch 0"):
    extractor.fit(_batches(_X, {**_Y, "answer_start": [3] * 3}), verbose=0)
  histories = []
  thread = threading.Thread(
    target=lambda: histories.append(extractor.fit(_X, _Y, verbose=0)),
    daemon=True,
  )
  thread.start()
  thread.join(timeout=120)
  (history,) = histories
  assert np.isfinite(history.history["loss"]).all()


@pytest.mark.parametrize(
  ("kind", "y"), [(SpanExtractor, _Y), (BioExtractor, _BIO_Y)]
)
def test_single_batches_of_strings_are_those_of_fit(kind, y):
  extractor = tiny_extractor(kind=kind)
  for dropout in sublayers(extractor, keras.layers.Dropout):
    dropout.rate = 0.0
  extractor.compile(keras.optimizers.SGD(1e-3), run_eagerly=True)
  expected = extractor.evaluate(_X, y, verbose=0, return_dict=True)
  tested = extractor.test_on_batch(_X, y, return_dict=True)
  assert tested["loss"] == pytest.approx(expected["loss"], rel=1e-5)
  logits = extractor.predict(_X, verbose=0)
  for name, values in extractor.predict_on_batch(_X).items():
    np.testing.assert_allclose(values, logits[name], atol=1e-5)
  trained = extractor.train_on_batch(_X, y, return_dict=True)
  assert trained["loss"] == pytest.approx(expected["loss"], rel=1e-5)
  assert extractor.evaluate(_X, y, verbose=0, return_dict=True) != expected


def test_a_call_with_strings_is_refused(compiled):
  extractor = compiled[SpanExtractor]
  tensors = {name: tf.constant(texts) for name, texts in _X.items()}
  for x in (_X, QUESTION, [QUESTION], np.array([QUESTION]), tensors):
    with pytest.raises(ValueError, match="preprocessor"):
      extractor(x)
  windows = extractor.preprocessor(_X)
  assert extractor(windows)["start_logits"].shape[0] == 3


_losses = keras.losses


@pytest.mark.parametrize(
  ("kind", "loss"),
  [
    (SpanExtractor, "sparse_categorical_crossentropy"),
    (SpanExtractor, "crossentropy"),
    (SpanExtractor, _losses.SparseCategoricalCrossentropy()),
    (SpanExtractor, _losses.sparse_categorical_crossentropy),
    (SpanExtractor, {"start_logits": _losses.KLDivergence()}),
    (SpanExtractor, [SpanLoss(), "sparse_categorical_crossentropy"]),
    # It would broadcast positions to all logits.
    (SpanExtractor, _losses.CategoricalCrossentropy(from_logits=True)),
    (SpanExtractor, "mse"),
    (BioExtractor, "categorical_crossentropy"),
    (BioExtractor, _losses.SparseCategoricalCrossentropy(from_logits=True)),
    (BioExtractor, functools.partial(_losses.categorical_crossentropy)),
  ],
)
def test_a_loss_that_does_not_fit_logits_and_labels_is_refused(
  compiled, kind, loss
):
  with pytest.raises(ValueError, match=r"Crossentropy\(from_logits=True\)"):
    compiled[kind].compile(loss=loss)


def test_a_loss_of_probabilities_is_refused_without_a_preprocessor():
  extractor = tiny_extractor()
  extractor.preprocessor = None
  for loss in ("sparse_categorical_crossentropy", "kl_divergence"):
    with pytest.raises(ValueError, match=loss):
      extractor.compile(loss=loss)
  extractor.compile(loss="mse")


@pytest.mark.large
def test_the_losses_of_keras_that_fit_are_those_of_the_package():
  losses = []
  for loss in (
    SpanLoss("sum"),
    _losses.SparseCategoricalCrossentropy(from_logits=True),
    functools.partial(
      _losses.sparse_categorical_crossentropy, from_logits=True
    ),
    eval("lambda y, logits: loss(y, logits)", {"loss": SpanLoss("sum", None)}),
  ):
    losses.append(_compiled(loss=loss).evaluate(_X, _Y, verbose=0)[0])
  np.testing.assert_allclose(losses, losses[0], rtol=1e-6)


@pytest.mark.large
def test_metrics_are_those_of_windows_or_refused(tmp_path):
  extractor = SpanExtractor.from_preset(shared_model())
  logits = extractor.predict(_X, verbose=0)
  _, labels = extractor.preprocessor(_X, _Y)
  expected = {
    name: np.mean(np.argmax(logits[name], -1) == labels[name].numpy())
    for name in logits
  }
  for metric in (
    "accuracy",
    keras.metrics.SparseCategoricalAccuracy("accuracy"),
  ):
    extractor.compile(metrics=[metric], run_eagerly=True)
    scores = extractor.evaluate(_X, _Y, verbose=0, return_dict=True)
    for name, accuracy in expected.items():
      assert scores[f"{name}_accuracy"] == pytest.approx(accuracy)
  extractor.save(tmp_path / "qa.keras")
  loaded = keras.saving.load_model(tmp_path / "qa.keras")
  assert loaded.evaluate(_X, _Y, verbose=0, return_dict=True) == pytest.approx(
    scores
  )
  for metrics in (["mse"], [keras.metrics.AUC()], {"end_logits": ["mae"]}):
    with pytest.raises(ValueError, match=r"does not fit.*accuracy"):
      extractor.compile(metrics=metrics)
  # Padding would count as B.
  tags = BioExtractor.from_preset(shared_model(kind=BioExtractor))
  with pytest.raises(ValueError, match="accuracy does not fit"):
    tags.compile(metrics=["accuracy"])


@pytest.mark.large
def test_questions_that_are_cut_are_counted_once(capsys):
  extractor = _compiled()
  long = ["who " * 9, "when " * 9, "Who?"]
  x = {**_X, "question": long}
  for read in (
    lambda: extractor.fit(
      x, _Y, epochs=2, batch_size=1, validation_data=(x, _Y), verbose=0
    ),
    lambda: extractor.evaluate(_batches(x, _Y), verbose=0),
  ):
    read()
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(r"(who who|when when).*max_query_length=8.* 1 more", line)
  extractor.evaluate(_X, _Y, verbose=0)
  assert not capsys.readouterr().err


def test_a_loss_that_is_no_number_is_said(capsys):
  extractor = tiny_extractor()
  extractor.compile(keras.optimizers.SGD(1e30), run_eagerly=True)
  extractor.fit(_X, _Y, epochs=3, verbose=0)
  (line,) = capsys.readouterr().err.splitlines()
  assert "epoch 2" in line and "learning rate" in line


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
  is_token = windows.windows["padding_mask"] > 0
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
  training_set = label_training_windows(extractor, _EXAMPLES, _OPTIONS)
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
