r"""run_squad for processors: XLA compiles GELU, dropout and masked softmax.

  python -m benchmarks.minilm_squad.train \
    --flagfile=flags/minilm_squad.flags --train_file=DATA/train.json \
    --output_dir=DIR

TensorFlow computes each in several passes, in bfloat16 one number at a time;
XLA makes one loop of each. TensorFlow keeps the matrix products, in which it is
faster. Only the masks of dropout differ from those of run_squad.
"""

import runpy

import keras
import tensorflow as tf


def _fused(function):
  """Compiles a function of x, in float32, and its gradient."""

  def of(x, *others):
    return tf.cast(function(tf.cast(x, tf.float32), *others), x.dtype)

  def gradient(upstream, x, *others):
    with tf.GradientTape() as tape:
      tape.watch(x)
      y = of(x, *others)
    return tape.gradient(y, x, output_gradients=upstream)

  of_compiled, gradient_compiled = (
    tf.function(part, jit_compile=True, reduce_retracing=True)
    for part in (of, gradient)
  )

  def compiled(x, *others):
    @tf.custom_gradient
    def with_gradient(x):
      return of_compiled(x, *others), lambda upstream: gradient_compiled(
        upstream, x, *others
      )

    return with_gradient(x)

  return compiled


_gelu = _fused(tf.nn.gelu)


@_fused
def _dropout(x, rate, seed):
  """Keeps by a hash of the position and of the seed's two integers."""

  def number(value):
    return tf.constant(value, tf.uint32)

  first, second = tf.unstack(tf.bitcast(tf.cast(seed, tf.int32), tf.uint32))
  bits = tf.reshape(tf.bitcast(tf.range(tf.size(x)), tf.uint32), tf.shape(x))
  for key in (first * number(0x9E3779B9), second * number(0x85EBCA6B) + 1):
    bits += key
    # The finalizer of MurmurHash3.
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
      shifted = tf.bitwise.right_shift(bits, number(shift))
      bits = tf.bitwise.bitwise_xor(bits, shifted) * number(factor)
  positive = tf.bitcast(tf.bitwise.right_shift(bits, number(1)), tf.int32)
  is_kept = tf.cast(positive, tf.float32) >= rate * 2.0**31
  return tf.where(is_kept, x / (1 - rate), 0.0)


@_fused
def _softmax(x, mask):
  return tf.nn.softmax(tf.where(mask, x, -1e9))


def gelu(features, approximate=False, name=None):
  """tf.nn.gelu."""
  return _gelu(features, approximate)


def dropout(x, rate, seed, noise_shape=None, name=None):
  """tf.nn.experimental.stateless_dropout with a mask of the shape of x."""
  if isinstance(noise_shape, list):  # Keras gives a tensor for none.
    raise ValueError("A mask of a noise_shape is not compiled.")
  return _dropout(x, tf.constant(rate, tf.float32), seed)


def masked_softmax(self, attention_scores, attention_mask):
  """A method of keras.layers.MultiHeadAttention."""
  mask = tf.cast(attention_mask, tf.bool)
  return _softmax(attention_scores, mask if mask.ndim == 4 else mask[:, None])


def fuse():
  """Lets Keras use these operations from now on."""
  tf.nn.gelu = gelu
  tf.nn.experimental.stateless_dropout = dropout
  keras.layers.MultiHeadAttention._masked_softmax = masked_softmax


if __name__ == "__main__":
  fuse()
  runpy.run_module("bert_span.run_squad", run_name="__main__")
