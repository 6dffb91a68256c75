"""Models as Hugging Face directories: names, shapes and keys on paper."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.heads import SpanHead
from bert_span.presets.huggingface_writer import (
  config_values,
  encoder_tensors,
  save_huggingface,
)
from bert_span.text.sentencepiece_model import ModelProto, sentence_pieces
from tests.support.models import (
  extractor_of,
  shared_extractor,
  tiny_encoder,
  tiny_extractor,
  tiny_pieces,
)


def _filled(**changes):
  backbone = tiny_encoder(**changes)
  for number, weight in enumerate(backbone.weights):
    size = np.prod(weight.shape)
    weight.assign(number + np.arange(size).reshape(weight.shape) / size)
  return backbone


def test_matrices_are_turned_and_heads_are_in_one_axis():
  backbone = _filled()
  tensors = encoder_tensors(backbone)
  weights = {weight.path: weight.numpy() for weight in backbone.weights}
  layer = "transformer_layer_0/self_attention_layer"
  query = weights[f"{layer}/query/kernel"]  # [hidden, heads, size]
  assert query.shape == (8, 2, 4)
  name = "bert.encoder.layer.0.attention"
  found = tensors[f"{name}.self.query.weight"]  # [outputs, inputs]
  assert found[5, 3] == query[3, 1, 1]
  out = weights[f"{layer}/attention_output/kernel"]  # [heads, size, hidden]
  assert tensors[f"{name}.output.dense.weight"][3, 5] == out[1, 1, 3]
  bias = weights[f"{layer}/value/bias"]  # [heads, size]
  assert tensors[f"{name}.self.value.bias"].tolist() == bias.ravel().tolist()
  table = weights["token_embedding/embeddings"]
  found = tensors["bert.embeddings.word_embeddings.weight"]
  np.testing.assert_array_equal(found, table)
  assert {tensor.dtype for tensor in tensors.values()} == {np.dtype("float32")}


def test_query_key_and_value_of_modernbert_are_one_tensor():
  backbone = _filled(architecture="modernbert")
  tensors = encoder_tensors(backbone)
  weights = {weight.path: weight.numpy() for weight in backbone.weights}
  layer = "transformer_layer_0/self_attention_layer"
  fused = tensors["model.layers.0.attn.Wqkv.weight"]
  assert fused.shape == (3 * 8, 8)
  for i, name in enumerate(("query", "key", "value")):
    kernel = weights[f"{layer}/{name}/kernel"].reshape(8, 8)
    np.testing.assert_array_equal(fused[8 * i : 8 * i + 8], kernel.T)


def test_config_json_has_the_sizes_by_the_names_of_transformers():
  values = config_values(tiny_encoder(num_layers=3, attention_dropout=0.3))
  assert values == {
    "vocab_size": 11,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "hidden_size": 8,
    "intermediate_size": 16,
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.3,
    "max_position_embeddings": 6,
    "type_vocab_size": 2,
    "hidden_act": "gelu_new",
    "layer_norm_eps": 1e-12,
    "initializer_range": 0.02,
    "model_type": "bert",
    "pad_token_id": 0,
    "position_embedding_type": "absolute",
  }


def test_a_head_has_the_names_of_transformers_class(tmp_path):
  extractor = shared_extractor()
  save_huggingface(extractor, tmp_path / "model")
  path = tmp_path / "model" / "model.safetensors"
  tensors = load_file(path)
  kernel = extractor.head.kernel.numpy()  # [hidden, 2]
  np.testing.assert_array_equal(tensors["qa_outputs.weight"], kernel.T)
  assert tensors["qa_outputs.bias"].shape == (2,)
  with safe_open(path, "np") as file:  # transformers refuses other files.
    assert file.metadata() == {"format": "pt"}
  config = json.loads((tmp_path / "model" / "config.json").read_text())
  assert config["architectures"] == ["BertForQuestionAnswering"]


def test_a_head_without_a_bias_gets_one_of_zeros(tmp_path):
  made = tiny_extractor()
  extractor = SpanExtractor(
    made.backbone, made.preprocessor, head=SpanHead(use_bias=False)
  )
  extractor.head_is_trained = True
  save_huggingface(extractor, tmp_path / "model")
  tensors = load_file(tmp_path / "model" / "model.safetensors")
  assert tensors["qa_outputs.bias"].tolist() == [0.0, 0.0]


def _untrained():
  extractor = tiny_extractor()
  extractor.head_is_trained = False
  return extractor


def _plain_modernbert():
  """A ModernBERT whose head lacks the layer of transformers' class."""
  made = extractor_of("modernbert")
  plain = SpanExtractor(made.backbone, made.preprocessor, head=SpanHead())
  plain.head_is_trained = True
  return plain


def _without_dummy_prefix():
  model = ModelProto.FromString(tiny_pieces("xlm-roberta").proto)
  model.normalizer_spec.add_dummy_prefix = False
  proto = model.SerializeToString()
  pieces = sentence_pieces(proto, "xlm-roberta", "")
  return extractor_of("xlm-roberta", vocabulary=pieces)


@pytest.mark.parametrize(
  ("make", "names"),
  [
    (_untrained, "span head.*fine_tune"),
    (
      lambda: tiny_extractor(kind=BioExtractor),
      "bio head.*save_to_preset",
    ),
    (_plain_modernbert, "transform_kernel"),
    (
      lambda: extractor_of("mobilebert", key_query_shared_bottleneck=False),
      "key_query_shared_bottleneck",
    ),
    (_without_dummy_prefix, "add_dummy_prefix"),
    # The norm of a head has the epsilon of the encoder's.
    (lambda: extractor_of("modernbert", layer_norm_epsilon=1e-3), "norm_eps"),
  ],
)
def test_what_transformers_cannot_have_is_refused_and_leaves_nothing(
  tmp_path, make, names
):
  with pytest.raises(ValueError, match=names):
    save_huggingface(make(), tmp_path / "model")
  assert not list(tmp_path.iterdir())
