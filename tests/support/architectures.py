"""What holds for every architecture; tests/presets/architectures/ checks it."""

import functools
import importlib.util
import json
import pathlib
import re
import subprocess
import sys

import keras
import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf
from tensorflow.lite.python import schema_py_generated as schema

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.extractors.extractor import Extractor
from bert_span.extractors.precision import with_encoder_dtype
from bert_span.extractors.preset_loader import make_extractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.encoder import encoder_config, layer_calls
from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.modeling.keras_internals import lora_products
from bert_span.presets.huggingface import load_huggingface
from bert_span.presets.huggingface_writer import (
  encoder_tensors,
  save_huggingface,
)
from bert_span.squad.example import AnswerSpan, SquadExample
from bert_span.squad.reader import read_squad
from bert_span.text.options import WindowOptions
from bert_span.text.sentencepiece_model import PIECE_FAMILIES
from bert_span.tflite.conversion import QuantizableEncoder
from bert_span.training.fine_tuner import fine_tune
from bert_span.training.fine_tuning_options import FineTuningOptions
from tests.support.models import (
  CONTEXT,
  INPUTS,
  QUESTION,
  VOCABULARY,
  eagerly,
  extractor_of,
  parsed,
  tiny_encoder,
  trained_pieces,
)
from tests.support.squad import decode_by_loops
from tests.support.training import copy_stopped, read_events

_ROOT = pathlib.Path(__file__).parents[2]


def check_names(architecture, names, **sizes):
  """Checks the names of the tensors in a Hugging Face directory.

  Args:
    architecture: its name.
    names: str of names, separated by blanks. "x.*" is x.weight and x.bias.
    **sizes: changes of `tiny_config`.
  """
  expected = set()
  for name in names.split():
    ends = ("weight", "bias") if name.endswith(".*") else ("",)
    expected |= {name.removesuffix("*") + end for end in ends}
  backbone = tiny_encoder(architecture=architecture, **sizes)
  assert encoder_tensors(backbone).keys() == expected


def with_lora(architecture, **options):
  """An extractor with LoRA in some layers and in the table of tokens."""
  extractor = extractor_of(architecture, **options)
  backbone, rng = extractor.backbone, np.random.default_rng(3)
  backbone.enable_lora(2)
  backbone.token_embedding.enable_lora(3, lora_alpha=6)
  layer, *_ = layer_calls(backbone)
  layer._self_attention_layer._output_dense.enable_lora(2)
  for _, _, *factors in lora_products(extractor):
    for factor in factors:
      factor.assign(0.3 * rng.normal(size=factor.shape))
  return extractor


def check_files(architecture, folder):
  """Checks that files and copies of a model compute what the model computes.

  It has LoRA, and settings that the backbones of KerasHub do not keep. The
  attention of a MobileBERT has layers that LoRA does not find.
  """
  make = extractor_of if architecture == "mobilebert" else with_lora
  settings = {"activation": "relu", "attention_dropout": 0.3}
  extractor = make(architecture, **settings)
  expected = {name: x.numpy() for name, x in extractor(INPUTS).items()}
  scale = max(np.abs(x).max() for x in expected.values())

  def check(model, tolerance=1e-5):
    logits, is_token = model(INPUTS), INPUTS["padding_mask"] > 0
    for name, values in expected.items():
      differences = np.abs(np.asarray(logits[name], np.float32) - values)
      assert differences[is_token].max() < tolerance

  rescaled = QuantizableEncoder(extractor.backbone)
  check(InferenceModel(extractor))
  check(InferenceModel(extractor, rescaled), 1e-4)
  check(with_encoder_dtype(extractor, "bfloat16"), 0.1 * scale)
  extractor.save(folder / "qa.keras")
  extractor.save_to_preset(folder / "model")
  save_huggingface(extractor, folder / "huggingface")
  of_keras = keras.saving.load_model(folder / "qa.keras")
  of_directory = Extractor.from_preset(folder / "model")
  of_huggingface = SpanExtractor.from_preset(
    folder / "huggingface", extractor.window_options
  )
  tokenizer = extractor.preprocessor.tokenizer
  for read in (of_keras, of_directory, of_huggingface):
    check(read)
    assert encoder_config(read.backbone) == encoder_config(extractor.backbone)
    found = read.preprocessor.tokenizer
    assert [*found.vocabulary] == [*tokenizer.vocabulary]
    texts = [QUESTION, CONTEXT]
    assert found(texts).ids.to_list() == tokenizer(texts).ids.to_list()


_EXAMPLES = [
  SquadExample(f"q{i}", QUESTION, CONTEXT, (AnswerSpan("Anna", 22),))
  for i in range(2)
]
# Six steps.
_OPTIONS = FineTuningOptions(
  train_batch_size=2,
  num_train_epochs=6,
  learning_rate=1e-2,
  save_checkpoints_steps=3,
  iterations_per_loop=1,
)


