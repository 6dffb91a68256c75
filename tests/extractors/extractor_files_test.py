"""How an extractor is copied, saved and exported: heads, LoRA, 8 bits."""

import copy
import dataclasses

import keras
import numpy as np
import pytest

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
from bert_span.convert import ConvertOptions
from bert_span.extractors.precision import with_encoder_dtype
from bert_span.jobs.convert import convert
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.encoder import layer_calls
from bert_span.modeling.heads import SpanHead
from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.modeling.keras_internals import lora_products
from bert_span.pipelines import QuestionAnsweringPipeline
from bert_span.presets.huggingface_writer import save_huggingface
from bert_span.serving.export import export_saved_model
from bert_span.tflite.export import export_tflite, tflite_content
from bert_span.tflite.options import TFLiteOptions
from tests.support.models import (
  CONTEXT,
  INPUTS,
  QUESTION,
  eagerly,
  extractor_of,
  shared_extractor,
  tiny_extractor,
)

_X = {"question": [QUESTION], "context": [CONTEXT]}
_Y = {"answer_text": ["Anna"], "answer_start": [22]}
_BIO_Y = {"answer_text": [[["Anna"]]], "answer_start": [[[22]]]}
_EXAMPLES = [
  SquadExample(str(i), QUESTION, CONTEXT, (AnswerSpan("Anna", 22),))
  for i in range(2)
]
_OPTIONS = FineTuningOptions(train_batch_size=2, num_train_epochs=1)


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
  with pytest.raises(ValueError, match="Train it first"):
    made.answer(QUESTION, CONTEXT)  # Its weights are random.
  made.set_weights(extractor.get_weights())
  return made


def _weights_file(extractor, folder):
  extractor.save_weights(folder / "qa.weights.h5")
  made = tiny_extractor(seed=3, kind=type(extractor))
  made.head_is_trained = not extractor.head_is_trained
  made.load_weights(folder / "qa.weights.h5")
  return made


def _directory(extractor, folder, **options):
  extractor.save_to_preset(folder / "model", **options)
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


@pytest.mark.parametrize("kind", [SpanExtractor, BioExtractor])
@pytest.mark.parametrize("name", _COPIES)
def test_a_copy_answers_only_if_its_head_is_trained(tmp_path, name, kind):
  made = _COPIES[name](_untrained(kind), tmp_path)
  with pytest.raises(ValueError, match="Train it first"):
    made.answer(QUESTION, CONTEXT)
  trained = shared_extractor(kind=kind)
  made = _COPIES[name](trained, tmp_path)
  assert type(made) is kind
  expected = [answer.text for answer in _ask(trained)]
  assert [answer.text for answer in _ask(made)] == expected


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
  "given head": lambda new, path: SpanExtractor(
    new.backbone, new.preprocessor, head=SpanHead()
  ).answer(QUESTION, CONTEXT),
}


@pytest.mark.parametrize("name", _USES)
def test_a_new_head_is_refused_wherever_it_would_answer(tmp_path, name):
  with pytest.raises(ValueError, match="Train it first"):
    _USES[name](_untrained(), tmp_path / "new")
  assert not list(tmp_path.glob("new*"))


def test_an_encoder_without_a_head_is_not_converted(tmp_path):
  _untrained().save_to_preset(tmp_path / "model")
  for to in ("bert_span", "huggingface"):
    with pytest.raises(ValueError, match="Train it first"):
      convert(
        ConvertOptions(
          model=tmp_path / "model", output_dir=tmp_path / "new", to=to
        )
      )
  assert not (tmp_path / "new").exists()


def _fit(extractor, y):
  extractor.compile(BertAdamW(1e-3))
  extractor.fit(_X, y, verbose=0)


def _train_on_batch(extractor, y):
  extractor.compile(BertAdamW(1e-3))
  extractor.train_on_batch(_X, y)


def _fit_windows(extractor, y):
  inputs, labels = extractor.preprocessor(_X, y)
  preprocessor, extractor.preprocessor = extractor.preprocessor, None
  extractor.compile(BertAdamW(1e-3))
  extractor.fit(inputs, labels, verbose=0)
  extractor.preprocessor = preprocessor


def _fine_tune(extractor, y):
  fine_tune(extractor, _EXAMPLES, _OPTIONS)


