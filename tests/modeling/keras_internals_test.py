"""Encoders that are built without drawing their weights."""

from concurrent import futures

import keras
import numpy as np
import pytest

from bert_span.modeling.keras_internals import weights_undrawn


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