def check_training(architecture, folder, dtype, quantization, lora=False):
  """Trains a model of a Hugging Face directory, saves it and exports it.

  Args:
    architecture: its name.
    folder: an empty folder.
    dtype: precision of the weights in the directory, and of the SavedModel.
    quantization: that of the TFLite file.
    lora: whether LoRA is trained.
  """
  # TFLite quantizes matrices of 1,024 entries and more.
  make = with_lora if lora else extractor_of
  made = make(architecture, intermediate_dim=96)
  save_huggingface(made, folder / "huggingface")
  path = folder / "huggingface" / "model.safetensors"
  tensors = safetensors.numpy.load_file(path)
  stored = {name: value.astype(dtype) for name, value in tensors.items()}
  safetensors.numpy.save_file(stored, path)
  extractor = SpanExtractor.from_preset(
    folder / "huggingface", made.window_options
  )
  if lora:
    extractor.backbone.enable_lora(2)
  with eagerly():
    before = extractor.answer(QUESTION, CONTEXT)
    expected = made.answer(QUESTION, CONTEXT)
  assert before.score == pytest.approx(expected.score, abs=0.5)
  assert fine_tune(extractor, _EXAMPLES, _OPTIONS, folder / "run") == 6
  losses = read_events(folder / "run")["loss"]
  assert len(losses) == 6 and losses[-1] < 0.9 * losses[0]
  extractor.save_to_preset(folder / "model")
  loaded = Extractor.from_preset(folder / "model")
  with eagerly():
    answers = [x.answer(QUESTION, CONTEXT) for x in (extractor, loaded)]
  assert answers[0] != before
  assert answers[0].text == answers[1].text
  assert answers[0].score == pytest.approx(answers[1].score, abs=1e-4)
  # Both exports compare their answers with the model's.
  served = f"{folder}/served"
  version = extractor.export(served, dtype=dtype, with_warmup=False)
  assert version == f"{served}/1"
  path = folder / "qa.tflite"
  assert extractor.export(path, quantization=quantization) == path
  tensors = parsed(path).subgraphs[0].tensors
  has_int8 = any(tensor.type == schema.TensorType.INT8 for tensor in tensors)
  assert has_int8 == (quantization == "dynamic")


def check_resuming(architecture, folder):
  """Checks that a training that was stopped gives the same weights."""
  extractor = extractor_of(architecture)
  fine_tune(extractor, _EXAMPLES, _OPTIONS, folder / "whole")
  copy_stopped(folder / "whole", folder / "stopped", 3)
  resumed = extractor_of(architecture)
  assert fine_tune(resumed, _EXAMPLES, _OPTIONS, folder / "stopped") == 3
  for weight, expected in zip(resumed.weights, extractor.weights, strict=True):
    np.testing.assert_array_equal(weight, expected, weight.path)


# Of config.json, for `check_transformers`.
SIZES = {
  "vocab_size": 60,
  "hidden_size": 16,
  "num_hidden_layers": 2,
  "num_attention_heads": 2,
  "intermediate_size": 24,
  "max_position_embeddings": 34,
}
_PAIRS = [
  (QUESTION, CONTEXT),
  ("who's IN  the cafe\u0301?", "Café 日本 🙂, it's in\n\tthe river.  "),
]


def check_transformers(architecture, folder, *configs):
  """Compares models with those of transformers, to and fro.

  Logits are equal in both directions, the tokenizer there gives the same ids,
  and its logits have the same answers by run_qa.py's post-processing.

  Args:
    architecture: its name.
    folder: an empty folder.
    *configs: values of config.json, for models that transformers makes. `dtype`
      is that of the stored weights.
  """
  for name, title in (("torch", "PyTorch"), ("transformers", "transformers")):
    if not importlib.util.find_spec(name):
      pytest.skip(f"{title} is not installed")
  extractor, ours = _with_real_tokens(architecture), folder / "ours"
  save_huggingface(extractor, ours)
  (ours / "pairs.json").write_text(json.dumps(_PAIRS))
  _write_inputs(folder / "inputs.npz", _windows_of_random_ids())
  if _examples():
    windows = _windows_of_examples(extractor)
    _write_inputs(ours / "windows.npz", windows)
  for number, config in enumerate(configs):
    (folder / f"theirs{number}").mkdir()
    config = json.dumps({"model_type": architecture, **config})
    (folder / f"theirs{number}" / "config.json").write_text(config)
  script = _ROOT / "tests/scripts/transformers_models.py"
  command = [sys.executable, script, folder / "inputs.npz", folder]
  subprocess.run(command, check=True)
  _compare_logits(extractor, ours)
  for number in range(len(configs)):
    # Such a directory has no vocabulary; only the logits are compared.
    loaded = load_huggingface(str(folder / f"theirs{number}"))
    options = WindowOptions(32, 8, 8), DecoderOptions()
    model = make_extractor(SpanExtractor, loaded, VOCABULARY, True, *options)
    _compare_logits(model, folder / f"theirs{number}")
  _compare_tokens(extractor, ours)
  if _examples():
    with np.load(ours / "windows_outputs.npz") as stored:
      # A DeBERTa has almost the same logits for tokens that occur again, with
      # others only at distances that share a bucket.
      num_ties = _compare_answers(extractor, windows, stored["outputs"])
    assert num_ties <= 10 * (architecture == "deberta-v2")


