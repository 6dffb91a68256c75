"""Whether the installed Keras and KerasHub still have what is used of them."""

from concurrent import futures

import keras
import keras_hub
import numpy as np
import pytest

from bert_span.modeling import keras_internals
from bert_span.modeling.encoder import EncoderConfig, build_encoder
from bert_span.modeling.keras_internals import sublayers, weights_undrawn


@pytest.mark.parametrize(
  ("owner", "name", "user"),
  [
    (keras.layers.Layer, "_flatten_layers", "modeling/keras_internals.py"),
    (keras_internals.preset_utils, "get_file", "modeling/keras_internals.py"),
    (keras.optimizers.AdamW, "_get_variable_index", "training/optimizer.py"),
    (
      keras.optimizers.AdamW,
      "_all_reduce_sum_gradients",
      "training/optimizer.py",
    ),
  ],
)
def test_a_private_name_is_still_there(owner, name, user):
  assert hasattr(owner, name), (
    f"{owner.__name__} of Keras {keras.__version__} or KerasHub "
    f"{keras_hub.__version__} has no {name}, which bert_span/{user} uses: "
    "adapt that, or lower the bound in setup.py."
  )


def test_weights_are_not_drawn_in_one_thread_for_a_while():
  draw = keras.initializers.TruncatedNormal(0.02, seed=1)
  drawn = np.array(draw([2, 3]))
  with weights_undrawn():
    assert not np.any(draw([2, 3]))
    with futures.ThreadPoolExecutor(1) as pool:
      elsewhere = pool.submit(draw, [2, 3]).result()
  np.testing.assert_array_equal(elsewhere, drawn)
  np.testing.assert_array_equal(draw([2, 3]), drawn)
  with pytest.raises(ValueError, match="shape"), weights_undrawn():
    raise ValueError("shape")
  assert np.any(draw([2, 3]))


def test_adam_still_keeps_its_moments_in_two_lists():
  optimizer = keras.optimizers.AdamW()
  variable = keras.Variable([1.0, 2.0])
  optimizer.build([variable])
  for name in ("_momentums", "_velocities"):
    assert len(getattr(optimizer, name)) == 1, (
      f"AdamW of Keras {keras.__version__} has no moments in {name}, which "
      "bert_span/training/optimizer.py uses."
    )


def test_a_transformer_layer_has_the_parts_that_are_set_up_one_by_one():
  config = EncoderConfig(
    vocabulary_size=11, num_layers=1, num_heads=2, hidden_dim=8
  )
  (layer,) = build_encoder(config).transformer_layers
  assert sublayers(layer)[0] is layer
  (attention,) = sublayers(layer, keras.layers.MultiHeadAttention)
  assert len(sublayers(attention, keras.layers.Softmax)) == 1
  assert len(sublayers(attention, keras.layers.Dropout)) == 1
  assert {part.name for part in sublayers(layer, keras.layers.Dropout)} >= {
    "self_attention_dropout",
    "feedforward_dropout",
  }
  dense = sublayers(layer, (keras.layers.Dense, keras.layers.EinsumDense))
  assert {part.name for part in dense} == {
    *("query", "key", "value", "attention_output"),
    *("feedforward_intermediate_dense", "feedforward_output_dense"),
  }


def test_a_preset_s_file_is_found_or_none(tmp_path):
  (tmp_path / "vocab.txt").touch()
  path = keras_internals.preset_file(str(tmp_path), "vocab.txt")
  assert path == str(tmp_path / "vocab.txt")
  assert keras_internals.preset_file(str(tmp_path), "tokenizer.json") is None
