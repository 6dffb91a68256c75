"""Reading Hugging Face directories, safetensors only."""

import itertools
import json

import keras_hub
import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from bert_span.modeling.encoder import build_encoder
from bert_span.presets.huggingface import (
  huggingface_config,
  load_huggingface,
)
from bert_span.presets.huggingface_writer import config_values, encoder_tensors
from tests.support.hub import tokenizer_json
from tests.support.models import tiny_encoder

_CONFIG = config_values(
  tiny_encoder(hidden_dim=4, intermediate_dim=6, max_sequence_length=5)
)


@pytest.fixture(scope="module")
def backbone():
  """An encoder with random values in every weight, biases included."""
  backbone = build_encoder(huggingface_config(_CONFIG, "config.json"))
  random = np.random.default_rng(5)
  for weight in backbone.weights:
    weight.assign(random.normal(size=weight.shape))
  return backbone


@pytest.fixture
def tensors(backbone):
  """Tensors for a test to change; KerasHub's converter proves their names."""
  named = encoder_tensors(backbone).items()
  return {name.removeprefix("bert."): tensor for name, tensor in named}


def _write(tmp_path, tensors, config=_CONFIG):
  (tmp_path / "config.json").write_text(json.dumps(config))
  save_file(tensors, tmp_path / "model.safetensors")
  return str(tmp_path)


def _assert_same_weights(loaded, backbone, **tolerance):
  for ours, theirs in zip(loaded.weights, backbone.weights, strict=True):
    assert ours.path == theirs.path
    np.testing.assert_allclose(ours, theirs, err_msg=ours.path, **tolerance)


def _old_layer_norm(name):
  name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
  return name.replace("LayerNorm.bias", "LayerNorm.beta")


@pytest.mark.parametrize(
  ("rename", "stored", "tolerance"),
  [
    (str, np.float32, {"rtol": 0}),
    ("bert.{}".format, np.float32, {"rtol": 0}),
    (_old_layer_norm, np.float32, {"rtol": 0}),
    (str, np.float16, {"rtol": 1e-3, "atol": 1e-6}),
    (str, ml_dtypes.bfloat16, {"rtol": 8e-3, "atol": 1e-6}),
  ],
)
def test_written_encoder_is_read_back_in_float32(
  tmp_path, backbone, tensors, rename, stored, tolerance
):
  tensors = {rename(name): x.astype(stored) for name, x in tensors.items()}
  loaded = load_huggingface(_write(tmp_path, tensors))
  _assert_same_weights(loaded.backbone, backbone, **tolerance)
  assert {weight.dtype for weight in loaded.backbone.weights} == {"float32"}
  assert (loaded.head_weights, loaded.vocabulary_path) == ({}, None)
  assert loaded.lower_case is None


@pytest.mark.parametrize(
  "prefix", ["_orig_mod.", "module.", "module._orig_mod."]
)
def test_prefixes_of_wrapped_modules_are_removed(
  tmp_path, backbone, tensors, prefix
):
  tensors = {f"{prefix}bert.{name}": x for name, x in tensors.items()}
  tensors[f"{prefix}qa_outputs.weight"] = np.ones([2, 4], "float32")
  loaded = load_huggingface(_write(tmp_path, tensors))
  _assert_same_weights(loaded.backbone, backbone, rtol=0)
  assert list(loaded.head_weights) == ["span_head"]


_GAMMA = "embeddings.LayerNorm.weight"


