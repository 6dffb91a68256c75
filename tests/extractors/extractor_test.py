"""An extractor: its training, its answers, its copies and its files."""

import copy
import dataclasses
import json
import os
import re
import shutil
from unittest import mock

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from bert_span import (
  AnswerSpan,
  BertAdamW,
  BioDecoderOptions,
  BioExtractor,
  DecoderOptions,
  Extractor,
  FineTuningOptions,
  SpanExtractor,
  SquadExample,
  fine_tune,
)
from bert_span.answers.decoding.options import StepOptions
from bert_span.convert import ConvertOptions
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.extractors.precision import with_encoder_dtype
from bert_span.jobs.convert import convert
from bert_span.modeling.heads import SpanHead
from bert_span.pipelines import QuestionAnsweringPipeline
from bert_span.presets.huggingface_writer import save_huggingface
from bert_span.serving.export import export_saved_model
from bert_span.tflite.export import export_tflite, tflite_content
from bert_span.tflite.options import TFLiteOptions
from tests.support.models import (
  CONTEXT,
  QUESTION,
  VOCABULARY,
  eagerly,
  shared_extractor,
  shared_model,
  tiny_extractor,
)
from tests.support.training import read_events

_LONG = " ".join([CONTEXT, "Anna was in the river."] * 6)
_UNICODE = (
  "🙂 Le Café, 日, was built by Ãnna in 1895\u00a0near\u200b the river."
)
_X = {"question": [QUESTION, "When?", "Who?"], "context": [CONTEXT] * 3}
_Y = {"answer_text": ["Anna", "1895", ""], "answer_start": [22, 30, -1]}
_BIO_Y = {
  "answer_text": [[["Anna", "1895"], ["Anna"]], [["1895"]], [[]]],
  "answer_start": [[[22, 30], [22]], [[30]], [[]]],
}
_EXAMPLES = [
  SquadExample("1", QUESTION, CONTEXT, (AnswerSpan("Anna", 22),)),
  SquadExample("2", "When?", CONTEXT, (AnswerSpan("1895", 30),)),
  SquadExample("3", "When?", f"{CONTEXT} {CONTEXT}", (AnswerSpan("1895", 30),)),
  SquadExample("4", "Who?", "Anna.", (AnswerSpan("Anna", 0),)),
  SquadExample("5", "Who?", "The mill.", is_impossible=True),
]
_OPTIONS = FineTuningOptions(
  train_batch_size=4, num_train_epochs=1, length_bucket=8
)


@pytest.fixture(scope="module")
def extractor():
  """An extractor of random weights; not to be changed."""
  return shared_extractor(kind=SpanExtractor)


@pytest.fixture
def copied(tmp_path):
  """A copy of a model directory, in a folder with nothing else."""
  return shutil.copytree(shared_model(), tmp_path / "model")


def _examples(count=5):
  contexts = [CONTEXT, _LONG, _UNICODE, "", "Anna"]
  return [
    SquadExample(f"q{i}", QUESTION, contexts[i % 5]) for i in range(count)
  ]


def _rows(predictions):
  return [(p.qas_id, *_place(p.answer)) for p in predictions]


def _place(answer):
  return answer.text, answer.char_start, answer.char_end


def _check_equal(predictions, expected):
  """Checks texts and offsets, and scores up to the rounding of sums."""
  assert _rows(predictions) == _rows(expected)
  scores = [p.answer.score for p in expected]
  assert [p.answer.score for p in predictions] == pytest.approx(
    scores, abs=1e-4
  )


def _check_same_weights(extractor, expected):
  weights = (each.weights for each in (extractor, expected))
  for one, other in zip(*weights, strict=True):
    np.testing.assert_array_equal(one, other)


# What it is.


def test_its_parts_are_of_kerashub_and_in_its_summary(monkeypatch):
  monkeypatch.setenv("COLUMNS", "200")  # The table is cut to the terminal.
  extractor, lines = shared_extractor(), []
  assert isinstance(extractor, keras_hub.models.Task)
  assert isinstance(extractor.preprocessor, keras_hub.models.Preprocessor)
  tokenizer = extractor.preprocessor.tokenizer
  assert isinstance(tokenizer, keras_hub.tokenizers.Tokenizer)
  extractor.summary(print_fn=lines.append)
  text = "\n".join(lines)
  assert re.search(rf"word_piece_tokenizer.*: {len(VOCABULARY)}\b", text)
  assert "bert_backbone" in text and "span_head" in text


