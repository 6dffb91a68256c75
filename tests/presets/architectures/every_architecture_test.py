"""What holds for every architecture, from others' files to its exports."""

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
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.encoder import encoder_config
from bert_span.modeling.inference_encoder import InferenceModel
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
  MOBILEBERT,
  QUESTION,
  VOCABULARY,
  eagerly,
  extractor_of,
  parsed,
  tiny_encoder,
  trained_pieces,
  with_lora,
)
from tests.support.squad import decode_by_loops
from tests.support.training import copy_stopped, read_events

_ROOT = pathlib.Path(__file__).parents[3]


# A layer of BERT, and tables of tokens that have their positions and types.
_LAYER = """
  encoder.layer.0.attention.self.query.*
  encoder.layer.0.attention.self.key.*
  encoder.layer.0.attention.self.value.*
  encoder.layer.0.attention.output.dense.*
  encoder.layer.0.attention.output.LayerNorm.*
  encoder.layer.0.intermediate.dense.*
  encoder.layer.0.output.dense.*
  encoder.layer.0.output.LayerNorm.*
"""
_TABLES = """
  embeddings.word_embeddings.weight
  embeddings.position_embeddings.weight
  embeddings.token_type_embeddings.weight
  embeddings.LayerNorm.*
"""
_ALBERT_LAYER = """
  encoder.albert_layer_groups.{0}.albert_layers.{1}.attention.query.*
  encoder.albert_layer_groups.{0}.albert_layers.{1}.attention.key.*
  encoder.albert_layer_groups.{0}.albert_layers.{1}.attention.value.*
  encoder.albert_layer_groups.{0}.albert_layers.{1}.attention.dense.*
  encoder.albert_layer_groups.{0}.albert_layers.{1}.attention.LayerNorm.*
  encoder.albert_layer_groups.{0}.albert_layers.{1}.ffn.*
  encoder.albert_layer_groups.{0}.albert_layers.{1}.ffn_output.*
  encoder.albert_layer_groups.{0}.albert_layers.{1}.full_layer_layer_norm.*
"""
_ALBERT = f"{_TABLES} encoder.embedding_hidden_mapping_in.* pooler.*"
_MOBILEBERT = """
  embeddings.embedding_transformation.*
  encoder.layer.0.bottleneck.input.dense.*
  encoder.layer.0.bottleneck.input.LayerNorm.*
  encoder.layer.0.bottleneck.attention.dense.*
  encoder.layer.0.bottleneck.attention.LayerNorm.*
  encoder.layer.0.output.bottleneck.dense.*
  encoder.layer.0.output.bottleneck.LayerNorm.*
  encoder.layer.0.ffn.0.intermediate.dense.*
  encoder.layer.0.ffn.0.output.dense.*
  encoder.layer.0.ffn.0.output.LayerNorm.*
"""
_DEBERTA = """
  embeddings.word_embeddings.weight
  embeddings.LayerNorm.*
  encoder.rel_embeddings.weight
  encoder.LayerNorm.*
  encoder.layer.0.attention.self.query_proj.*
  encoder.layer.0.attention.self.key_proj.*
  encoder.layer.0.attention.self.value_proj.*
  encoder.layer.0.attention.output.dense.*
  encoder.layer.0.attention.output.LayerNorm.*
  encoder.layer.0.intermediate.dense.*
  encoder.layer.0.output.dense.*
  encoder.layer.0.output.LayerNorm.*
"""
_DISTILBERT = """
  embeddings.word_embeddings.weight
  embeddings.position_embeddings.weight
  embeddings.LayerNorm.*
  transformer.layer.0.attention.q_lin.*
  transformer.layer.0.attention.k_lin.*
  transformer.layer.0.attention.v_lin.*
  transformer.layer.0.attention.out_lin.*
  transformer.layer.0.sa_layer_norm.*
  transformer.layer.0.ffn.lin1.*
  transformer.layer.0.ffn.lin2.*
  transformer.layer.0.output_layer_norm.*
"""
# The first layer's inputs are normalized already.
_MODERNBERT = """
  embeddings.tok_embeddings.weight
  embeddings.norm.weight
  final_norm.weight
  layers.0.attn.Wqkv.weight
  layers.0.attn.Wo.weight
  layers.0.mlp_norm.weight
  layers.0.mlp.Wi.weight
  layers.0.mlp.Wo.weight
  layers.1.attn_norm.weight
  layers.1.attn.Wqkv.weight
  layers.1.attn.Wo.weight
  layers.1.mlp_norm.weight
  layers.1.mlp.Wi.weight
  layers.1.mlp.Wo.weight
"""
_ROBERTA = _TABLES + _LAYER
_POOLED = f"{_ROBERTA} pooler.dense.*"
# Architecture, what all of its names begin with, the names, and changes of
# `tiny_config`. "x.*" is x.weight and x.bias.
_NAMES = [
  ("albert", "albert", _ALBERT + _ALBERT_LAYER.format(0, 0), {"num_layers": 3}),
  (
    *("albert", "albert"),
    _ALBERT
    + "".join(_ALBERT_LAYER.format(i, j) for i in range(2) for j in range(3)),
    {"num_layers": 2, "num_groups": 2, "num_inner_repetitions": 3},
  ),
  ("bert", "bert", _POOLED, {}),
  ("camembert", "roberta", _ROBERTA, {}),
  ("deberta-v2", "deberta", _DEBERTA, {}),
  ("distilbert", "distilbert", _DISTILBERT, {}),
  (
    *("electra", "electra", f"{_POOLED} embeddings_project.*"),
    {"embedding_dim": 4},
  ),
  # Tables as wide as a token's vector are not projected.
  ("electra", "electra", _POOLED, {"embedding_dim": 8}),
  ("mobilebert", "mobilebert", _ROBERTA + _MOBILEBERT, MOBILEBERT),
  ("modernbert", "model", _MODERNBERT, {"num_layers": 2}),
  ("roberta", "roberta", _ROBERTA, {}),
  ("xlm-roberta", "roberta", _ROBERTA, {}),
]
_of_each = pytest.mark.parametrize("architecture", ARCHITECTURES)