@pytest.mark.parametrize(
  ("first", "second", "in_shards"),
  [
    (_GAMMA, f"module.{_GAMMA}", True),
    (f"_orig_mod.{_GAMMA}", f"module.{_GAMMA}", False),
    (_GAMMA, f"bert.{_GAMMA}", False),
    (f"bert.{_GAMMA}", f"module.bert.{_GAMMA}", False),
    (_GAMMA, "embeddings.LayerNorm.gamma", False),
    ("bert.embeddings.LayerNorm.beta", "embeddings.LayerNorm.bias", False),
    ("qa_outputs.weight", "module.qa_outputs.weight", False),
  ],
)
def test_two_tensors_of_one_weight_are_refused_with_both_names(
  tmp_path, tensors, first, second, in_shards
):
  for name in (_GAMMA, "embeddings.LayerNorm.bias"):
    del tensors[name]
  tensors[first] = np.ones([2, 4], "float32")
  if in_shards:
    save_file(tensors, tmp_path / "a.safetensors")
    save_file({second: np.zeros([2, 4])}, tmp_path / "b.safetensors")
    _write_index(tmp_path, {first: "a.safetensors", second: "b.safetensors"})
  else:
    _write(tmp_path, {**tensors, second: np.zeros([2, 4])})
  with pytest.raises(ValueError, match=first) as refused:
    load_huggingface(str(tmp_path))
  assert all(f"{name} " in str(refused.value) for name in (first, second))


def test_a_tensor_that_two_shards_have_is_refused(tmp_path, tensors):
  for name in ("a.safetensors", "b.safetensors"):
    save_file(tensors, tmp_path / name)
  _write_index(tmp_path, {_GAMMA: "a.safetensors", "x": "b.safetensors"})
  with pytest.raises(ValueError, match=r"b\.safetensors: .*a\.safetensors"):
    load_huggingface(str(tmp_path))


@pytest.mark.parametrize(
  ("changes", "key"),
  [
    ({"architectures": ["RobertaForQuestionAnswering"]}, "architectures"),
    ({"architectures": ["AlbertModel"]}, "architectures"),
    ({"architectures": "BertGenerationEncoder"}, "architectures"),
    ({"architectures": ["BertModel", "ElectraModel"]}, "architectures"),
    ({"architectures": [["BertModel"]]}, "architectures"),
    (
      {"model_type": "roberta", "architectures": ["RobertaPreLayerNormModel"]},
      "architectures",
    ),
    ({"tokenizer_class": "BertJapaneseTokenizer"}, "tokenizer_class"),
    ({"tokenizer_class": "RobertaTokenizer"}, "tokenizer_class"),
    ({"tokenizer_class": ["BertTokenizer"]}, "tokenizer_class"),
    ({"model_type": None, "architectures": ["MPNetModel"]}, "model_type"),
    ({"model_type": None}, "model_type"),
  ],
)
def test_classes_of_another_family_are_refused_by_name(
  tmp_path, tensors, changes, key
):
  config = {**_CONFIG, "pad_token_id": None, **changes}
  with pytest.raises(ValueError, match=rf"config\.json: {key}"):
    load_huggingface(_write(tmp_path, tensors, config))


@pytest.mark.parametrize(
  ("model_type", "class_name"),
  [
    ("bert", "BertLMHeadModel"),
    ("bert", "BertPreTrainedModel"),
    (None, "BertForPreTraining"),
    ("roberta", "XLMRobertaForQuestionAnswering"),
  ],
)
def test_classes_of_the_family_are_read(tmp_path, model_type, class_name):
  backbone = tiny_encoder(architecture=model_type or "bert")
  config = {
    **config_values(backbone),
    "model_type": model_type,
    "architectures": [class_name],
    "tokenizer_class": None,
  }
  loaded = load_huggingface(_write(tmp_path, encoder_tensors(backbone), config))
  _assert_same_weights(loaded.backbone, backbone, rtol=0)


@pytest.mark.parametrize(
  ("key", "value"),
  [
    ("position_embedding_type", "relative_key"),
    ("is_decoder", True),
    ("add_cross_attention", True),
    ("pruned_heads", {"0": [1]}),
    ("quantization_config", {"quant_method": "fp8"}),
    ("type_vocab_size", 1),
  ],
)
def test_what_computes_something_else_is_refused_by_name(
  tmp_path, tensors, key, value
):
  with pytest.raises(ValueError, match=rf"config\.json: .*{key}"):
    load_huggingface(_write(tmp_path, tensors, {**_CONFIG, key: value}))