def test_a_tokenizer_has_the_methods_of_kerashub():
  tokenizer = shared_extractor().preprocessor.tokenizer
  assert tokenizer.get_vocabulary() == VOCABULARY
  assert tokenizer.vocabulary_size() == len(VOCABULARY)
  mill = VOCABULARY.index("mill")
  assert tokenizer.token_to_id("mill") == mill
  assert tokenizer.id_to_token(mill) == "mill"
  for tokenize in (tokenizer, tokenizer.tokenize):
    for texts in (["The mill"], tf.constant(["The mill"])):
      tokens = tokenize(texts)
      assert tokens.ids.to_list() == [[VOCABULARY.index("the"), mill]]
      assert tokens.char_starts.to_list() == [[0, 4]]


def test_a_preprocessor_takes_an_element_of_a_dataset():
  preprocessor = shared_extractor().preprocessor
  expected = preprocessor(_X, _Y)
  (one,) = tf.data.Dataset.from_tensor_slices((_X, _Y)).batch(3)
  (mapped,) = tf.data.Dataset.from_tensors((_X, _Y)).map(preprocessor)
  for received in (preprocessor((_X, _Y)), preprocessor(one), mapped):
    for part, values in zip(received, expected, strict=True):
      for name, value in values.items():
        np.testing.assert_array_equal(part[name], value)


def test_parts_are_saved_and_loaded_with_their_model(tmp_path):
  preprocessor = shared_extractor().preprocessor
  for part in (preprocessor, preprocessor.tokenizer):
    with pytest.raises(ValueError, match=r"Extractor\.from_preset\('x'\)"):
      type(part).from_preset("x")
    with pytest.raises(ValueError, match=r"extractor\.save_to_preset"):
      part.save_to_preset(str(tmp_path))


def test_parts_that_do_not_fit_are_refused(extractor):
  backbone, options = extractor.backbone, extractor.window_options
  preprocessor = SpanPreprocessor([*VOCABULARY, "more"], options=options)
  with pytest.raises(ValueError, match=r"25 tokens.* 24 "):
    SpanExtractor(backbone, preprocessor)
  with pytest.raises(ValueError, match=r"DecoderOptions.*BioDecoderOptions"):
    SpanExtractor(backbone, None, BioDecoderOptions())
  long = dataclasses.replace(options, max_seq_length=33)
  with pytest.raises(ValueError, match=r"max_seq_length.* 32.* 33"):
    SpanExtractor(backbone, SpanPreprocessor(VOCABULARY, options=long))


def test_other_decoder_options_give_other_answers(copied):
  extractor = SpanExtractor.from_preset(copied)
  with eagerly():
    extractor.answer(QUESTION, CONTEXT)
    (logits,) = extractor.window_logits(_examples(1))
    extractor.decode(logits)
    extractor.decoder_options = DecoderOptions(max_answer_length=1)
    assert " " not in extractor.answer(QUESTION, CONTEXT).text
    assert " " not in extractor.decode(logits)[0].answer.text
  with pytest.raises(ValueError, match=r"DecoderOptions.*NoneType"):
    extractor.decoder_options = None


# Training and logits of windows, as in Keras.


@pytest.mark.large
def test_fit_on_strings_lowers_the_loss_and_answers_with_the_new_weights():
  extractor = tiny_extractor(dropout=0.0, attention_dropout=0.0)
  with eagerly():
    before = extractor.answer(QUESTION, CONTEXT)
  extractor.compile(optimizer=BertAdamW(5e-3))
  first, *_ = extractor.evaluate(_X, _Y, verbose=0)
  x, y = ({name: 15 * values for name, values in d.items()} for d in (_X, _Y))
  fit = extractor.fit(x=x, y=y, batch_size=3, verbose=0)
  last, *_ = extractor.evaluate(_X, _Y, verbose=0)
  assert last < 0.1 * first and last < fit.history["loss"][0] < first
  with eagerly():
    after = extractor.answers(QUESTION, CONTEXT)
  assert "Anna" in [answer.text for answer in after]
  assert after[0] != before
  # The same of a dataset of batches.
  x = {name: tf.constant(texts) for name, texts in _X.items()}
  batches = tf.data.Dataset.from_tensor_slices(
    (x, extractor.preprocessor.label_tensors(_Y))
  ).batch(3)
  assert extractor.evaluate(batches, verbose=0)[0] == pytest.approx(last)
  logits = extractor.predict(_X, verbose=0)
  assert {name: x.shape for name, x in logits.items()} == {
    "start_logits": (3, 32),
    "end_logits": (3, 32),
  }
  # Labels in a dataset are ignored.
  for name, values in extractor.predict(batches, verbose=0).items():
    np.testing.assert_allclose(values, logits[name], atol=1e-5)


