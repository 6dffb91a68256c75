"""The part of DeBERTa's attention scores that depends on distances.

With P the embedding of the distance from j to i, and Wq and Wk the layer's
matrices of queries and keys, the score of token j for token i is

    (q_i . k_j + q_i . Wk P + k_j . Wq P) / sqrt(3 * head_size)

Source: He et al. 2021, arXiv 2006.03654, section 3; microsoft/DeBERTa,
disentangled_attention.py.
"""

import numpy as np
import tensorflow as tf

DISTANCE_TABLE = "rel_embedding/rel_embedding"


def relative_buckets(distances, num_buckets, max_distance):
  """The bucket of each distance: itself up to half the buckets, then its log.

  With 256 buckets and a max_distance of 512, distances of up to 128 have their
  own bucket, 129 and 130 share one, and so do 506 to 511.
  """
  middle = num_buckets // 2
  sizes = np.maximum(np.abs(distances), middle)
  share = np.log(sizes / middle) / np.log((max_distance - 1) / middle)
  far = np.sign(distances) * (middle + np.ceil(share * (middle - 1)))
  is_near = np.abs(distances) <= middle
  return np.where(is_near, distances, far).astype(np.int32)


class RelativeScores:
  """Makes the scores of distances for an `InferenceEncoder` of a backbone."""

  def __init__(self, backbone):
    self._num_buckets = backbone.bucket_size
    self._longest = longest = backbone.max_sequence_length
    distances = np.arange(longest, -longest, -1)
    self._buckets = relative_buckets(distances, self._num_buckets, longest)

  def __call__(self, encoder, seq_length):
    """Returns a function of a layer's attention, by name, queries and keys.

    Both are [batch, heads, seq_length, head_size] and one of them is scaled, as
    are the scores, [batch, heads, seq_length, seq_length].
    """
    # Of the distances seq_length to 1 - seq_length; the first is unused.
    buckets = tf.constant(self._buckets)[
      self._longest - seq_length : self._longest + seq_length
    ]
    farthest = buckets[1]
    buckets = tf.minimum(buckets, farthest)
    table = encoder.weight(DISTANCE_TABLE)[
      self._num_buckets - farthest : self._num_buckets + farthest + 1
    ]
    table = encoder.layer_norm("rel_embedding/rel_embeddings_layer_norm", table)

    def scores(name, vectors, matrix, rows):
      """Products of vectors i with the embeddings of distances to all j."""
      batch, num_heads, _, head_size = tf.unstack(tf.shape(vectors))
      embedded = tf.gather(encoder.dense(f"{name}/{matrix}", table), rows)
      shape = [2 * seq_length, num_heads, head_size]
      # [heads, 2 * seq_length, head_size]
      embedded = tf.transpose(tf.reshape(embedded, shape), [1, 0, 2])
      products = tf.matmul(vectors, embedded, transpose_b=True)
      # Row i has its j in columns seq_length - i + j. Without the first
      # seq_length numbers, rows of 2 * seq_length - 1 have them in column j.
      products = tf.reshape(products, [batch, num_heads, -1])[..., seq_length:]
      shape = [batch, num_heads, seq_length, 2 * seq_length - 1]
      return tf.reshape(products, shape)[..., :seq_length]

    def of_layer(name, query, key):
      to_position = scores(name, query, "key", farthest + buckets)
      from_position = scores(name, key, "query", farthest - buckets)
      return to_position + tf.transpose(from_position, [0, 1, 3, 2])

    return of_layer
