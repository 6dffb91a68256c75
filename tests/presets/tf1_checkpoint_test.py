"""Reading the original's checkpoints into KerasHub's encoder."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span.modeling import encoder
from bert_span.modeling.encoder_config import EncoderConfig, read_bert_config
from bert_span.presets.encoder_weights import original_names
from bert_span.presets.tf1_checkpoint import load_tf1_checkpoint

_CONFIG = EncoderConfig(
  vocabulary_size=11,
  num_layers=1,
  num_heads=2,
  hidden_dim=4,
  intermediate_dim=6,
  max_sequence_length=5,
  num_segments=2,
)


def _original_tensors(seed=0):
  """Random tensors with the original's names and shapes."""
  random = np.random.default_rng(seed)
  wide = {"intermediate/dense/kernel": (4, 6), "intermediate/dense/bias": (6,)}
  special = {
    "embeddings/word_embeddings": (11, 4),
    "embeddings/position_embeddings": (5, 4),
    "embeddings/token_type_embeddings": (2, 4),
    "encoder/layer_0/output/dense/kernel": (6, 4),
    **{f"encoder/layer_0/{name}": shape for name, shape in wide.items()},
  }
  tensors = {}
  for name in original_names(1).values():
    shape = special.get(name, (4, 4) if name.endswith("kernel") else (4,))
    tensors[f"bert/{name}"] = random.normal(size=shape).astype("float32")
  return tensors


def _write(tmp_path, tensors):
  """Writes a checkpoint in TensorFlow 1's form, names to values."""
  prefix = str(tmp_path / "bert_model.ckpt")
  with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    variables = [
      tf.compat.v1.get_variable(name, initializer=value)
      for name, value in tensors.items()
    ]
    session.run(tf.compat.v1.global_variables_initializer())
    tf.compat.v1.train.Saver(variables).save(
      session, prefix, write_meta_graph=False
    )
  return prefix


def test_every_weight_is_filled_and_heads_are_split_in_order(tmp_path):
  tensors = _original_tensors()
  backbone = encoder.build_encoder(_CONFIG)
  assert load_tf1_checkpoint(backbone, _write(tmp_path, tensors)) == {}
  names = original_names(1)
  assert {weight.path for weight in backbone.weights} == names.keys()
  for weight in backbone.weights:
    stored = tensors[f"bert/{names[weight.path]}"]
    np.testing.assert_array_equal(weight.numpy().ravel(), stored.ravel())
  query = tensors["bert/encoder/layer_0/attention/self/query/kernel"]
  attention = "transformer_layer_0/self_attention_layer"
  weights = {weight.path: weight.numpy() for weight in backbone.weights}
  # The second head owns the last two of the four columns ...
  np.testing.assert_array_equal(
    weights[f"{attention}/query/kernel"][:, 1], query[:, 2:]
  )
  # ... and the last two rows of the matrix that follows it.
  output = tensors["bert/encoder/layer_0/attention/output/dense/kernel"]
  np.testing.assert_array_equal(
    weights[f"{attention}/attention_output/kernel"][1], output[2:]
  )


def test_fine_tuned_head_is_returned_transposed(tmp_path):
  tensors = _original_tensors()
  tensors["cls/squad/output_weights"] = np.arange(8, dtype="float32").reshape(
    2, 4
  )
  tensors["cls/squad/output_bias"] = np.array([1.0, 2.0], "float32")
  heads = load_tf1_checkpoint(
    encoder.build_encoder(_CONFIG), _write(tmp_path, tensors)
  )
  head = heads["span_head"]
  np.testing.assert_array_equal(
    head["kernel"], [[0, 4], [1, 5], [2, 6], [3, 7]]
  )
  np.testing.assert_array_equal(head["bias"], [1.0, 2.0])