@pytest.mark.large
@pytest.mark.parametrize(
  ("kind", "y"), [(SpanExtractor, _Y), (BioExtractor, _BIO_Y)]
)
def test_single_batches_of_strings_are_those_of_fit(kind, y):
  extractor = tiny_extractor(kind=kind, dropout=0.0, attention_dropout=0.0)
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


@pytest.mark.large
def test_callbacks_of_keras_work(tmp_path):
  extractor = tiny_extractor()
  extractor.compile(optimizer=BertAdamW(1e-2), run_eagerly=True)
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


@pytest.mark.large
def test_a_callback_of_fit_may_use_the_model():
  extractor, seen = SpanExtractor.from_preset(shared_model()), []

  def on_epoch_end(epoch, logs):
    seen.append(extractor.evaluate(_X, _Y, verbose=0)[0])
    seen.append(extractor.test_on_batch(_X, _Y)[0])
    seen.append(extractor.predict_on_batch(_X)["start_logits"].shape[0])

  extractor.compile(keras.optimizers.SGD(1e-4), run_eagerly=True)
  callback = keras.callbacks.LambdaCallback(on_epoch_end=on_epoch_end)
  history = extractor.fit(
    *(_X, _Y),
    validation_data=(_X, _Y),
    callbacks=[callback],
    verbose=0,
  ).history
  assert seen[0] == pytest.approx(seen[1]) and seen[2] == 3
  assert history["val_loss"] == pytest.approx(seen[:1])


@pytest.mark.large
def test_a_model_of_prepared_windows_is_keras_own(tmp_path):
  extractor = tiny_extractor()
  inputs, labels = extractor.preprocessor(_X, _Y)
  extractor.compile(optimizer=BertAdamW(1e-2))
  expected = extractor.evaluate(_X, _Y, verbose=0)
  extractor.preprocessor = None
  assert extractor.evaluate(inputs, labels, verbose=0) == expected
  for method in (extractor.save_to_preset, extractor.export):
    with pytest.raises(ValueError, match="preprocessor"):
      method(tmp_path / "model")
  with pytest.raises(ValueError, match="preprocessor"):
    extractor.answer(QUESTION, CONTEXT)


def test_a_call_with_strings_is_refused(extractor):
  tensors = {name: tf.constant(texts) for name, texts in _X.items()}
  for x in (_X, QUESTION, [QUESTION], np.array([QUESTION]), tensors):
    with pytest.raises(ValueError, match="preprocessor"):
      extractor(x)
  windows = extractor.preprocessor(_X)
  assert extractor(windows)["start_logits"].shape[0] == 3


def test_losses_metrics_and_8_bits_that_do_not_fit_are_refused():
  extractor = SpanExtractor.from_preset(shared_model())
  with pytest.raises(ValueError, match="loss: mean_squared_error"):
    extractor.compile(loss="mse")
  for name in ("metrics", "weighted_metrics"):
    with pytest.raises(ValueError, match="metrics: mean_squared_error"):
      extractor.compile(**{name: ["mse"]})
  with pytest.raises(ValueError, match="quantization"):
    extractor.quantize("int8")
  # Of labels of any format, only losses of probabilities are known to be wrong.
  extractor.preprocessor = None
  with pytest.raises(ValueError, match="loss: kl_divergence"):
    extractor.compile(loss="kl_divergence")
  extractor.compile(loss="mse", metrics=["mse"])


@pytest.mark.large
def test_metrics_are_those_of_windows(tmp_path):
  extractor = SpanExtractor.from_preset(shared_model())
  extractor.compile(metrics=["accuracy"], run_eagerly=True)
  logits = extractor.predict(_X, verbose=0)
  _, labels = extractor.preprocessor(_X, _Y)
  scores = extractor.evaluate(_X, _Y, verbose=0, return_dict=True)
  for name in logits:
    is_right = np.argmax(logits[name], -1) == labels[name].numpy()
    assert scores[f"{name}_accuracy"] == pytest.approx(is_right.mean())
  extractor.save(tmp_path / "qa.keras")
  loaded = keras.saving.load_model(tmp_path / "qa.keras")
  again = loaded.evaluate(_X, _Y, verbose=0, return_dict=True)
  assert again == pytest.approx(scores)