def _with_real_tokens(architecture):
  """A tiny extractor with a vocabulary of the texts of `_examples`."""
  texts = [x for each in _examples() for x in (each.question, each.context)]
  options = {}
  if architecture in PIECE_FAMILIES:
    options["vocabulary"] = trained_pieces(architecture, tuple(texts))
  elif architecture not in ("roberta", "modernbert"):  # They have all bytes.
    words = {w for text in texts for w in re.findall(r"\w+", text.lower())}
    tokens = sorted(words.union(*words))
    options["vocabulary"] = [*dict.fromkeys([*VOCABULARY, *tokens])]
  return extractor_of(architecture, version_2=True, **options)


@functools.cache
def _examples():
  """200 real questions of three languages, or none where there are no data."""
  examples = []
  for name, number in (("en", 68), ("zh", 66), ("ar", 66)):
    path = _ROOT.parent / "shared" / "data" / f"xquad_{name}.json"
    of_language = read_squad(path).examples if path.exists() else []
    examples += of_language[:: max(len(of_language) // number, 1)][:number]
  return examples


def _windows_of_random_ids():
  """Windows of several lengths, the last without padding."""
  lengths = np.array([[3], [10], [31], [32]])
  positions = np.arange(32)
  mask = (positions < lengths).astype("int32")
  # From 5: no padding, which RoBERTa does not count as a position.
  ids = np.random.default_rng(3).integers(5, 20, [4, 32])
  return {
    "token_ids": np.where(mask, ids, 1).astype("int32"),
    "segment_ids": (positions >= lengths // 2).astype("int32") * mask,
    "padding_mask": mask,
  }


def _windows_of_examples(extractor):
  texts = {
    name: tf.constant([getattr(example, name) for example in _examples()])
    for name in ("question", "context")
  }
  windows = extractor.preprocessor.windows(texts)
  return {name: values.numpy() for name, values in windows.items()}


def _write_inputs(path, windows):
  names = {"token_ids": "input_ids", "segment_ids": "token_type_ids"}
  names["padding_mask"] = "attention_mask"
  np.savez(path, **{names[name]: windows[name] for name in names})


def _compare_logits(model, directory):
  inputs = _windows_of_random_ids()
  kept = inputs["padding_mask"].astype(bool)
  with np.load(directory / "outputs.npz") as stored:
    theirs = stored["outputs"][kept]
  for logits in (model(inputs), InferenceModel(model)(inputs)):
    for i, name in enumerate(("start_logits", "end_logits")):
      found = np.asarray(logits[name])[kept]
      np.testing.assert_allclose(found, theirs[:, i], atol=1e-4)
      assert found.std() > 0.1


def _compare_tokens(extractor, directory):
  tokenizer = extractor.preprocessor.tokenizer
  separators = [tokenizer.sep_id] * tokenizer.num_separators
  found = []
  for pair in _PAIRS:
    question, context = tokenizer(list(pair)).ids.to_list()
    ids = [*question, *separators, *context, tokenizer.sep_id]
    found.append([tokenizer.cls_id, *ids])
  assert found == json.loads((directory / "pairs.json").read_text())


def _compare_answers(extractor, windows, outputs):
  """Compares answers to `_examples`; returns the number of other best spans.

  `outputs` are logits of transformers, [windows, seq_length, 2].
  """
  # Padding is not scored here, and must not be among the best 20 there.
  mask = windows["padding_mask"].astype(bool)[..., np.newaxis]
  logits = np.where(mask, outputs, -1e9)
  options = extractor.decoder_options
  num_answered, num_ties = 0, 0
  for index, prediction in enumerate(extractor.predictions(_examples())):
    rows = windows["example_index"] == index
    spans, null_odds = decode_by_loops(
      _examples()[index].context,
      {column: values[rows] for column, values in windows.items()},
      *np.moveaxis(logits[rows], -1, 0),
      options,
    )
    score = spans[0][-1]
    places = [place for _, *place, each in spans if each > score - 1e-4]
    if null_odds > options.null_score_diff_threshold:
      places, score = [[0, 0]], null_odds + score
    answer = prediction.answer
    place = [answer.char_start, answer.char_end]
    assert place in places, index
    num_ties += place != places[0]
    assert answer.score == pytest.approx(score, abs=1e-3)
    assert answer.null_odds == pytest.approx(null_odds, abs=1e-3)
    num_answered += bool(answer.text)
  assert num_answered > 10
  return num_ties