def test_names_of_the_optimizer_and_other_heads_are_passed_over(tmp_path):
  tensors = _original_tensors()
  table = "bert/embeddings/word_embeddings"
  tensors[f"{table}/adam_m"] = tensors[table] * 0
  tensors["cls/predictions/output_bias"] = np.zeros(11, "float32")
  tensors["global_step"] = np.array(7, "int64")
  backbone = encoder.build_encoder(_CONFIG)
  load_tf1_checkpoint(backbone, _write(tmp_path, tensors))
  np.testing.assert_array_equal(
    backbone.token_embedding.embeddings, tensors[table]
  )


def test_missing_weights_are_named(tmp_path):
  tensors = _original_tensors()
  missing = "bert/encoder/layer_0/attention/self/key/bias"
  del tensors[missing]
  with pytest.raises(ValueError, match=f"{missing} is not there"):
    load_tf1_checkpoint(
      encoder.build_encoder(_CONFIG), _write(tmp_path, tensors)
    )


def test_pooler_may_be_missing(tmp_path, caplog):
  tensors = {
    name: tensor
    for name, tensor in _original_tensors().items()
    if "pooler" not in name
  }
  backbone = encoder.build_encoder(_CONFIG)
  with caplog.at_level("INFO", logger="absl"):
    load_tf1_checkpoint(backbone, _write(tmp_path, tensors))
  np.testing.assert_array_equal(
    backbone.token_embedding.embeddings,
    tensors["bert/embeddings/word_embeddings"],
  )
  assert "has no pooler" in caplog.text


def test_other_shape_names_the_weight_and_both_shapes(tmp_path):
  tensors = _original_tensors()
  tensors["bert/embeddings/word_embeddings"] = np.zeros((12, 4), "float32")
  with pytest.raises(
    ValueError, match=r"word_embeddings has shape \[12, 4\].*asks for \[11, 4\]"
  ):
    load_tf1_checkpoint(
      encoder.build_encoder(_CONFIG), _write(tmp_path, tensors)
    )


def test_head_of_another_width_is_refused(tmp_path):
  tensors = _original_tensors()
  tensors["cls/squad/output_weights"] = np.zeros((3, 4), "float32")
  with pytest.raises(ValueError, match=r"\[2, 4\]. Received: \[3, 4\]"):
    load_tf1_checkpoint(
      encoder.build_encoder(_CONFIG), _write(tmp_path, tensors)
    )


@pytest.mark.parametrize("ending", ["index", "data-00000-of-00001", "meta"])
def test_one_file_of_a_checkpoint_is_answered_with_its_prefix(ending):
  with pytest.raises(ValueError, match=r"give dir/model\.ckpt\. Received"):
    load_tf1_checkpoint(
      encoder.build_encoder(_CONFIG), f"dir/model.ckpt.{ending}"
    )


def test_pickled_weights_are_refused():
  with pytest.raises(ValueError, match="safetensors"):
    load_tf1_checkpoint(encoder.build_encoder(_CONFIG), "pytorch_model.bin")


def test_missing_checkpoint_is_named(tmp_path):
  with pytest.raises(ValueError, match=r"Cannot read the checkpoint .*nothing"):
    load_tf1_checkpoint(
      encoder.build_encoder(_CONFIG), str(tmp_path / "nothing")
    )


def test_object_checkpoint_of_tensorflow_2_is_refused(tmp_path):
  path = tf.train.Checkpoint(x=tf.Variable(1.0)).save(str(tmp_path / "two"))
  with pytest.raises(ValueError, match="TensorFlow 2 object checkpoint"):
    load_tf1_checkpoint(encoder.build_encoder(_CONFIG), path)


def test_checkpoint_of_another_config_is_refused(goldens):
  folder = goldens / "tiny_ckpt"
  config = read_bert_config(str(folder / "bert_config.json"))
  with pytest.raises(ValueError, match=r"layer_2.*and 11 more are not there"):
    load_tf1_checkpoint(
      encoder.build_encoder(
        EncoderConfig(
          vocabulary_size=config.vocabulary_size,
          num_layers=3,
          num_heads=2,
          hidden_dim=64,
          intermediate_dim=256,
          num_segments=2,
        )
      ),
      str(folder / "bert_model.ckpt"),
    )
