"""The tags of whole passages from the logits of their windows.

Every token of a passage has one max-context window. Its logits are taken from
there, and the passage becomes one sequence of B, I and O to label.

Under the model each token has its tag independently, so a labelling has the
probability prod_i p_i(tag_i). "greedy" takes the most probable tag of every
token, "viterbi" the most probable labelling in which I follows only B or I:

    token        old   mill  burned
    p(B)         0.4   0.1    0.1
    p(I)         0.1   0.6    0.1
    p(O)         0.5   0.3    0.8
    greedy        O     I      O     the I follows an O
    viterbi       B     I      O     0.4 * 0.6 * 0.8 = 0.192

The labelling without a span, O O O, has 0.5 * 0.3 * 0.8 = 0.12, so the odds
of a span are log(0.192 / 0.12) = 0.47 nats. "No answer" is a separate decision:
a question that must be answered gets the best labelling with a span even where
O O O is more probable.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_span.data.window_labels import NUM_TAGS, B, I, O

# States of a labelling: before its first span, B, I, and O after a span.
_STATE_TAGS = (O, B, I, O)
_AFTER = 3
# What may follow: row by column.
_MAY_FOLLOW = (
  (True, True, False, False),  # before: before or B
  (False, True, True, True),  # B: B, I or after
  (False, True, True, True),  # I
  (False, True, False, True),  # after: B or after
)
# In the place of log 0: far below all sums of logits, and finite.
_NEVER = -1e18


class PassageTokens(NamedTuple):
  """The tokens of passages, with one column of padding or more."""

  tag_logits: tf.Tensor  # float64 [examples, tokens, 3]: B, I, O; padding 0
  char_starts: tf.Tensor  # int32 [examples, tokens], characters
  char_ends: tf.Tensor  # int32 [examples, tokens], characters, exclusive
  num_tokens: tf.Tensor  # int32 [examples], without padding

  @property
  def is_token(self):
    """False for padding: bool [examples, tokens]."""
    return tf.sequence_mask(self.num_tokens, tf.shape(self.char_starts)[1])


class SpanPath(NamedTuple):
  """The most probable labelling with a span of each passage."""

  tags: tf.Tensor  # int32 [examples, tokens], O for padding
  # float64 [examples], in nats: log of its probability less that of all O.
  odds: tf.Tensor


def read_tokens(windows, tag_logits):
  """The tokens whose max-context window is one of these, as columns [tokens].

  "token" is the position in the passage. tag_logits are [windows, seq_length,
  3], in the result float64 [tokens, 3].
  """
  at = tf.where(windows["is_max_context"])  # [tokens, 2]
  window = tf.cast(at[:, 0], tf.int32)
  shift = windows["context_start"] - windows["first_context_position"]
  return {
    "window": window,
    "example_index": tf.gather(windows["example_index"], window),
    "token": tf.cast(at[:, 1], tf.int32) + tf.gather(shift, window),
    "char_start": tf.gather_nd(windows["token_char_starts"], at),
    "char_end": tf.gather_nd(windows["token_char_ends"], at),
    "tag_logits": tf.cast(tf.gather_nd(tag_logits, at), tf.float64),
  }


def passage_tokens(tokens, num_examples):
  """The `PassageTokens` of all `read_tokens` of a batch of examples."""
  num_tokens = tf.math.unsorted_segment_sum(
    tf.ones_like(tokens["token"]), tokens["example_index"], num_examples
  )
  columns = tf.reduce_max(tf.concat([[0], num_tokens], 0)) + 1
  shape = tf.stack([num_examples, columns])
  place = tf.stack([tokens["example_index"], tokens["token"]], axis=1)
  return PassageTokens(
    tf.scatter_nd(
      place, tokens["tag_logits"], tf.concat([shape, [NUM_TAGS]], 0)
    ),
    tf.scatter_nd(place, tokens["char_start"], shape),
    tf.scatter_nd(place, tokens["char_end"], shape),
    num_tokens,
  )


def greedy_tags(tokens):
  """The most probable tags: int32 [examples, tokens], O for padding."""
  tags = tf.argmax(tokens.tag_logits, axis=-1, output_type=tf.int32)
  return tf.where(tokens.is_token, tags, O)


def best_span_path(tokens):
  """The `SpanPath` of `PassageTokens`, by Viterbi's algorithm.

  The states distinguish labellings with a span from the one without, so that
  one pass finds the best labelling with a span:

      score_t[s] = max_{r: s may follow r} score_{t-1}[r] + e_t[s]

  where e_t is log p(tag of s) - log p(O), a difference of logits, so that the
  labelling without a span scores 0. Where there is no token, the tags are O
  and the odds far below all others.
  """
  logits = tf.transpose(tokens.tag_logits, [1, 0, 2])  # [tokens, examples, 3]
  above_o = logits[:, :, :O] - logits[:, :, O:]  # of B and I
  is_token = tf.transpose(tokens.is_token)[:, :, tf.newaxis]
  above_o = tf.where(is_token, above_o, tf.constant(_NEVER, tf.float64))
  emissions = tf.pad(above_o, [[0, 0], [0, 0], [1, 1]])  # [.., .., 4]
  num_examples = tf.shape(emissions)[1]
  transitions = tf.where(
    _MAY_FOLLOW, tf.constant(0.0, tf.float64), tf.constant(_NEVER, tf.float64)
  )  # [from, to]

  def forward(previous, emission):
    scores = previous[0][:, :, tf.newaxis] + transitions  # [examples, 4, 4]
    came_from = tf.argmax(scores, axis=1, output_type=tf.int32)
    return tf.reduce_max(scores, axis=1) + emission, came_from

  def backward(state, came_from):
    return tf.gather(came_from, state, batch_dims=1)

  first = tf.constant([0.0] + [_NEVER] * _AFTER, tf.float64)
  start = (
    tf.tile(first[tf.newaxis], [num_examples, 1]),
    tf.zeros([num_examples, len(_STATE_TAGS)], tf.int32),
  )
  scores, came_from = tf.scan(forward, emissions, start)
  # The last column is padding: a labelling with a span ends after its span.
  last = tf.fill([num_examples], _AFTER)
  states = tf.scan(backward, came_from, last, reverse=True)  # the previous ones
  states = tf.concat([states[1:], last[tf.newaxis]], 0)  # [tokens, examples]
  tags = tf.transpose(tf.gather(tf.constant(_STATE_TAGS), states))
  return SpanPath(tf.where(tokens.is_token, tags, O), scores[-1, :, _AFTER])