@pytest.mark.parametrize(
  ("architecture", "prefix", "names", "sizes"),
  _NAMES,
  ids=[f"{architecture}-{i}" for i, (architecture, *_) in enumerate(_NAMES)],
)
def test_its_tensors_have_the_names_of_transformers(
  architecture, prefix, names, sizes
):
  expected = set()
  for name in names.split():
    ends = ("weight", "bias") if name.endswith(".*") else ("",)
    expected |= {f"{prefix}.{name.removesuffix('*')}{end}" for end in ends}
  backbone = tiny_encoder(architecture=architecture, **sizes)
  assert encoder_tensors(backbone).keys() == expected


@pytest.mark.large
@_of_each
def test_files_and_copies_compute_what_it_computes(architecture, tmp_path):
  """With LoRA, and settings that the backbones of KerasHub do not keep.

  The attention of a MobileBERT has layers that LoRA does not find.
  """
  make = extractor_of if architecture == "mobilebert" else with_lora
  settings = {"activation": "relu", "attention_dropout": 0.3}
  extractor = make(architecture, **settings)
  expected = {name: x.numpy() for name, x in extractor(INPUTS).items()}
  scale = max(np.abs(x).max() for x in expected.values())

  # Float32 is no finer than 1.5e-5 at a MobileBERT's logits, of over 128.
  rounding = max(1e-5, 2 * np.spacing(scale))

  def check(model, tolerance=rounding):
    logits, is_token = model(INPUTS), INPUTS["padding_mask"] > 0
    for name, values in expected.items():
      differences = np.abs(np.asarray(logits[name], np.float32) - values)
      assert differences[is_token].max() < tolerance

  rescaled = QuantizableEncoder(extractor.backbone)
  check(InferenceModel(extractor))
  check(InferenceModel(extractor, rescaled), 1e-4)
  check(with_encoder_dtype(extractor, "bfloat16"), 0.1 * scale)
  extractor.save(tmp_path / "qa.keras")
  extractor.save_to_preset(tmp_path / "model")
  save_huggingface(extractor, tmp_path / "huggingface")
  of_keras = keras.saving.load_model(tmp_path / "qa.keras")
  of_directory = Extractor.from_preset(tmp_path / "model")
  of_huggingface = SpanExtractor.from_preset(
    tmp_path / "huggingface", extractor.window_options
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


# The precision of the weights in a Hugging Face directory and of the
# SavedModel, and the quantization of the TFLite file.
_STORED = {
  "albert": ("bfloat16", "dynamic"),
  "bert": ("float32", "none"),
  "camembert": ("float32", "float16"),
  "deberta-v2": ("bfloat16", "dynamic"),
  "distilbert": ("float16", "dynamic"),
  "electra": ("bfloat16", "none"),
  "mobilebert": ("float16", "float16"),
  "modernbert": ("bfloat16", "dynamic"),
  "roberta": ("float16", "none"),
  "xlm-roberta": ("bfloat16", "dynamic"),
}


@pytest.mark.parametrize(
  "architecture",
  [
    pytest.param(name, marks=getattr(pytest.mark, tier))
    for name in ARCHITECTURES
    for tier in ["large" if name == "bert" else "slow"]
  ],
)
@pytest.mark.usefixtures("few_samples")
def test_it_is_trained_and_its_exports_answer_as_it_does(
  architecture, tmp_path
):
  """Of a Hugging Face directory; a BERT with LoRA."""
  (dtype, quantization), lora = _STORED[architecture], architecture == "bert"
  # TFLite quantizes matrices of 1,024 entries and more.
  make = with_lora if lora else extractor_of
  made = make(architecture, intermediate_dim=96)
  save_huggingface(made, tmp_path / "huggingface")
  path = tmp_path / "huggingface" / "model.safetensors"
  tensors = safetensors.numpy.load_file(path)
  stored = {name: value.astype(dtype) for name, value in tensors.items()}
  safetensors.numpy.save_file(stored, path)
  extractor = SpanExtractor.from_preset(
    tmp_path / "huggingface", made.window_options
  )
  if lora:
    extractor.backbone.enable_lora(2)
  with eagerly():
    before = extractor.answer(QUESTION, CONTEXT)
    expected = made.answer(QUESTION, CONTEXT)
    assert fine_tune(extractor, _EXAMPLES, _OPTIONS, tmp_path / "run") == 6
  assert before.score == pytest.approx(expected.score, abs=0.5)
  losses = read_events(tmp_path / "run")["loss"]
  assert len(losses) == 6 and losses[-1] < 0.9 * losses[0]
  extractor.save_to_preset(tmp_path / "model")
  loaded = Extractor.from_preset(tmp_path / "model")
  with eagerly():
    answers = [x.answer(QUESTION, CONTEXT) for x in (extractor, loaded)]
  assert answers[0] != before
  assert answers[0].text == answers[1].text
  assert answers[0].score == pytest.approx(answers[1].score, abs=1e-4)
  # Both exports compare their answers with the model's.
  served = f"{tmp_path}/served"
  version = extractor.export(served, dtype=dtype, with_warmup=False)
  assert version == f"{served}/1"
  path = tmp_path / "qa.tflite"
  assert extractor.export(path, quantization=quantization) == path
  tensors = parsed(path).subgraphs[0].tensors
  has_int8 = any(tensor.type == schema.TensorType.INT8 for tensor in tensors)
  assert has_int8 == (quantization == "dynamic")


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["mobilebert", "modernbert"])
def test_a_training_that_was_stopped_has_the_same_weights(
  architecture, tmp_path
):
  extractor = extractor_of(architecture)
  fine_tune(extractor, _EXAMPLES, _OPTIONS, tmp_path / "whole")
  copy_stopped(tmp_path / "whole", tmp_path / "stopped", 3)
  resumed = extractor_of(architecture)
  assert fine_tune(resumed, _EXAMPLES, _OPTIONS, tmp_path / "stopped") == 3
  for weight, expected in zip(resumed.weights, extractor.weights, strict=True):
    np.testing.assert_array_equal(weight, expected, weight.path)


