"""Reading the original's checkpoints into KerasHub's encoder."""

import dataclasses
import json
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_span.modeling.encoder import build_encoder, encode
from bert_span.presets.architectures.mobilebert import ORIGINAL_KEYS
from bert_span.presets.encoder_weights import (
  LoadedPreset,
  check_read_back,
  load_tf1_checkpoint,
  original_weights,
  read_bert_config,
)
from bert_span.presets.huggingface import huggingface_config
from bert_span.text.vocabulary import AddedToken
from tests.support.models import (
  INPUTS,
  VOCABULARY,
  tiny_config,
  tiny_encoder,
  tiny_pieces,
)

_CONFIG = tiny_config(hidden_dim=4, intermediate_dim=6, max_sequence_length=5)
_LAYER, _TABLE = "bert/encoder/layer_0", "bert/embeddings/word_embeddings"


@pytest.fixture
def tensors():
  """Random tensors with the original's names and shapes."""
  return _random(dict(original_weights(_CONFIG).values()))


@pytest.fixture
def load(tmp_path):
  """A function that writes tensors as TensorFlow 1 does, and loads them."""

  def write_and_load(tensors, config=_CONFIG):
    prefix = str(tmp_path / "bert_model.ckpt")
    tf.raw_ops.SaveV2(
      prefix=prefix,
      tensor_names=list(tensors),
      shape_and_slices=[""] * len(tensors),
      tensors=list(tensors.values()),
    )
    return load_tf1_checkpoint(config, prefix)

  return write_and_load


def test_every_weight_is_filled_and_the_heads_kernel_transposed(load, tensors):
  kernel = np.arange(8, dtype="float32").reshape(2, 4)
  tensors["cls/squad/output_weights"] = kernel
  tensors["cls/squad/output_bias"] = np.array([1.0, 2.0], "float32")
  loaded = load(tensors)
  head = loaded.head_weights["span_head"]
  assert head["kernel"].tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]
  assert head["bias"].tolist() == [1.0, 2.0]
  backbone = loaded.backbone
  names = original_weights(_CONFIG)
  assert {weight.path for weight in backbone.weights} == names.keys()
  for weight in backbone.weights:
    stored = tensors[f"bert/{names[weight.path][0]}"]
    np.testing.assert_array_equal(weight.numpy().ravel(), stored.ravel())


def test_other_names_are_ignored_and_the_pooler_may_be_missing(
  load, tensors, capsys
):
  for part in ("kernel", "bias"):
    del tensors[f"bert/pooler/dense/{part}"]
  tensors[f"{_TABLE}/adam_m"] = tensors[_TABLE] * 0
  tensors["cls/predictions/output_bias"] = np.zeros(11, "float32")
  tensors["global_step"] = np.array(7, "int64")
  loaded = load(tensors)
  assert loaded.head_weights == {}
  np.testing.assert_array_equal(
    loaded.backbone.token_embedding.embeddings, tensors[_TABLE]
  )
  assert "has no pooler" in capsys.readouterr().err


@pytest.mark.parametrize(
  ("name", "values", "message"),
  [
    (f"{_LAYER}/attention/self/key/bias", None, "lacks .*key/bias"),
    (_TABLE, np.zeros((12, 4)), r"word_embeddings.* \[12, 4\].* \[11, 4\]"),
    (f"{_LAYER}/output/dense/bias", [1, 2, np.nan, 3], "output_dense/bias"),
    (
      "bert/encoder/layer_1/attention/self/query/kernel",
      [1],
      "more layers.* bert/encoder/layer_1/",
    ),
    ("cls/squad/output_weights", np.zeros((3, 4)), r"\[2, 4\].* \[3, 4\]"),
  ],
)
def test_a_missing_or_other_tensor_is_refused(
  load, tensors, name, values, message
):
  tensors.pop(name, None)
  if values is not None:
    tensors[name] = np.array(values, np.float32)
  with pytest.raises(ValueError, match=message):
    load(tensors)


def test_a_checkpoint_of_another_config_is_refused(load, tensors):
  for changes, message in (
    ({"num_layers": 2}, r"lacks .*layer_1.*and 11 more"),
    # Refused before memory is taken for them.
    ({"num_layers": 1000}, "lacks .*layer_1"),
    ({"hidden_dim": 2**24}, "16777216"),
    ({"vocabulary_size": 2**24}, "16777216"),
  ):
    with pytest.raises(ValueError, match=message):
      load(tensors, dataclasses.replace(_CONFIG, **changes))


