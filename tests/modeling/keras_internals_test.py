"""Whether the installed Keras and KerasHub still have what is used of them."""

from concurrent import futures

import keras
import numpy as np
import pytest

from bert_span.modeling import keras_internals
from bert_span.modeling.keras_internals import weights_undrawn


def test_private_names_are_still_there():
  """Else adapt their users, or lower the bounds in setup.py."""
  for owner, name in (
    (keras.layers.Layer, "_flatten_layers"),
    (keras_internals.preset_utils, "get_file"),
    (keras.optimizers.AdamW, "_get_variable_index"),
    (keras.optimizers.AdamW, "_all_reduce_sum_gradients"),
  ):
    assert hasattr(owner, name), (owner, name)
  optimizer = keras.optimizers.AdamW()
  optimizer.build([keras.Variable([1.0, 2.0])])
  assert len(optimizer._momentums) == len(optimizer._velocities) == 1


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