@pytest.mark.parametrize(
  "train", [_fit, _train_on_batch, _fit_windows, _fine_tune]
)
@pytest.mark.parametrize(
  ("kind", "y", "options"),
  [
    (
      SpanExtractor,
      _Y,
      DecoderOptions(
        n_best_size=7,
        version_2_with_negative=True,
        temperature=1.7,
        log_odds_shift=0.5,
        null_score_diff_threshold=-3.0,
      ),
    ),
    (
      BioExtractor,
      _BIO_Y,
      BioDecoderOptions(threshold=0.1, null_score_diff_threshold=2.0),
    ),
  ],
)
def test_a_training_gives_an_answer_and_resets_what_was_fitted(
  tmp_path, capsys, train, kind, y, options
):
  if train is _fine_tune and kind is BioExtractor:
    pytest.skip("as with a span head")
  extractor = tiny_extractor(kind=kind)
  extractor = kind(extractor.backbone, extractor.preprocessor, options)
  train(extractor, y)
  extractor.check_trained()
  fitted = {"null_score_diff_threshold": 0.0}
  if kind is SpanExtractor:
    fitted |= {"temperature": None, "log_odds_shift": 0.0}
  expected = dataclasses.replace(options, **fitted)
  assert extractor.decoder_options == expected
  assert capsys.readouterr().err.count("are reset") == 1
  extractor.save_to_preset(tmp_path / "model")
  saved = Extractor.from_preset(tmp_path / "model")
  assert saved.decoder_options == expected


@pytest.mark.large
def test_only_a_step_resets_what_was_fitted(tmp_path):
  extractor, options = tiny_extractor(), DecoderOptions(temperature=2.0)
  extractor.decoder_options = options
  extractor.compile(BertAdamW(1e-3))
  with pytest.raises(ValueError, match="validation_data"):
    extractor.fit(_X, _Y, validation_split=0.5)
  extractor.fit(_X, _Y, epochs=0, verbose=0)
  extractor.evaluate(_X, _Y, verbose=0)
  with pytest.raises(ValueError, match="no examples"):
    fine_tune(extractor, [])
  assert extractor.decoder_options == options
  fine_tune(extractor, _EXAMPLES, _OPTIONS, tmp_path)
  assert extractor.decoder_options == DecoderOptions()
  # A run that has ended gives its weights, so it resets, too.
  again = tiny_extractor()
  again = SpanExtractor(again.backbone, again.preprocessor, options)
  assert fine_tune(again, _EXAMPLES, _OPTIONS, tmp_path) == 0
  assert again.head_is_trained and again.decoder_options == DecoderOptions()
  # Options that were fitted to the current weights stay.
  extractor.decoder_options = options
  assert _keras_file(extractor, tmp_path).decoder_options == options


def test_weights_that_are_set_count_and_training_of_ones_own_is_said():
  extractor = _untrained()
  extractor.head.set_weights(extractor.head.get_weights())
  assert extractor.head_is_trained
  extractor = _untrained()
  extractor.head_is_trained = True
  assert _ask(extractor)


def _with_lora(architecture):
  """An extractor with LoRA in some layers and in the table of tokens."""
  extractor = extractor_of(architecture)
  backbone, rng = extractor.backbone, np.random.default_rng(3)
  backbone.enable_lora(2)
  backbone.token_embedding.enable_lora(3, lora_alpha=6)
  layer, *_ = layer_calls(backbone)
  dense = layer._self_attention_layer._output_dense
  dense.enable_lora(2)
  for _, _, *factors in lora_products(extractor):
    for factor in factors:
      factor.assign(0.3 * rng.normal(size=factor.shape))
  return extractor


def _check_logits(received, expected, tolerance=1e-5):
  is_token = INPUTS["padding_mask"] > 0
  for name, values in expected.items():
    np.testing.assert_allclose(
      received[name][is_token], values[is_token], atol=tolerance
    )