@pytest.mark.parametrize("name", ["roberta", "xlm-roberta", "camembert"])
def test_roberta_must_count_positions_from_one(tmp_path, tensors, name):
  config = {**_CONFIG, "model_type": name, "pad_token_id": 0}
  with pytest.raises(ValueError, match=r"config\.json: pad_token_id"):
    load_huggingface(_write(tmp_path, tensors, config))


@pytest.mark.parametrize("shape", [(0, 16), (), (16,), (1, 5), (1, 16, 1)])
def test_a_table_of_token_types_without_a_row_of_its_width_is_refused(
  tmp_path, shape
):
  backbone = tiny_encoder(
    architecture="roberta", hidden_dim=16, max_sequence_length=9
  )
  name = "roberta.embeddings.token_type_embeddings.weight"
  tensors = encoder_tensors(backbone) | {name: np.ones(shape, np.float32)}
  directory = _write(tmp_path, tensors, config_values(backbone))
  with pytest.raises(ValueError, match=rf"{tmp_path}: {name} .* 16\]"):
    load_huggingface(directory)


@pytest.mark.parametrize(
  ("name", "shape"),
  [
    ("qa_outputs.weight", ()),
    ("qa_outputs.weight", (2,)),
    ("qa_outputs.weight", (2, 4, 1)),
    ("embeddings.position_embeddings.weight", ()),
  ],
)
def test_a_tensor_without_the_dimensions_of_its_name_is_refused(
  tmp_path, tensors, name, shape
):
  tensors[name] = np.ones(shape, np.float32)
  with pytest.raises(ValueError, match=rf"{tmp_path}: {name} .*shape"):
    load_huggingface(_write(tmp_path, tensors))


@pytest.mark.parametrize(
  ("key", "value"),
  [
    ("relative_attention", False),
    ("position_biased_input", None),  # missing; its default is True
    ("type_vocab_size", 2),
    ("norm_rel_ebd", "none"),
    ("share_att_key", False),
    ("pos_att_type", ["c2p"]),
    ("max_relative_positions", 256),
    ("conv_kernel_size", 3),  # DeBERTa v2
    ("position_buckets", -1),
    ("position_buckets", None),
    ("hidden_act", "silu"),
  ],
)
def test_other_attention_than_deberta_v3s_is_refused_by_name(
  tmp_path, key, value
):
  backbone = tiny_encoder(architecture="deberta-v2")
  tensors, config = encoder_tensors(backbone), config_values(backbone)
  load_huggingface(_write(tmp_path, tensors, config))
  changed = {**config, key: value}
  if value is None:
    del changed[key]
  with pytest.raises(ValueError, match=rf"config\.json: .*{key}"):
    load_huggingface(_write(tmp_path, tensors, changed))


def test_the_only_token_type_of_a_roberta_is_added_to_positions(tmp_path):
  backbone = tiny_encoder(architecture="roberta", max_sequence_length=3)
  tensors = encoder_tensors(backbone)
  rows = np.arange(5 * 8, dtype="float32").reshape(5, 8)
  tensors["roberta.embeddings.position_embeddings.weight"] = rows
  types = np.full([1, 8], 0.5, "float32")
  tensors["roberta.embeddings.token_type_embeddings.weight"] = types
  loaded = load_huggingface(_write(tmp_path, tensors, config_values(backbone)))
  table = loaded.backbone.embeddings.position_embedding.position_embeddings
  # Two rows are before the first token's.
  np.testing.assert_array_equal(table, rows[2:] + 0.5)