@pytest.mark.large
def test_a_loss_that_is_no_number_is_said(capsys):
  extractor = tiny_extractor()
  extractor.compile(keras.optimizers.SGD(1e30), run_eagerly=True)
  extractor.fit(_X, _Y, epochs=3, verbose=0)
  (line,) = capsys.readouterr().err.splitlines()
  assert "epoch 2" in line and "learning rate" in line


# Adapters of LoRA, and layers of 8 bits.


@pytest.mark.large
def test_answers_follow_adapters_of_lora():
  extractor = tiny_extractor()
  with eagerly():
    extractor.answer(QUESTION, CONTEXT)
    extractor.backbone.enable_lora(4)
    extractor.head.trainable = False
    extractor.compile(optimizer=BertAdamW(0.05))
  before = extractor.predict(_X, verbose=0)["start_logits"]
  extractor.fit(_X, _Y, verbose=0)
  logits = extractor.predict(_X, verbose=0)["start_logits"]
  assert np.abs(logits - before).max() > 1e-2
  (windows,) = extractor.window_logits(
    [SquadExample("q", *texts) for texts in zip(*_X.values(), strict=True)]
  )
  is_token = windows.windows["padding_mask"] > 0
  np.testing.assert_allclose(
    windows.logits["start_logits"][is_token],
    logits[:, : is_token.shape[1]][is_token],
    atol=1e-4,
  )


_SAVED = {
  "directory": lambda one, folder: one.save_to_preset(folder / "model"),
  ".keras": lambda one, folder: one.save(folder / "qa.keras"),
  ".weights.h5": lambda one, folder: one.save_weights(folder / "a.weights.h5"),
  "Hugging Face": lambda one, folder: save_huggingface(one, folder / "there"),
  "TFLite": lambda one, folder: one.export(folder / "qa.tflite"),
  "SavedModel": lambda one, folder: one.export(folder / "base", version=3),
}


def _contents(folder):
  return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def quantized(tmp_path_factory):
  """An extractor that was saved and quantized since, and where it was saved."""
  extractor, folder = tiny_extractor(), tmp_path_factory.mktemp("saved")
  for name, save in _SAVED.items():
    if name not in ("TFLite", "SavedModel"):  # Slow, and refused as the others.
      save(extractor, folder)
  extractor.backbone.quantize("int8")
  return extractor, folder


@pytest.mark.large
@pytest.mark.parametrize("name", _SAVED)
def test_a_quantized_backbone_replaces_no_file(quantized, name):
  extractor, folder = quantized
  files = _contents(folder)
  with pytest.raises(ValueError, match=r"layer \w+ is quantized.*int8"):
    _SAVED[name](extractor, folder)
  assert _contents(folder) == files


def test_a_quantized_backbone_neither_answers_nor_trains():
  extractor = tiny_extractor()
  layer = extractor.backbone.transformer_layers[0]
  layer._feedforward_intermediate_dense.quantize("int8")
  for use in (
    lambda: extractor.answer(QUESTION, CONTEXT),
    lambda: with_encoder_dtype(extractor, "bfloat16"),
    lambda: fine_tune(extractor, _EXAMPLES, _OPTIONS),
    extractor.compile,
  ):
    with pytest.raises(ValueError, match=r"transformer_layer_0.*int8"):
      use()


@pytest.mark.large
def test_a_weight_that_is_not_finite_replaces_no_file(tmp_path):
  extractor = tiny_extractor()
  for name in ("directory", ".keras", "Hugging Face"):
    _SAVED[name](extractor, tmp_path)
  files = _contents(tmp_path)
  extractor.backbone.token_embedding.embeddings.assign_add(
    np.full((24, 16), np.nan)
  )
  for name in ("directory", ".keras", "Hugging Face"):
    with pytest.raises(ValueError, match=r"token_embedding.*NaN"):
      _SAVED[name](extractor, tmp_path)
  assert _contents(tmp_path) == files


# A head is trained, or does not answer.


def _untrained(kind=SpanExtractor):
  """An extractor that differs from a `shared_extractor` in its new head."""
  other = shared_extractor(kind=kind)
  return kind(other.backbone, other.preprocessor, other.decoder_options)


def _ask(extractor):
  with eagerly():
    return extractor.answers(QUESTION, CONTEXT)