class _Original:
  """The arithmetic that originals share, of `INPUTS` in float64."""

  def __init__(self, tensors):
    self.tensors = tensors

  def weight(self, name):
    return self.tensors[f"bert/{name}"].astype(np.float64)

  def dense(self, name, x):
    return x @ self.weight(f"{name}/kernel") + self.weight(f"{name}/bias")

  def scaled(self, name, x):
    return self.weight(f"{name}/gamma") * x + self.weight(f"{name}/beta")

  def norm(self, name, x):
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
    return self.scaled(name, x)

  def positions_and_segments(self):
    """[windows, seq_length, width]."""
    segments = INPUTS["segment_ids"]
    positions = self.weight("embeddings/position_embeddings")
    types = self.weight("embeddings/token_type_embeddings")
    return types[segments] + positions[: segments.shape[1]]

  def attended(self, name, num_heads, query, key, value):
    """Attention without its output matrix. Padding scores -1e9."""
    heads = []
    for part, x in (("query", query), ("key", key), ("value", value)):
      x = self.dense(f"{name}/{part}", x)
      x = x.reshape(*x.shape[:2], num_heads, -1)
      heads.append(x.swapaxes(1, 2))  # [windows, heads, seq_length, size]
    scores = heads[0] @ heads[1].swapaxes(2, 3) / heads[0].shape[-1] ** 0.5
    scores -= 1e9 * (INPUTS["padding_mask"][:, None, None] == 0)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores /= scores.sum(-1, keepdims=True)
    x = (scores @ heads[2]).swapaxes(1, 2)
    return x.reshape(*x.shape[:2], -1)


def _gelu_new(x):
  cubic = x + 0.044715 * x**3
  return x / 2 * (1 + np.tanh((2 / np.pi) ** 0.5 * cubic))


def _check_outputs(backbone, expected):
  found = encode(backbone, INPUTS).numpy()
  real = INPUTS["padding_mask"] == 1
  np.testing.assert_allclose(found[real], expected[real], rtol=1e-4, atol=1e-4)


_SIZES = {"architecture": "mobilebert", "hidden_dim": 8, "embedding_dim": 3}
_SIZES |= {"intermediate_dim": 6, "use_bottleneck": True}
_SIZES |= {"intra_bottleneck_size": 4}


def _random(shapes):
  """Random tensors by their names, without "bert/"."""
  random = np.random.default_rng(0)
  return {
    f"bert/{name}": random.normal(size=shape).astype("float32")
    for name, shape in shapes.items()
  }


def _norm_names(prefix, norm, size):
  return {f"{prefix}/{norm}/beta": (size,), f"{prefix}/{norm}/gamma": (size,)}


def _dense_names(prefix, *shape):
  return {f"{prefix}/kernel": shape, f"{prefix}/bias": shape[1:]}


def test_a_mobilebert_has_the_names_of_its_own_original(load):
  """As google-research/mobilebert, modeling.py, names them (OPT.json)."""
  layer, norm = "encoder/layer_0", "FakeLayerNorm"
  query = f"{layer}/attention/self"
  names = {
    "embeddings/word_embeddings": (11, 3),
    "embeddings/token_type_embeddings": (2, 8),
    "embeddings/position_embeddings": (6, 8),
    **_dense_names("embeddings/embedding_transformation", 9, 8),
    **_norm_names("embeddings", norm, 8),
    **_dense_names(f"{layer}/bottleneck/input/dense", 8, 4),
    **_norm_names(f"{layer}/bottleneck/input", norm, 4),
    **_dense_names(f"{layer}/bottleneck/attention/dense", 8, 4),
    **_norm_names(f"{layer}/bottleneck/attention", norm, 4),
    **_dense_names(f"{query}/query", 4, 4),
    **_dense_names(f"{query}/key", 4, 4),
    **_dense_names(f"{query}/value", 8, 4),
    **_dense_names(f"{layer}/attention/output/dense", 4, 4),
    **_norm_names(f"{layer}/attention/output", norm, 4),
    **_dense_names(f"{layer}/ffn_layer_0/intermediate/dense", 4, 6),
    **_dense_names(f"{layer}/ffn_layer_0/output/dense", 6, 4),
    **_norm_names(f"{layer}/ffn_layer_0/output", norm, 4),
    **_dense_names(f"{layer}/intermediate/dense", 4, 6),
    **_dense_names(f"{layer}/output/dense", 6, 4),
    **_norm_names(f"{layer}/output", norm, 4),
    **_dense_names(f"{layer}/output/bottleneck/dense", 4, 8),
    **_norm_names(f"{layer}/output/bottleneck", norm, 8),
  }
  tensors = _random(names)
  tensors["cls/squad/output_weights"] = np.ones((2, 8), "float32")
  config = tiny_config(
    **_SIZES,
    activation="relu",
    trigram_input=True,
    key_query_shared_bottleneck=True,
    num_feedforward_networks=2,
    normalization_type="no_norm",
  )
  loaded = load(tensors, config)
  assert loaded.head_weights["span_head"]["kernel"].shape == (8, 2)
  assert set(names) == {name for name, _ in original_weights(config).values()}
  _check_outputs(loaded.backbone, _mobilebert(tensors, config))
  # With a variable for each tensor of the checkpoint, none is left over.
  assert len(loaded.backbone.weights) == len(names)