def _modernbert(tmp_path, task="QuestionAnswering", **config):
  """A directory with a ModernBERT and a head with the names of every task."""
  backbone = tiny_encoder(architecture="modernbert")
  head = {
    "head.dense.weight": np.ones([8, 8], "float32"),
    "head.norm.weight": np.ones(8, "float32"),
    "classifier.weight": np.ones([2, 8], "float32"),
    "classifier.bias": np.ones(2, "float32"),
  }
  values = config_values(backbone) | config
  values["architectures"] = [f"ModernBertFor{task}"]
  directory = _write(tmp_path, encoder_tensors(backbone) | head, values)
  return backbone, directory


def test_parts_of_a_fused_tensor_are_read(tmp_path):
  backbone, directory = _modernbert(tmp_path)
  loaded = load_huggingface(directory)
  _assert_same_weights(loaded.backbone, backbone, rtol=0)
  head = loaded.head_weights["span_head"]
  assert head["transform_kernel"].shape == (8, 8)


def test_a_head_of_another_task_is_not_read(tmp_path, tensors, capsys):
  _, directory = _modernbert(tmp_path, "TokenClassification")
  assert load_huggingface(directory).head_weights == {}
  tensors["qa_outputs.weight"] = np.ones([3, 4], "float32")
  directory = _write(tmp_path, tensors)
  assert load_huggingface(directory).head_weights == {}
  assert "qa_outputs.weight has 3" in capsys.readouterr().err


def test_the_epsilon_of_a_head_must_be_the_layers(tmp_path):
  _, directory = _modernbert(tmp_path, norm_eps=1e-3)
  with pytest.raises(ValueError, match=r"norm_eps .*1e-05.* 0\.001"):
    load_huggingface(directory)


def test_an_index_without_a_map_is_refused(tmp_path):
  _write_index(tmp_path, ["a.safetensors"])
  with pytest.raises(ValueError, match=r"index\.json .*weight_map"):
    load_huggingface(str(tmp_path))


def _write_index(tmp_path, weight_map):
  path = tmp_path / "model.safetensors.index.json"
  path.write_text(json.dumps({"weight_map": weight_map}))
  (tmp_path / "config.json").write_text(json.dumps(_CONFIG))


def test_shards_are_read_and_a_missing_one_is_named(
  tmp_path, backbone, tensors
):
  shards = {"a.safetensors": {}, "b.safetensors": {}}
  shard_of = dict(zip(tensors, itertools.cycle(shards), strict=False))
  for name, shard in shard_of.items():
    shards[shard][name] = tensors[name]
  for shard, held in shards.items():
    save_file(held, tmp_path / shard)
  _write_index(tmp_path, shard_of)
  loaded = load_huggingface(str(tmp_path))
  _assert_same_weights(loaded.backbone, backbone, rtol=0)
  (tmp_path / "b.safetensors").unlink()
  with pytest.raises(ValueError, match=r"b\.safetensors"):
    load_huggingface(str(tmp_path))


@pytest.mark.parametrize(
  "shard", ["../a.safetensors", "/etc/passwd", "..", ".", "", "a\0b", 7, ["a"]]
)
def test_an_index_stays_in_its_directory(tmp_path, shard):
  _write_index(tmp_path, {"pooler.dense.bias": shard})
  with pytest.raises(ValueError, match=r"index\.json: .*pooler\.dense\.bias"):
    load_huggingface(str(tmp_path))


@pytest.mark.parametrize(
  ("name", "values"),
  [
    ("pooler.dense.bias", np.ones(4, np.int64)),
    ("qa_outputs.bias", np.ones(2, ml_dtypes.float8_e4m3fn)),
    # Quantized.
    ("encoder.layer.0.output.dense.weight", np.ones([4, 6], np.int8)),
  ],
)
def test_other_types_than_floats_are_refused(tmp_path, tensors, name, values):
  tensors["qa_outputs.weight"] = np.ones([2, 4], "float32")
  tensors[name] = values
  with pytest.raises(ValueError, match=rf"model\.safetensors.*{name}"):
    load_huggingface(_write(tmp_path, tensors))