def _keras_file(extractor, folder):
  extractor.save(folder / "qa.keras")
  return keras.saving.load_model(folder / "qa.keras")


def _config_and_weights(extractor, folder):
  made = type(extractor).from_config(extractor.get_config())
  with pytest.raises(ValueError, match="head_is_trained"):
    made.answer(QUESTION, CONTEXT)  # Its weights are random.
  made.set_weights(extractor.get_weights())
  return made


def _weights_file(extractor, folder):
  extractor.save_weights(folder / "qa.weights.h5")
  made = tiny_extractor(seed=3, kind=type(extractor))
  made.head_is_trained = not extractor.head_is_trained
  made.load_weights(folder / "qa.weights.h5")
  return made


def _directory(extractor, folder):
  extractor.save_to_preset(folder / "model")
  return Extractor.from_preset(folder / "model")


def _bfloat16_directory(extractor, folder):
  extractor.save_to_preset(folder / "model")
  return Extractor.from_preset(folder / "model", dtype="bfloat16")


def _shared_head(extractor, folder):
  return type(extractor)(
    extractor.backbone,
    extractor.preprocessor,
    extractor.decoder_options,
    extractor.head,
  )


_COPIES = {
  ".keras": _keras_file,
  "config": _config_and_weights,
  ".weights.h5": _weights_file,
  "deepcopy": lambda extractor, folder: copy.deepcopy(extractor),
  "directory": _directory,
  "directory in bfloat16": _bfloat16_directory,
  "bfloat16": lambda extractor, _: with_encoder_dtype(extractor, "bfloat16"),
  "shared head": _shared_head,
}


@pytest.mark.large
@pytest.mark.parametrize(
  ("name", "kind"),
  [
    *((name, SpanExtractor) for name in _COPIES),
    *((name, BioExtractor) for name in (".keras", "directory")),
  ],
)
def test_a_copy_answers_only_if_its_head_is_trained(tmp_path, name, kind):
  made = _COPIES[name](_untrained(kind), tmp_path)
  with pytest.raises(ValueError, match="head_is_trained"):
    made.answer(QUESTION, CONTEXT)
  trained = shared_extractor(kind=kind)
  made = _COPIES[name](trained, tmp_path)
  assert type(made) is kind
  expected = [answer.text for answer in _ask(trained)]
  assert [answer.text for answer in _ask(made)] == expected


def _saved(extractor, folder):
  """The directory of a model."""
  extractor.save_to_preset(folder / "model")
  return folder / "model"


_USES = {
  "predictions": lambda new, path: list(new.predictions(_EXAMPLES)),
  "window_logits": lambda new, path: list(new.window_logits(_EXAMPLES)),
  "pipeline": lambda new, path: QuestionAnsweringPipeline(new)(
    question=QUESTION, context=CONTEXT, max_question_len=8, doc_stride=4
  ),
  "teacher": lambda new, path: fine_tune(
    tiny_extractor(), _EXAMPLES, _OPTIONS, teachers={"new": new}
  ),
  "export": lambda new, path: new.export(path),
  "export in bfloat16": lambda new, path: new.export(path, dtype="bfloat16"),
  "SavedModel": lambda new, path: export_saved_model(new, path),
  "TFLite": lambda new, path: new.export(path.with_suffix(".tflite")),
  "TFLite's content": lambda new, path: tflite_content(new, TFLiteOptions()),
  "Hugging Face": lambda new, path: save_huggingface(new, path),
  "conversion": lambda new, path: convert(
    ConvertOptions(model=_saved(new, path.parent), output_dir=path)
  ),
  "given head": lambda new, path: SpanExtractor(
    new.backbone, new.preprocessor, head=SpanHead()
  ).answer(QUESTION, CONTEXT),
}


@pytest.mark.parametrize("name", _USES)
def test_a_new_head_is_refused_wherever_it_would_answer(tmp_path, name):
  with pytest.raises(ValueError, match="head_is_trained"):
    _USES[name](_untrained(), tmp_path / "new")
  assert not list(tmp_path.glob("new*"))


def test_a_directory_of_a_new_head_has_no_file_of_it(copied):
  _untrained().save_to_preset(copied)
  assert not (copied / "task.weights.h5").exists()


def test_weights_that_are_set_count_and_training_of_ones_own_is_said():
  extractor = _untrained()
  extractor.head.set_weights(extractor.head.get_weights())
  assert extractor.head_is_trained
  extractor = _untrained()
  extractor.head.kernel.assign_add(extractor.head.kernel)
  assert extractor.head_is_trained
  extractor = _untrained()
  extractor.head_is_trained = True
  assert _ask(extractor)