# Values of config.json, for models that transformers makes. `dtype` is that of
# the stored weights.
_SIZES = {
  "vocab_size": 60,
  "hidden_size": 16,
  "num_hidden_layers": 2,
  "num_attention_heads": 2,
  "intermediate_size": 24,
  "max_position_embeddings": 34,
}
_DEBERTA_SIZES = {
  **_SIZES,
  "relative_attention": True,
  "position_biased_input": False,
  "norm_rel_ebd": "layer_norm",
  "share_att_key": True,
  "pos_att_type": "p2c|c2p",
}
# Its other settings are those of the released model.
_MOBILEBERT_SIZES = _SIZES | {"embedding_size": 8, "intra_bottleneck_size": 12}
# The special tokens that `extractor_of` has for it.
_MODERNBERT_SIZES = _SIZES | {
  f"{name}_token_id": i
  for i, name in enumerate(("cls", "sep", "pad", "bos", "eos"))
}
_ROBERTA_SIZES = _SIZES | {"type_vocab_size": 1, "pad_token_id": 1}
_CONFIGS = {
  "albert": [
    _SIZES | {"embedding_size": 8, "dtype": "bfloat16"},
    {
      **_SIZES,
      "num_hidden_groups": 2,
      "inner_group_num": 2,
      "embedding_size": 16,
      "hidden_act": "gelu",
    },
  ],
  "bert": [
    _SIZES | {"dtype": "float32"},
    _SIZES | {"hidden_act": "relu"},
    _SIZES | {"num_attention_heads": 4, "hidden_act": "gelu_new"},
  ],
  "camembert": [_ROBERTA_SIZES | {"layer_norm_eps": 1e-5, "dtype": "float32"}],
  "deberta-v2": [
    _DEBERTA_SIZES | {"position_buckets": 8, "dtype": "bfloat16"},
    # The buckets and positions of the published models.
    _DEBERTA_SIZES | {"position_buckets": 256, "max_position_embeddings": 512},
  ],
  # The keys of BERT's sizes have other meanings here.
  "distilbert": [
    {
      "vocab_size": 60,
      "n_layers": 2,
      "n_heads": 2,
      "dim": 16,
      "hidden_dim": 24,
      "max_position_embeddings": 34,
      "dtype": "float16",
    }
  ],
  "electra": [
    _SIZES | {"embedding_size": 8, "dtype": "bfloat16"},
    _SIZES | {"embedding_size": 16},
  ],
  "mobilebert": [
    _MOBILEBERT_SIZES | {"dtype": "float16"},
    _MOBILEBERT_SIZES | {"normalization_type": "layer_norm"},
    {
      **_MOBILEBERT_SIZES,
      "use_bottleneck": False,
      "num_feedforward_networks": 1,
      "normalization_type": "layer_norm",
      "hidden_act": "gelu",
    },
    {
      **_MOBILEBERT_SIZES,
      "use_bottleneck_attention": True,
      "key_query_shared_bottleneck": False,
      "num_feedforward_networks": 2,
      "trigram_input": False,
      "hidden_act": "relu6",
    },
  ],
  "modernbert": [
    _MODERNBERT_SIZES | {"local_attention": 8, "dtype": "bfloat16"},
    {
      **_MODERNBERT_SIZES,
      "num_hidden_layers": 5,
      "local_attention": 4,
      "global_attn_every_n_layers": 2,
    },
  ],
  "roberta": [_ROBERTA_SIZES | {"layer_norm_eps": 1e-5, "dtype": "float16"}],
  "xlm-roberta": [
    _ROBERTA_SIZES | {"layer_norm_eps": 1e-5, "dtype": "bfloat16"}
  ],
}
_PAIRS = [
  (QUESTION, CONTEXT),
  ("who's IN  the cafe\u0301?", "Café 日本 🙂, it's in\n\tthe river.  "),
]


