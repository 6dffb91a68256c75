"""The attention scores of DeBERTa that depend on distances.

Let P be the embedding of the distance from token j to token i, and Wq and Wk
the layer's matrices of queries and keys. The score of token j for token i is

    (q_i . k_j + q_i . Wk P + k_j . Wq P) / sqrt(3 * head_size)

This module computes the second and the third term.

Source: He et al. 2021, arXiv 2006.03654, section 3; microsoft/DeBERTa,
disentangled_attention.py.
"""

import numpy as np
import tensorflow as tf

DISTANCE_TABLE = "rel_embedding/rel_embedding"


def relative_buckets(distances, num_buckets, max_distance):
  """Returns the bucket of each distance, int32.

  A distance up to half of the buckets is its own bucket; longer distances share
  buckets by their logarithm. With 256 buckets and a max_distance of 512,
  distances up to 128 have their own bucket, 129 and 130 share one, and 506 to
  511 share one.
  """
  middle = num_buckets // 2
  sizes = np.maximum(np.abs(distances), middle)
  fraction = np.log(sizes / middle) / np.log((max_distance - 1) / middle)
  far = np.sign(distances) * (middle + np.ceil(fraction * (middle - 1)))
  is_near = np.abs(distances) <= middle
  return np.where(is_near, distances, far).astype(np.int32)


class RelativeScores:
  """Computes the scores of distances for an `InferenceEncoder`."""

  def __init__(self, backbone):
    self._num_buckets = backbone.bucket_size
    self._longest = longest = backbone.max_sequence_length
    distances = np.arange(longest, -longest, -1)
    self._buckets = relative_buckets(distances, self._num_buckets, longest)

  def __call__(self, encoder, seq_length):
    """Returns a function (name, query, key) of the scores of one layer.

    `name` is that of its attention layer. Queries and keys are scaled, float
    [batch, heads, seq_length, head_size]. The scores are float [batch, heads,
    seq_length, seq_length].
    """
    # For the distances seq_length to 1 - seq_length; the first is not used.
    buckets = tf.constant(self._buckets)[
      self._longest - seq_length : self._longest + seq_length
    ]
    farthest = buckets[1]
    buckets = tf.minimum(buckets, farthest)
    table = encoder.weight(DISTANCE_TABLE)[
      self._num_buckets - farthest : self._num_buckets + farthest + 1
    ]
    table = encoder.layer_norm("rel_embedding/rel_embeddings_layer_norm", table)

    def products_with_distances(name, vectors, matrix, rows):
      """Returns the products of vectors i with the distances to all j."""
      batch, num_heads, _, head_size = tf.unstack(tf.shape(vectors))
      embedded = tf.gather(encoder.dense(f"{name}/{matrix}", table), rows)
      shape = [2 * seq_length, num_heads, head_size]
      # [heads, 2 * seq_length, head_size]
      embedded = tf.transpose(tf.reshape(embedded, shape), [1, 0, 2])
      products = tf.matmul(vectors, embedded, transpose_b=True)
      # Row i has token j in column seq_length - i + j. If the first seq_length
      # numbers are removed and rows have 2 * seq_length - 1 columns, token j is
      # in column j of every row.
      products = tf.reshape(products, [batch, num_heads, -1])[..., seq_length:]
      shape = [batch, num_heads, seq_length, 2 * seq_length - 1]
      return tf.reshape(products, shape)[..., :seq_length]

    def scores_of(name, query, key):
      to_position = products_with_distances(
        name, query, "key", farthest + buckets
      )
      from_position = products_with_distances(
        name, key, "query", farthest - buckets
      )
      return to_position + tf.transpose(from_position, [0, 1, 3, 2])

    return scores_of