def _fit(extractor, y):
  extractor.compile(BertAdamW(1e-3), run_eagerly=True)
  extractor.fit(_X, y, verbose=0)


def _train_on_batch(extractor, y):
  extractor.compile(BertAdamW(1e-3), run_eagerly=True)
  extractor.train_on_batch(_X, y)


def _fit_windows(extractor, y):
  inputs, labels = extractor.preprocessor(_X, y)
  preprocessor, extractor.preprocessor = extractor.preprocessor, None
  extractor.compile(BertAdamW(1e-3), run_eagerly=True)
  extractor.fit(inputs, labels, verbose=0)
  extractor.preprocessor = preprocessor


def _fine_tune(extractor, y):
  fine_tune(extractor, _EXAMPLES, _OPTIONS)


_SPAN_FITTED = DecoderOptions(
  n_best_size=7,
  version_2_with_negative=True,
  temperature=1.7,
  log_odds_shift=0.5,
  null_score_diff_threshold=-3.0,
)
_BIO_FITTED = BioDecoderOptions(threshold=0.1, null_score_diff_threshold=2.0)


@pytest.mark.large
@pytest.mark.parametrize(
  ("train", "kind", "y", "options"),
  [
    *(
      (train, SpanExtractor, _Y, _SPAN_FITTED)
      for train in (_fit, _train_on_batch, _fit_windows, _fine_tune)
    ),
    (_train_on_batch, BioExtractor, _BIO_Y, _BIO_FITTED),
  ],
)
def test_a_training_gives_an_answer_and_resets_what_was_fitted(
  tmp_path, capsys, train, kind, y, options
):
  extractor = tiny_extractor(kind=kind)
  extractor = kind(extractor.backbone, extractor.preprocessor, options)
  train(extractor, y)
  extractor.check_trained()
  fitted = {"null_score_diff_threshold": 0.0}
  if kind is SpanExtractor:
    fitted |= {"temperature": None, "log_odds_shift": 0.0}
  expected = dataclasses.replace(options, **fitted)
  assert extractor.decoder_options == expected
  assert capsys.readouterr().err.count("null_score_diff_threshold") == 1
  extractor.save_to_preset(tmp_path / "model")
  saved = Extractor.from_preset(tmp_path / "model")
  assert saved.decoder_options == expected


@pytest.mark.large
def test_a_training_that_follows_another_has_nothing_to_reset(capsys):
  extractor = tiny_extractor()
  extractor.decoder_options = DecoderOptions(temperature=2.5)
  extractor.compile(BertAdamW(1e-3), run_eagerly=True)
  extractor.fit(_X, _Y, verbose=0)
  (line,) = capsys.readouterr().err.splitlines()
  assert "temperature=2.5" in line and "log_odds_shift" not in line
  extractor.fit(_X, _Y, verbose=0)
  extractor.compile(BertAdamW(1e-3), run_eagerly=True)
  extractor.fit(_X, _Y, verbose=0)
  assert not capsys.readouterr().err


@pytest.mark.large
def test_only_a_step_resets_what_was_fitted(tmp_path):
  extractor, options = tiny_extractor(), DecoderOptions(temperature=2.0)
  extractor.decoder_options = options
  extractor.compile(BertAdamW(1e-3), run_eagerly=True)
  with pytest.raises(ValueError, match="validation_data"):
    extractor.fit(_X, _Y, validation_split=0.5)
  extractor.fit(_X, _Y, epochs=0, verbose=0)
  extractor.evaluate(_X, _Y, verbose=0)
  assert extractor.decoder_options == options
  assert _keras_file(extractor, tmp_path).decoder_options == options


# Answers.


@pytest.mark.large
def test_one_trace_answers_all_questions_and_one_reads_all_datasets(
  monkeypatch,
):
  place = mock.Mock(wraps=SpanPreprocessor.place_windows)
  monkeypatch.setattr(
    SpanPreprocessor, "place_windows", lambda *texts: place(*texts)
  )
  extractor = tiny_extractor()
  for context in (CONTEXT, _LONG, ""):
    extractor.answer(QUESTION, context)
  extractor.answer([QUESTION] * 2, [CONTEXT] * 2)
  place.assert_called_once()
  for batch_size in (1, 2):
    extractor.predict(_X, batch_size=batch_size, verbose=0)
  assert place.call_count == 2


