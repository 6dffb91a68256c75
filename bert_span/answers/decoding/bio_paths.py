"""The tags of whole passages from the logits of their windows.

Every token of a passage has one max-context window; its logits are taken from
there, and the passage becomes one sequence of B, I and O to label.

Under the model each token has its tag on its own, so a labelling has the
probability prod_i p_i(tag_i). "greedy" takes the most probable tag of every
token, "viterbi" the most probable labelling in which I follows B or I only:

    token        old   mill  burned
    p(B)         0.4   0.1    0.1
    p(I)         0.1   0.6    0.1
    p(O)         0.5   0.3    0.8
    greedy        O     I      O     the I stands behind an O
    viterbi       B     I      O     0.4 * 0.6 * 0.8 = 0.192

The labelling without a span, O O O, has 0.5 * 0.3 * 0.8 = 0.12, so the odds
of a span are log(0.192 / 0.12) = 0.47 nats: "no answer" is a decision of its
own, and a question that must be answered gets the best labelling with a span
even where O O O is more probable.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_span.data.bio_labels import NUM_TAGS, B, I, O

# States of a labelling: before its first span, B, I, and O behind a span.
_STATE_TAGS = (O, B, I, O)
_BEFORE, _BEHIND = 0, 3
# What may follow: row by column.
_MAY_FOLLOW = (
  (True, True, False, False),  # before: before or B
  (False, True, True, True),  # B: B, I or behind
  (False, True, True, True),  # I
  (False, True, False, True),  # behind: B or behind
)
# Stands for the logarithm of 0: far below all sums of logits, and finite.
_NEVER = -1e18


class PassageTokens(NamedTuple):
  """The tokens of passages with their logits.

  Rows are padded, by one column at least.

  Attributes:
    tag_logits: float64 [examples, tokens, 3], of B, I and O; 0 at padding.
    char_starts, char_ends: int32 [examples, tokens], half-open, in characters.
    num_tokens: int32 [examples], without padding.
  """

  tag_logits: tf.Tensor
  char_starts: tf.Tensor
  char_ends: tf.Tensor
  num_tokens: tf.Tensor

  @property
  def is_token(self):
    """Bool [examples, tokens], False at padding."""
    return tf.sequence_mask(self.num_tokens, tf.shape(self.char_starts)[1])


class SpanPath(NamedTuple):
  """The best labelling of each passage that has a span.

  Attributes:
    tags: int32 [examples, tokens], O at padding.
    odds: float64 [examples], in nats: the logarithm of its probability less
      that of the labelling that is all O.
  """

  tags: tf.Tensor
  odds: tf.Tensor


def read_tokens(windows, tag_logits):
  """The tokens whose max-context window is one of these.

  Args:
    windows: dict of tensors, see `SlidingWindows`.
    tag_logits: float [windows, seq_length, 3].

  Returns:
    Dict of columns [tokens]: window, example_index, token (its place in the
    passage), char_start, char_end int32, and tag_logits float64 [tokens, 3].
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
  """Puts the tokens of all windows in their place.

  Args:
    tokens: `read_tokens` of all windows of the examples.
    num_examples: int32 scalar, rows of the batch; one may have no window.

  Returns:
    `PassageTokens`.
  """
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
  """The most probable tag of every token; of equal ones B before I before O.

  Args:
    tokens: `PassageTokens`.

  Returns:
    int32 [examples, tokens], O at padding.
  """
  tags = tf.argmax(tokens.tag_logits, axis=-1, output_type=tf.int32)
  return tf.where(tokens.is_token, tags, O)


def best_span_path(tokens):
  """The most probable labelling with a span, by Viterbi's algorithm.

  A state tells whether there was a span yet, so that the best labelling with
  one and the only one without are found together:

      score_t[s] = max_{r: s may follow r} score_{t-1}[r] + e_t[s]

  where e_t is log p(tag of s) - log p(O), a difference of logits, so that the
  labelling without a span scores 0. Where there is no token, the tags are O
  and the odds far below all others.

  Args:
    tokens: `PassageTokens`.

  Returns:
    `SpanPath`.
  """
  emissions = _emissions(tokens)  # [tokens, examples, 4]
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

  first = tf.constant([0.0] + [_NEVER] * _BEHIND, tf.float64)
  start = (
    tf.tile(first[tf.newaxis], [num_examples, 1]),
    tf.zeros([num_examples, len(_STATE_TAGS)], tf.int32),
  )
  scores, came_from = tf.scan(forward, emissions, start)
  # The last column is padding: a labelling with a span ends behind it.
  last = tf.fill([num_examples], _BEHIND)
  states = tf.scan(backward, came_from, last, reverse=True)  # those before
  states = tf.concat([states[1:], last[tf.newaxis]], 0)  # [tokens, examples]
  tags = tf.transpose(tf.gather(tf.constant(_STATE_TAGS), states))
  return SpanPath(tf.where(tokens.is_token, tags, O), scores[-1, :, _BEHIND])


def _emissions(tokens):
  """What each state adds to the score: float64 [tokens, examples, 4]."""
  logits = tf.transpose(tokens.tag_logits, [1, 0, 2])  # [tokens, examples, 3]
  above_o = logits[:, :, :O] - logits[:, :, O:]  # of B and I
  is_token = tf.transpose(tokens.is_token)[:, :, tf.newaxis]
  above_o = tf.where(is_token, above_o, tf.constant(_NEVER, tf.float64))
  return tf.pad(above_o, [[0, 0], [0, 0], [1, 1]])