@pytest.mark.large
@_of_each
def test_transformers_computes_the_same(architecture, tmp_path):
  """Logits are equal to and fro, the tokenizer there gives the same ids.

  And its logits have the same answers by run_qa.py's post-processing.
  """
  for name, title in (("torch", "PyTorch"), ("transformers", "transformers")):
    if not importlib.util.find_spec(name):
      pytest.skip(f"{title} is not installed")
  configs = _CONFIGS[architecture]
  extractor, ours = _with_real_tokens(architecture), tmp_path / "ours"
  save_huggingface(extractor, ours)
  (ours / "pairs.json").write_text(json.dumps(_PAIRS))
  _write_inputs(tmp_path / "inputs.npz", _windows_of_random_ids())
  if _examples():
    windows = _windows_of_examples(extractor)
    _write_inputs(ours / "windows.npz", windows)
  for number, config in enumerate(configs):
    (tmp_path / f"theirs{number}").mkdir()
    config = json.dumps({"model_type": architecture, **config})
    (tmp_path / f"theirs{number}" / "config.json").write_text(config)
  script = _ROOT / "tests/scripts/transformers_models.py"
  command = [sys.executable, script, tmp_path / "inputs.npz", tmp_path]
  subprocess.run(command, check=True)
  _compare_logits(extractor, ours)
  for number in range(len(configs)):
    # Such a directory has no vocabulary; only the logits are compared.
    loaded = load_huggingface(str(tmp_path / f"theirs{number}"))
    options = WindowOptions(32, 8, 8), DecoderOptions()
    model = make_extractor(SpanExtractor, loaded, VOCABULARY, True, *options)
    _compare_logits(model, tmp_path / f"theirs{number}")
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