def test_several_questions_give_the_answers_of_each(extractor):
  contexts = [CONTEXT, _LONG, " \n\t", _UNICODE]
  single = [extractor.answer(QUESTION, context) for context in contexts]
  together = extractor.answer([QUESTION] * 4, contexts)
  assert list(map(_place, together)) == list(map(_place, single))
  assert _place(together[2]) == ("", 0, 0)
  assert extractor.answers(QUESTION, "") == []
  assert extractor.answers(QUESTION, CONTEXT) == single[:1]
  scores = [a.score for a in single]
  assert [a.score for a in together] == pytest.approx(scores, abs=1e-4)
  lists = extractor.answer([QUESTION] * 4, contexts, n_best=3)
  assert [len(answers) for answers in lists] == [3, 3, 1, 3]
  assert [answers[0] for answers in lists] == together
  assert extractor.answer([], []) == []


def test_arguments_that_do_not_fit_are_refused(extractor):
  for arguments, message in (
    ((QUESTION, [CONTEXT]), "question.*context"),
    (([QUESTION], [CONTEXT] * 2), "1 and 2"),
    ((QUESTION, CONTEXT, 21), "Received: 21"),
  ):
    with pytest.raises(ValueError, match=message):
      extractor.answer(*arguments)
  with pytest.raises(ValueError, match=r"batch_size.* 1"):
    list(extractor.predictions(_examples(), 0))


def test_fixed_length_gives_the_same_best_answers(extractor):
  fixed = tiny_extractor(fixed_length=True)
  with eagerly():
    (logits,) = fixed.window_logits(_examples())
    assert logits.logits["start_logits"].shape[1] == 32
    # Not of the fifth, a passage of one word: as in run_squad, its n-best
    # positions are all taken by the padding that a random model scores high.
    _check_equal(
      *(list(e.predictions(_examples(4))) for e in (fixed, extractor))
    )


@pytest.mark.parametrize("kind", [SpanExtractor, BioExtractor])
def test_every_token_has_its_logits_whatever_shares_its_batch(kind):
  extractor = shared_extractor(kind=kind)
  (one,) = extractor.window_logits(_examples(), batch_size=1)
  (many,) = extractor.window_logits(_examples(), batch_size=100)
  is_token = one.windows["padding_mask"] > 0
  for name, values in one.logits.items():
    assert (values[~is_token] == -1e9).all()
    assert (np.abs(values[is_token]) < 1e3).all()
    np.testing.assert_allclose(values, many.logits[name], atol=1e-4)


def test_a_graph_reads_at_most_the_windows_of_its_own_steps(extractor):
  read_so_far = []
  graph = extractor.make_graph(
    StepOptions(max_windows_per_step=2),
    on_windows=lambda read, _: read_so_far.append(int(read)),
  )
  with eagerly():
    answered = list(extractor.predictions(_examples(), graph=graph))
  assert len(answered) == 5
  assert np.diff([0, *read_so_far]).max() == 2


def test_chunks_of_examples_keep_their_order(extractor):
  examples = _examples(70)  # More than one chunk.
  predictions = list(extractor.predictions(examples))
  chunks = list(extractor.window_logits(examples))
  assert [len(chunk.examples) for chunk in chunks] == [64, 6]
  decoded = [p for chunk in chunks for p in extractor.decode(chunk)]
  assert decoded == predictions
  rows = _rows(predictions)
  assert [row[0] for row in rows] == [f"q{i}" for i in range(70)]
  assert [row[1:] for row in rows[5:]] == [row[1:] for row in rows[:-5]]


# Files.


@pytest.mark.large
@pytest.mark.parametrize("kind", [SpanExtractor, BioExtractor])
def test_scores_are_the_official_ones_of_the_answers(kind):
  extractor = shared_extractor(kind=kind)
  spans = extractor.answers(QUESTION, CONTEXT)
  right = tuple(AnswerSpan(span.text, span.char_start) for span in spans)
  examples = [
    SquadExample("right", QUESTION, CONTEXT, right, annotations=(right,)),
    SquadExample(
      *("wrong", QUESTION, CONTEXT, (AnswerSpan(".", 50),)),
      annotations=((AnswerSpan(".", 50),),),
    ),
  ]
  scores = extractor.score(examples)
  if kind is BioExtractor:
    assert scores["exact_match_recall"] == 100 * len(right) / (len(right) + 1)
    return
  assert scores["exact_match"] == 50.0
  # A question without an answer has a metric in SQuAD 2.0 only.
  examples.append(SquadExample("none", QUESTION, CONTEXT, is_impossible=True))
  scores = extractor.score(examples)
  assert (scores["HasAns_exact"], scores["NoAns_exact"]) == (50.0, 0.0)
  scores = shared_extractor(version_2=True).score(examples)
  assert {"NoAns_f1", "best_f1", "best_f1_thresh"} <= scores.keys()