_ALBERT = {
  "architecture": "albert",
  "hidden_dim": 8,
  "embedding_dim": 3,
  "intermediate_dim": 6,
  "num_layers": 4,
}


def _albert_tensors(num_groups=1, num_inner=1):
  """Random tensors with the names of google-research/albert, modeling.py."""
  names = {
    "embeddings/word_embeddings": (11, 3),
    "embeddings/token_type_embeddings": (2, 3),
    "embeddings/position_embeddings": (6, 3),
    **_norm_names("embeddings", "LayerNorm", 3),
    **_dense_names("encoder/embedding_hidden_mapping_in", 3, 8),
  }
  for group in range(num_groups):
    for inner in range(num_inner):
      layer = f"encoder/transformer/group_{group}/inner_group_{inner}"
      for part in ("query", "key", "value"):
        names |= _dense_names(f"{layer}/attention_1/self/{part}", 8, 8)
      names |= _dense_names(f"{layer}/attention_1/output/dense", 8, 8)
      names |= _norm_names(layer, "LayerNorm", 8)
      ffn = f"{layer}/ffn_1/intermediate"
      names |= _dense_names(f"{ffn}/dense", 8, 6)
      names |= _dense_names(f"{ffn}/output/dense", 6, 8)
      names |= _norm_names(layer, "LayerNorm_1", 8)
  return _random(names)


def _albert(tensors, calls):
  """The sequence output of a checkpoint, in float64.

  calls: the group and the inner group of each transformer layer.
  """
  original = _Original(tensors)
  x = original.weight("embeddings/word_embeddings")[INPUTS["token_ids"]]
  x = x + original.positions_and_segments()
  x = original.norm("embeddings/LayerNorm", x)
  x = original.dense("encoder/embedding_hidden_mapping_in", x)
  for group, inner in calls:
    layer = f"encoder/transformer/group_{group}/inner_group_{inner}"
    attention, ffn = f"{layer}/attention_1", f"{layer}/ffn_1/intermediate"
    attended = original.attended(f"{attention}/self", 2, x, x, x)
    attended = original.dense(f"{attention}/output/dense", attended)
    x = original.norm(f"{layer}/LayerNorm", attended + x)
    change = _gelu_new(original.dense(f"{ffn}/dense", x))
    change = original.dense(f"{ffn}/output/dense", change)
    x = original.norm(f"{layer}/LayerNorm_1", change + x)
  return x


@pytest.mark.parametrize(
  ("num_groups", "num_inner", "calls"),
  [
    (1, 1, [(0, 0)] * 4),
    (2, 1, [(0, 0), (0, 0), (1, 0), (1, 0)]),
    (2, 2, [(0, 0), (0, 1)] * 2 + [(1, 0), (1, 1)] * 2),
  ],
)
def test_an_albert_of_its_original_shares_the_weights_of_layers(
  load, num_groups, num_inner, calls
):
  tensors = _albert_tensors(num_groups, num_inner)
  tensors["cls/squad/output_weights"] = np.ones((2, 8), "float32")
  config = tiny_config(
    **_ALBERT, num_groups=num_groups, num_inner_repetitions=num_inner
  )
  loaded = load(tensors, config)
  assert loaded.head_weights["span_head"]["kernel"].shape == (8, 2)
  _check_outputs(loaded.backbone, _albert(tensors, calls))
  for more in ((num_groups + 1, num_inner), (num_groups, num_inner + 1)):
    with pytest.raises(ValueError, match=r"more .*bert/encoder/.*/group_"):
      load(_albert_tensors(*more), config)