def test_the_vocabulary_is_read_from_tokenizer_json(tmp_path, tensors):
  tokens = ["[UNK]", "[CLS]", "[SEP]", *"abcdefgh"]
  ids = {token: i for i, token in enumerate(tokens)}
  path = tmp_path / "tokenizer.json"
  values = tokenizer_json("WordPiece", vocab=ids)
  values["normalizer"]["lowercase"] = False
  path.write_text(json.dumps(values))
  loaded = load_huggingface(_write(tmp_path, tensors))
  assert loaded.vocabulary() == tokens
  assert loaded.lower_case is False
  for changes, message in (
    ({"type": "WordLevel"}, "WordPiece or BPE or Unigram"),
    ({"type": "BPE"}, "normalizer.type"),
    ({"vocab": {"a": 1}}, "vocabulary"),
  ):
    path.write_text(json.dumps(tokenizer_json("WordPiece", **changes)))
    with pytest.raises(ValueError, match=rf"tokenizer\.json.*{message}"):
      loaded.vocabulary()


def test_keras_hubs_own_converter_reads_the_same_weights(tmp_path, tensors):
  # The last KerasHub for Python 3.10 loads Gemma's converter with BERT's.
  pytest.importorskip(
    "keras_hub.src.utils.transformers.preset_loader", exc_type=ImportError
  )
  directory = _write(tmp_path, tensors)
  converted = keras_hub.models.BertBackbone.from_preset(directory)
  _assert_same_weights(load_huggingface(directory).backbone, converted, rtol=0)


def test_head_vocabulary_and_lower_case_are_read(tmp_path, tensors):
  tensors["qa_outputs.weight"] = np.arange(8, dtype="float32").reshape(2, 4)
  tensors["qa_outputs.bias"] = np.array([5.0, 6.0], "float32")
  (tmp_path / "vocab.txt").write_text("[PAD]\n")
  (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
  loaded = load_huggingface(_write(tmp_path, tensors))
  head = loaded.head_weights["span_head"]
  assert head["kernel"].tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]
  assert head["bias"].tolist() == [5.0, 6.0]
  assert loaded.vocabulary_path == str(tmp_path / "vocab.txt")
  assert loaded.lower_case is False
  (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": "false"}')
  with pytest.raises(ValueError, match=r"do_lower_case.*'false'"):
    load_huggingface(str(tmp_path))


@pytest.mark.parametrize(
  ("changes", "message"),
  [
    ({"model_type": "deberta"}, "albert, roberta, .*xlm-roberta.*'deberta'"),
    ({"model_type": ["bert"]}, r"model_type.*\['bert'\]"),
    ({"model_type": {}}, "model_type.*{}"),
    ({"vocab_size": 12}, r"\[11, 4\].*\[12, 4\]"),
    ({"vocab_size": 2**24}, r"\[11, 4\].*\[16777216, 4\]"),
    ({"num_hidden_layers": 2}, r"lacks encoder\.layer\.1"),
    ({"num_hidden_layers": 10**7}, "num_hidden_layers.*10000000"),
  ],
)
def test_other_architectures_are_refused(tmp_path, tensors, changes, message):
  directory = _write(tmp_path, tensors, {**_CONFIG, **changes})
  with pytest.raises(ValueError, match=message):
    load_huggingface(directory)


@pytest.mark.parametrize(
  ("name", "message"),
  [
    ("pytorch_model.bin", r"pytorch_model\.bin as weights"),  # damaged
    ("model.ckpt", r"pytorch_model\.bin.*model\.ckpt"),
    ("model.safetensors", r"model\.safetensors as safetensors"),  # damaged
    ("notes.txt", r"model\.safetensors.*notes\.txt"),
  ],
)
def test_directory_without_weights_is_refused(tmp_path, name, message):
  (tmp_path / "config.json").write_text(json.dumps(_CONFIG))
  (tmp_path / name).write_bytes(b"\x80\x04N.")
  with pytest.raises(ValueError, match=message):
    load_huggingface(str(tmp_path))