def test_a_saved_model_is_complete(tmp_path):
  extractor = tiny_extractor(version_2=True, do_lower_case=False)
  extractor.save_to_preset(f"{tmp_path}/model/")
  assert os.listdir(tmp_path) == ["model"]
  assert sorted(os.listdir(tmp_path / "model")) == [
    *("README.md", "assets", "checksums.json", "config.json"),
    *("metadata.json", "model.weights.h5", "preprocessor.json", "task.json"),
    *("task.weights.h5", "tokenizer.json"),
  ]
  task, preprocessor = (
    json.loads((tmp_path / "model" / f"{name}.json").read_text())
    for name in ("task", "preprocessor")
  )
  assert task["registered_name"] == "bert_span>SpanExtractor"
  decoder = dataclasses.asdict(extractor.decoder_options)
  assert task["config"]["decoder_options"] == json.loads(json.dumps(decoder))
  windows = {"max_seq_length": 32, "doc_stride": 8, "max_query_length": 8}
  assert preprocessor["config"]["options"] == windows
  tokenizer = preprocessor["config"]["tokenizer"]["config"]
  assert tokenizer["vocabulary"] is None  # It is among the assets.
  assert tokenizer["do_lower_case"] is False


def test_saving_again_replaces_the_model_and_keeps_other_files(copied):
  names = set(os.listdir(copied))
  for name in ("note.txt", "selection.json"):
    (copied / name).write_text("of a model before")
  other = tiny_extractor(seed=2)
  other.save_to_preset(copied)
  assert os.listdir(copied.parent) == ["model"]
  assert set(os.listdir(copied)) == {*names, "note.txt"}
  _check_same_weights(SpanExtractor.from_preset(copied), other)


@pytest.mark.large
def test_other_file_systems_and_links_are_written_and_read(extractor, tmp_path):
  folder = f"file://{tmp_path}/model"
  tiny_extractor(kind=BioExtractor).save_to_preset(folder)
  extractor.save_to_preset(folder)
  latest = tmp_path / "latest"
  latest.symlink_to(tmp_path / "model")
  extractor.save_to_preset(latest)
  assert latest.is_symlink()
  for path in (folder, latest):
    loaded = SpanExtractor.from_preset(path)
    assert loaded.window_options == extractor.window_options
    _check_same_weights(loaded, extractor)


def test_only_models_are_replaced(tmp_path, extractor):
  chapter = tmp_path / "thesis" / "chapter1.txt"
  chapter.parent.mkdir()
  chapter.write_text("years of work")
  for path in (chapter.parent, chapter):
    with pytest.raises(ValueError, match=str(path)):
      extractor.save_to_preset(path)
  assert chapter.read_text() == "years of work"


@pytest.mark.parametrize(
  ("write", "message"),
  [
    (lambda one, path: one.export(f"{path}/a.onnx"), "integrations.md"),
    (lambda one, path: one.export(f"{path}/a", "onnx"), "integrations.md"),
    (lambda one, path: one.export(f"{path}/a", "tflite"), "or litert"),
    (lambda one, path: one.export(f"{path}/a", "litert"), r"\.tflite"),
    (
      lambda one, path: one.export(f"{path}/a.TFLITE", "tf_saved_model"),
      "ends",
    ),
    (lambda one, path: one.export(f"{path}/a.keras"), r"extractor\.save"),
    (lambda one, path: export_saved_model(one, f"{path}/a.tflite/"), "export"),
    (lambda one, path: export_tflite(one, f"{path}/folder"), r"\.tflite"),
    (lambda one, path: one.save(f"{path}/a.tflite"), "export"),
    (lambda one, path: one.save(f"{path}/a.onnx"), r"integrations\.md"),
    (lambda one, path: one.save_to_preset(f"{path}/a.keras"), r"\.save"),
  ],
)
def test_a_path_and_a_format_that_differ_are_refused(tmp_path, write, message):
  with pytest.raises(ValueError, match=message):
    write(shared_extractor(), tmp_path)
  assert not list(tmp_path.iterdir())