def test_keys_of_albert_describe_an_albert(tmp_path):
  # albert_config.json of albert_base_v2, but small.
  values = {**_TINY, "hidden_act": "gelu", "embedding_size": 4}
  values |= {"hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}
  values |= {"num_hidden_groups": 2, "inner_group_num": 3, "gap_size": 0}
  values |= {"net_structure_type": 0, "num_memory_blocks": 0}
  values |= {"down_scale_factor": 1, "initializer_range": 0.02}
  expected = tiny_config(
    architecture="albert",
    num_layers=2,
    embedding_dim=4,
    num_groups=2,
    num_inner_repetitions=3,
  )
  assert read(tmp_path, values) == expected
  assert expected.activation == "gelu_new" and expected.dropout == 0.0
  with pytest.raises(ValueError, match=r"groups.* 2 and 3"):
    read(tmp_path, {**values, "num_hidden_groups": 3})
  # transformers' class has the defaults of the original, an xxlarge.
  config = huggingface_config({"model_type": "albert"}, "config.json")
  assert (config.hidden_dim, config.num_heads) == (4096, 64)
  base = {"hidden_dim": 768, "num_heads": 12, "intermediate_dim": 3072}
  backbone = build_encoder(dataclasses.replace(config, **base))
  # As KerasHub says of albert_base_en_uncased.
  assert backbone.count_params() == 11_683_584


def test_the_teacher_of_mobilebert_is_read(load):
  """Wide layers, no shared bottleneck: the sizes of IB-BERT, but small."""
  sizes = {**_SIZES, "intra_bottleneck_size": 12, "trigram_input": True}
  config = tiny_config(**sizes)
  tensors = _random(dict(original_weights(config).values()))
  assert tensors["bert/encoder/layer_0/attention/self/key/kernel"].shape == (
    *(8, 12),
  )
  assert "bert/encoder/layer_0/output/bottleneck/LayerNorm/gamma" in tensors
  backbone = load(tensors, config).backbone
  _check_outputs(backbone, _mobilebert(tensors, config))


def _mobilebert(tensors, config):
  """The sequence output of a checkpoint, in float64, by the paper's figures.

  Only the score of padding is that of transformers, not the original's -6.
  """
  original = _Original(tensors)
  dense = original.dense

  def norm(name, x):
    if config.normalization_type == "no_norm":
      return original.scaled(f"{name}/FakeLayerNorm", x)
    return original.norm(f"{name}/LayerNorm", x)

  def activated(x):
    return np.maximum(x, 0) if config.activation == "relu" else _gelu_new(x)

  x = original.weight("embeddings/word_embeddings")[INPUTS["token_ids"]]
  around = np.pad(x, [(0, 0), (1, 1), (0, 0)])
  x = np.concatenate([around[:, 2:], x, around[:, :-2]], -1)
  x = dense("embeddings/embedding_transformation", x)
  x = norm("embeddings", x + original.positions_and_segments())
  for i in range(config.num_layers):
    layer, outside = f"encoder/layer_{i}", x
    bottleneck = f"{layer}/bottleneck"
    x = norm(f"{bottleneck}/input", dense(f"{bottleneck}/input/dense", x))
    query = outside
    if config.key_query_shared_bottleneck:
      name = f"{bottleneck}/attention"
      query = norm(name, dense(f"{name}/dense", outside))
    attended = original.attended(
      f"{layer}/attention/self", config.num_heads, query, query, outside
    )
    name = f"{layer}/attention/output"
    x = norm(name, dense(f"{name}/dense", attended) + x)
    count = config.num_feedforward_networks
    for j in range(count):
      name = f"{layer}/ffn_layer_{j}" if j < count - 1 else layer
      inner = activated(dense(f"{name}/intermediate/dense", x))
      x = norm(f"{name}/output", dense(f"{name}/output/dense", inner) + x)
    name = f"{layer}/output/bottleneck"
    x = norm(name, dense(f"{name}/dense", x) + outside)
  return x


@pytest.mark.parametrize(
  ("path", "message"),
  [
    ("dir/model.ckpt.index", r" dir/model\.ckpt\. Received"),
    ("dir/model.ckpt.data-00000-of-00001", r" dir/model\.ckpt\. Received"),
    ("pytorch_model.bin", "preset"),
    ("dir/nothing", "Cannot read .*dir/nothing"),
  ],
)
def test_what_is_no_checkpoint_is_refused(path, message):
  with pytest.raises(ValueError, match=message):
    load_tf1_checkpoint(_CONFIG, path)


def test_the_remedy_for_one_file_of_a_checkpoint_loads_it(
  tmp_path, load, tensors
):
  load(tensors)
  with pytest.raises(ValueError) as caught:
    load_tf1_checkpoint(_CONFIG, f"{tmp_path}/bert_model.ckpt.index")
  prefix = re.search(r"files: (\S+)\. Received", str(caught.value))[1]
  assert load_tf1_checkpoint(_CONFIG, prefix).backbone


def test_a_checkpoint_that_is_cut_is_refused(tmp_path, load, tensors):
  load(tensors)
  (data,) = tmp_path.glob("*.data-*")
  for change in (lambda: data.write_bytes(data.read_bytes()[:99]), data.unlink):
    change()
    with pytest.raises(ValueError, match=rf"{tmp_path}/bert_model.* cannot"):
      load_tf1_checkpoint(_CONFIG, f"{tmp_path}/bert_model.ckpt")


_TINY = {"vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 2}
_TINY |= {"num_attention_heads": 2, "intermediate_size": 16}
_TINY |= {"max_position_embeddings": 6, "type_vocab_size": 2}


def read(folder, values):
  """Reads values as a bert_config.json."""
  path = folder / "bert_config.json"
  path.write_text(json.dumps(values), encoding="utf-8")
  return read_bert_config(str(path))


def test_all_sizes_are_read_and_unknown_keys_ignored(tmp_path):
  values = {**_TINY, "hidden_dropout_prob": 0.2, "hidden_act": "gelu"}
  values |= {"attention_probs_dropout_prob": 0.3, "initializer_range": 0.05}
  expected = tiny_config(
    num_layers=2, dropout=0.2, attention_dropout=0.3, initializer_range=0.05
  )
  assert read(tmp_path, {**values, "directionality": "bidi"}) == expected
  # As in the original's dropout.
  values["hidden_dropout_prob"] = None
  assert read(tmp_path, values).dropout == 0.0


def test_missing_keys_take_the_originals_defaults(tmp_path):
  config = read(tmp_path, {"vocab_size": 30522})
  assert dataclasses.astuple(config)[:10] == (
    *(30522, 12, 12, 768, 3072, 0.1, 0.1, 512, 16, 0.02),
  )
  config = huggingface_config({"model_type": "bert"}, "config.json")
  assert (config.vocabulary_size, config.num_segments) == (30522, 2)


def test_keys_of_mobilebert_describe_a_mobilebert(tmp_path):
  # uncased_L-24_H-128_B-512_A-4_F-4_OPT.json, but small.
  values = {**_TINY, "hidden_act": "relu", "embedding_size": 4}
  values |= {"trigram_input": True, "use_bottleneck": True}
  values |= {"intra_bottleneck_size": 6, "key_query_shared_bottleneck": True}
  values |= {"num_feedforward_networks": 4, "normalization_type": "no_norm"}
  changes = {name: values[name] for name in ORIGINAL_KEYS if name in values}
  expected = tiny_config(
    architecture="mobilebert",
    num_layers=2,
    activation="relu",
    embedding_dim=4,
    **changes,
  )
  assert read(tmp_path, {**values, "classifier_activation": False}) == expected
  # Its teacher's file leaves out what is false.
  values = {**_TINY, "use_bottleneck": True, "intra_bottleneck_size": 32}
  config = read(tmp_path, values)
  assert (config.architecture, config.activation) == ("mobilebert", "gelu_new")
  assert (config.normalization_type, config.inner_dim) == ("layer_norm", 32)
  assert not config.key_query_shared_bottleneck
  # transformers' class has the defaults of the released model.
  config = huggingface_config({"model_type": "mobilebert"}, "config.json")
  backbone = build_encoder(dataclasses.replace(config, num_layers=1))
  # Embeddings and a layer; with 24 layers 24.6 million.
  assert backbone.count_params() == 4_368_128 + 842_240


def test_impossible_settings_are_refused_by_name(tmp_path):
  with pytest.raises(ValueError, match=r"vocab_size.*d_model"):
    read(tmp_path, {"hidden_size": 8, "d_model": 4})
  for changes, message in (
    ({"hidden_size": 9}, "Received: 9 and 2"),
    ({"hidden_act": "silu"}, "hidden_act.*'silu'"),
    ({"vocab_size": "many"}, "vocab_size.*'many'"),
    ({"num_hidden_layers": 0}, "num_hidden_layers.* 0"),
    ({"type_vocab_size": True}, "type_vocab_size.*True"),
    ({"hidden_dropout_prob": 1.0}, "hidden_dropout_prob.*1.0"),
    ({"initializer_range": 0}, "initializer_range.* 0"),
    ({"normalization_type": "manual_layer_norm"}, "manual_layer_norm"),
    ({"use_bottleneck": True, "intra_bottleneck_size": 9}, "bottleneck.*9 and"),
    ({"num_feedforward_networks": 0}, "num_feedforward_networks.* 0"),
    ({"trigram_input": "yes"}, "trigram_input.*'yes'"),
  ):
    with pytest.raises(ValueError, match=rf"bert_config\.json.*{message}"):
      read(tmp_path, {**_TINY, **changes})


@pytest.mark.parametrize(
  ("saved", "stored", "names"),
  [
    ([1.0, 2.0], [1.0, 2.0], None),
    ([1.0, 2.0], [1.0, 2.5], "check the disk"),
    ([1.0, 2.0], None, "check the disk"),
    ([1.0, np.nan], [1.0, np.nan], "NaN"),
    ([1.0, np.inf], [1.0, np.inf], "infinite"),
  ],
)
def test_a_file_must_hold_the_weights_that_were_saved(saved, stored, names):
  weight = keras.Variable(np.zeros(2), name="bias")
  arguments = [(weight, np.array(saved))], {"bias": stored}, "dir/x.h5"
  if names is None:
    check_read_back(*arguments)
    return
  with pytest.raises(ValueError, match=rf"x\.h5 .*bias.*{names}"):
    check_read_back(*arguments)


def _preset(folder, tokens, architecture="bert", rows=None, **fields):
  """A preset with a vocab.txt; `rows` are the embeddings of its encoder."""
  path = folder / "vocab.txt"
  path.write_text("\n".join(tokens))
  size = len(tokens) if rows is None else rows
  backbone = tiny_encoder(architecture=architecture, vocabulary_size=size)
  return LoadedPreset(backbone, vocabulary_path=str(path), **fields)


def test_a_named_token_without_an_embedding_is_ordinary_characters(
  tmp_path, capsys
):
  tokens = [(AddedToken("<a>"), None), (AddedToken("<b>"), None)]
  rows = len(VOCABULARY) + 1
  preset = _preset(tmp_path, VOCABULARY, rows=rows, added_tokens=tokens)
  assert preset.vocabulary().tokens == [*VOCABULARY, "<a>"]
  assert "'<b>'" in capsys.readouterr().err


def test_a_roberta_counts_positions_from_its_padding(tmp_path):
  tokens = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "a"]  # as KLUE's
  assert _preset(tmp_path, tokens, "roberta").vocabulary() == tokens
  tokens[1], tokens[3] = tokens[3], tokens[1]
  with pytest.raises(ValueError, match=r"vocab\.txt: roberta .* 1\..*\[UNK\]"):
    _preset(tmp_path, tokens, "roberta").vocabulary()


@pytest.mark.parametrize(
  ("lower_case", "keeps_accents"), [(None, False), (True, True), (False, False)]
)
def test_an_alberts_pieces_get_the_rules_of_its_files(
  tmp_path, lower_case, keeps_accents
):
  pieces, path = tiny_pieces("albert"), tmp_path / "spiece.model"
  path.write_bytes(pieces.proto)
  preset = LoadedPreset(
    tiny_encoder(architecture="albert", vocabulary_size=len(pieces.tokens)),
    vocabulary_path=str(path),
    lower_case=lower_case,
    word_rules={"keeps_accents": keeps_accents},
  )
  assert preset.vocabulary().albert_rules == {
    "do_lower_case": lower_case is not False,
    "keep_accents": keeps_accents,
  }


def test_the_vocabulary_is_of_the_kind_of_the_encoder(tmp_path):
  preset = _preset(tmp_path, VOCABULARY, "deberta-v2")
  with pytest.raises(ValueError, match=r"WordPieces.*deberta-v2"):
    preset.vocabulary()


@pytest.mark.parametrize(
  ("more", "fits"), [(-1, 0), (0, 1), (127, 1), (128, 0)]
)
def test_the_table_may_have_up_to_127_rows_without_a_token(
  tmp_path, more, fits
):
  rows = len(VOCABULARY) + more
  preset = _preset(tmp_path, VOCABULARY, rows=rows)
  if fits:
    assert preset.vocabulary() == VOCABULARY
    return
  with pytest.raises(ValueError, match=rf"{len(VOCABULARY)} Word.* {rows} "):
    preset.vocabulary()