@pytest.mark.parametrize(
  "architecture",
  [
    pytest.param(name, marks=[pytest.mark.large] if i else [])
    for i, name in enumerate(ARCHITECTURES)
    if name != "mobilebert"  # Its attention is of other layers.
  ],
)
def test_copies_and_files_have_what_lora_learned(tmp_path, architecture):
  extractor = _with_lora(architecture)
  expected = {n: x.numpy() for n, x in extractor(INPUTS).items()}
  _check_logits(InferenceModel(extractor)(INPUTS), expected)
  for name in (".keras", "directory"):
    _check_logits(_COPIES[name](extractor, tmp_path)(INPUTS), expected)
  save_huggingface(extractor, tmp_path / "huggingface")
  read = SpanExtractor.from_preset(
    tmp_path / "huggingface", extractor.window_options
  )
  _check_logits(read(INPUTS), expected)
  half = with_encoder_dtype(extractor, "bfloat16")
  without = with_encoder_dtype(extractor_of(architecture), "bfloat16")
  _check_logits(half(INPUTS), expected, 0.5)
  start = "start_logits"
  assert np.abs(half(INPUTS)[start] - without(INPUTS)[start]).max() > 1
  read = _directory(extractor, tmp_path, half_precision=True)
  _check_logits(read(INPUTS), expected, 0.05)
  # LoRA's own weights stay, and can be trained further.
  assert len(lora_products(extractor)) > 2


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
@pytest.mark.parametrize("quantization", ["none", "dynamic"])
def test_exports_have_what_lora_learned(tmp_path, quantization):
  # All exports check their answers.
  extractor = _with_lora("bert")
  extractor.export(tmp_path / "qa.tflite", quantization=quantization)
  dtype = {"none": "float32", "dynamic": "bfloat16"}[quantization]
  extractor.export(tmp_path / "qa", dtype=dtype, with_warmup=False)


def test_fine_tune_trains_lora_of_the_table_of_tokens():
  extractor = _with_lora("bert")
  extractor.head.trainable = False
  before = [np.array(weight) for weight in extractor.trainable_weights]
  frozen = np.array(extractor.backbone.token_embedding._embeddings)
  fine_tune(extractor, _EXAMPLES, _OPTIONS)
  changed = [
    bool(np.any(weight != old))
    for weight, old in zip(extractor.trainable_weights, before, strict=True)
  ]
  assert all(changed)
  np.testing.assert_array_equal(
    extractor.backbone.token_embedding._embeddings, frozen
  )


_SAVED = {
  "directory": lambda one, folder: one.save_to_preset(folder / "model"),
  "half": lambda one, folder: one.save_to_preset(
    folder / "model", half_precision=True
  ),
  ".keras": lambda one, folder: one.save(folder / "qa.keras"),
  ".weights.h5": lambda one, folder: one.save_weights(folder / "a.weights.h5"),
  "Hugging Face": lambda one, folder: save_huggingface(one, folder / "there"),
  "TFLite": lambda one, folder: one.export(folder / "qa.tflite"),
  "SavedModel": lambda one, folder: one.export(folder / "base", version=3),
}


@pytest.mark.usefixtures("few_samples")
@pytest.mark.parametrize("name", _SAVED)
def test_a_quantized_backbone_replaces_no_file(tmp_path, name):
  extractor = tiny_extractor()
  if name not in ("TFLite", "SavedModel"):  # Slow, and refused as the others.
    _SAVED[name](extractor, tmp_path)
  files = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
  extractor.backbone.quantize("int8")
  with pytest.raises(ValueError, match=r"layer \w+ is quantized.*int8"):
    _SAVED[name](extractor, tmp_path)
  after = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
  assert after == files


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


def test_a_weight_that_is_not_finite_replaces_no_file(tmp_path):
  extractor = tiny_extractor()
  for name in ("directory", ".keras", "Hugging Face"):
    _SAVED[name](extractor, tmp_path)
  files = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
  extractor.backbone.token_embedding.embeddings.assign_add(
    np.full((24, 16), np.nan)
  )
  for name in ("directory", ".keras", "Hugging Face"):
    with pytest.raises(ValueError, match=r"token_embedding.*NaN"):
      _SAVED[name](extractor, tmp_path)
  after = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
  assert after == files


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
    (lambda one, path: one.save_to_preset(f"{path}/a.tflite"), "export"),
    (lambda one, path: one.save_to_preset(f"{path}/a.onnx"), "integrations"),
  ],
)
def test_a_path_and_a_format_that_differ_are_refused(tmp_path, write, message):
  with pytest.raises(ValueError, match=message):
    write(shared_extractor(), tmp_path)
  assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("few_samples")
def test_the_ending_decides_the_format(tmp_path):
  path = tmp_path / "qa.tflite"
  assert shared_extractor().export(path) == path
  assert path.read_bytes()[4:8] == b"TFL3"


def test_a_file_is_not_replaced_without_overwrite(tmp_path):
  extractor = shared_extractor()
  for name in (".keras", ".weights.h5"):
    _SAVED[name](extractor, tmp_path)
  for path in tmp_path.iterdir():
    save = extractor.save if path.suffix == ".keras" else extractor.save_weights
    with pytest.raises(ValueError, match=f"{path}.*overwrite"):
      save(path, overwrite=False)
