"""Makes answers of any number of spans of a batch's B/I/O logits.

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
of a span are log(0.192 / 0.12) = 0.47 nats.
"""

from typing import NamedTuple

import keras
import tensorflow as tf

from bert_span.answers.decoding.answer_decoder import (
  NO_SPAN_NULL_ODDS,
  AnswerDecoder,
  first_of_each_text,
  ranks,
  table_texts,
)
from bert_span.answers.decoding.options import BioDecoderOptions
from bert_span.modeling.tags import NUM_TAGS, B, I, O

# States of a labelling: before its first span, B, I, and O after a span.
_STATE_TAGS = (O, B, I, O)
_AFTER = 3
# Row: a state. Column: whether that state may follow.
_MAY_FOLLOW = (
  (True, True, False, False),  # before: before or B
  (False, True, True, True),  # B: B, I or after
  (False, True, True, True),  # I
  (False, True, False, True),  # after: B or after
)
# Used for log 0: far below all sums of logits, and finite.
_NEVER = -1e18


@keras.saving.register_keras_serializable(package="bert_span")
class BioDecoder(AnswerDecoder):
  """Chooses answers of any number of spans from B/I/O logits.

  Every token of a passage is read in its max-context window, the passage is
  labelled as one sequence, and every run "B I I .." is a span. A span has

      score        the geometric mean of its tags' probabilities, in the unit of
                   the threshold; it does not depend on the span's length
      probability  the probability of exactly this span: the product of its
                   tags' probabilities and that the next token is not I

  Spans below the threshold are dropped. Among spans of equal text, the one with
  the best score is kept. Spans are in the order of position.

  With version_2_with_negative a question has no answer if

      null_odds = log P(all O) - log P(best labelling with a span)
                > null_score_diff_threshold,

  or if no span reaches the threshold. Without it every question with a token
  in its passage is answered: if the labelling has no span, by the best
  labelling with one; and at least by the span with the best score. The layer
  is called as a `SpanDecoder` is.
  """

  options_type = BioDecoderOptions

  def call(self, contexts, windows, tag_logits):
    """Returns the answers of a batch of examples.

    Args:
      contexts, windows: see `SpanDecoder.call`; context_start and
        first_context_position are used, too.
      tag_logits: float32 [windows, seq_length, 3], of B, I and O.

    Returns:
      dict of dense tensors. Per example, [examples]:
        span_count: int32, spans of the answer; 0 for no answer.
        null_odds: float64, in nats; 1e6 for a passage without a token.
        is_answerable: bool, whether there is a span.
        answer, char_start, char_end, score, probability: the span with the
          best score; "", 0, 0, 0.0 and P(all O) for no answer.
      Per span in order of position, [examples, 1 or more], padded with "" and
      zeros: span_text (string), span_char_start, span_char_end (int32,
      characters, half-open), span_score, span_probability (float64).
    """
    return self.answers(contexts, self.read(windows, tag_logits))

  def read(self, windows, tag_logits):
    """Reduces some windows to tables for `answers`, see `SpanDecoder.read`."""
    tag_logits = self.finite(tag_logits, "tag_logits")
    return {"tokens": read_tokens(windows, tag_logits)}

  def answers(self, contexts, tables):
    """Returns the answers of a batch of examples, see `SpanDecoder.answers`."""
    characters = tf.strings.unicode_decode(contexts, "UTF-8")
    num_examples = tf.size(contexts)
    tokens = passage_tokens(tables["tokens"], num_examples)
    tags, odds = best_span_path(tokens)
    null_odds = tf.where(tokens.num_tokens > 0, -odds, NO_SPAN_NULL_ODDS)
    if self.options.decoding == "greedy":
      greedy = tf.argmax(tokens.tag_logits, axis=-1, output_type=tf.int32)
      greedy = tf.where(tokens.is_token, greedy, O)
      has_span = tf.reduce_any(greedy != O, axis=1, keepdims=True)
      tags = tf.where(has_span, greedy, tags)
    log_p = tf.nn.log_softmax(tokens.tag_logits)
    spans = _labelled_spans(tokens, tags, log_p)
    is_kept = spans["score"] >= self.options.threshold
    example = spans["example_index"]
    if self.options.version_2_with_negative:
      is_answered = null_odds <= self.options.null_score_diff_threshold
      is_kept &= tf.gather(is_answered, example)
    else:  # The best span is an answer whatever its score.
      best = tf.math.unsorted_segment_max(spans["score"], example, num_examples)
      is_kept |= spans["score"] == tf.gather(best, example)
    spans = {name: tf.boolean_mask(x, is_kept) for name, x in spans.items()}
    columns = _span_columns(spans, characters, num_examples)
    is_answerable = columns["span_count"] > 0
    log_p_o = tf.where(tokens.is_token, log_p[:, :, O], 0.0)
    p_all_o = tf.exp(tf.reduce_sum(log_p_o, axis=1))
    probability = tf.where(is_answerable, columns["probability"], p_all_o)
    columns |= {"probability": probability, "null_odds": null_odds}
    return {**columns, "is_answerable": is_answerable}


class PassageTokens(NamedTuple):
  """The tokens of passages, with at least one column of padding."""

  tag_logits: tf.Tensor  # float64 [examples, tokens, 3]: B, I, O; padding 0
  char_starts: tf.Tensor  # int32 [examples, tokens], characters
  char_ends: tf.Tensor  # int32 [examples, tokens], characters, exclusive
  num_tokens: tf.Tensor  # int32 [examples], without padding

  @property
  def is_token(self):
    """Bool [examples, tokens], False for padding."""
    return tf.sequence_mask(self.num_tokens, tf.shape(self.char_starts)[1])


def read_tokens(windows, tag_logits):
  """Returns columns [tokens] of the tokens with max context in these windows.

  "token" is the position in the passage; tag_logits become float64 [tokens, 3].
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
  """Makes `PassageTokens` of a batch's columns of `read_tokens`."""
  _, num_tokens = ranks(tokens["example_index"], num_examples)
  columns = tf.reduce_max(tf.concat([[0], num_tokens], 0)) + 1
  shape = tf.stack([num_examples, columns])
  place = tf.stack([tokens["example_index"], tokens["token"]], axis=1)
  logits_shape = tf.concat([shape, [NUM_TAGS]], 0)
  return PassageTokens(
    tf.scatter_nd(place, tokens["tag_logits"], logits_shape),
    tf.scatter_nd(place, tokens["char_start"], shape),
    tf.scatter_nd(place, tokens["char_end"], shape),
    num_tokens,
  )


def best_span_path(tokens):
  """Returns the most probable labelling with a span, by Viterbi's algorithm.

  The states distinguish labellings with a span from the one without:

      score_t[s] = max_{r: s may follow r} score_{t-1}[r] + e_t[s]

  where e_t is log p(tag of s) - log p(O), a difference of logits, so that the
  labelling without a span scores 0.

  Returns the tags, int32 [examples, tokens], and log P(labelling) - log P(all
  O), float64 [examples], in nats. Without a token, the tags are O and these
  odds are far below all others.
  """
  logits = tf.transpose(tokens.tag_logits, [1, 0, 2])  # [tokens, examples, 3]
  above_o = logits[:, :, :O] - logits[:, :, O:]  # of B and I
  is_token = tf.transpose(tokens.is_token)[:, :, tf.newaxis]
  never = tf.constant(_NEVER, tf.float64)
  above_o = tf.where(is_token, above_o, never)
  emissions = tf.pad(above_o, [[0, 0], [0, 0], [1, 1]])  # [.., .., 4]
  num_examples = tf.shape(emissions)[1]
  transitions = tf.where(_MAY_FOLLOW, tf.zeros_like(never), never)  # [from, to]

  def forward(previous, emission):
    scores = previous[0][:, :, tf.newaxis] + transitions  # [examples, 4, 4]
    came_from = tf.argmax(scores, axis=1, output_type=tf.int32)
    return tf.reduce_max(scores, axis=1) + emission, came_from

  def backward(state, came_from):
    return tf.gather(came_from, state, batch_dims=1)

  first = tf.constant([[0.0] + [_NEVER] * _AFTER], tf.float64)
  first = tf.tile(first, [num_examples, 1])
  start = first, tf.zeros_like(first, tf.int32)
  scores, came_from = tf.scan(forward, emissions, start)
  # The last column is padding, so a labelling with a span ends in _AFTER.
  last = tf.fill([num_examples], _AFTER)
  states = tf.scan(backward, came_from, last, reverse=True)  # before each token
  states = tf.concat([states[1:], last[tf.newaxis]], 0)  # [tokens, examples]
  tags = tf.transpose(tf.gather(tf.constant(_STATE_TAGS), states))
  return tf.where(tokens.is_token, tags, O), scores[-1, :, _AFTER]


def _labelled_spans(tokens, tags, log_p):
  """Returns columns [spans] of a labelling's spans, by example and position."""
  is_inside = tags != O
  is_i = tags == I
  before = tf.pad(is_inside, [[0, 0], [1, 0]])[:, :-1]
  next_is_i = tf.pad(is_i, [[0, 0], [0, 1]])[:, 1:]
  # As MultiSpanQA's evaluator: an I after an O begins a span, too.
  start = tf.where(is_inside & ~(is_i & before))  # [spans, 2]
  last = tf.where(is_inside & ~next_is_i)  # in the order of `start`
  log_p_tag = tf.gather(log_p, tags, batch_dims=2)  # [examples, tokens]
  sums = tf.cumsum(log_p_tag, axis=1)
  log_p_span = (
    tf.gather_nd(sums, last)
    - tf.gather_nd(sums, start)
    + tf.gather_nd(log_p_tag, start)
  )
  num_tokens = tf.cast(last[:, 1] - start[:, 1] + 1, tf.float64)
  p_i = tf.where(tokens.is_token, tf.exp(log_p[:, :, I]), 0.0)
  next_not_i = 1 - tf.pad(p_i, [[0, 0], [0, 1]])[:, 1:]  # 1 at the last token
  return {
    "example_index": tf.cast(start[:, 0], tf.int32),
    "char_start": tf.gather_nd(tokens.char_starts, start),
    "char_end": tf.gather_nd(tokens.char_ends, last),
    "score": tf.exp(log_p_span / num_tokens),
    "probability": tf.exp(log_p_span) * tf.gather_nd(next_not_i, last),
  }


def _span_columns(spans, characters, num_examples):
  """Returns columns of `BioDecoder.call`, with the best span of each text."""
  order = tf.argsort(spans["score"], direction="DESCENDING", stable=True)
  names = ("example_index", "char_start", "char_end")
  sorted_spans = (tf.gather(spans[name], order) for name in names)
  first = first_of_each_text(characters, *sorted_spans)
  rows = tf.sort(tf.gather(order, first))
  spans = {name: tf.gather(x, rows) for name, x in spans.items()}
  example = spans.pop("example_index")
  rank, count = ranks(example, num_examples)
  shape = tf.stack([num_examples, tf.reduce_max(tf.concat([[1], count], 0))])
  place = tf.stack([example, rank], axis=1)
  table = {
    f"span_{name}": tf.scatter_nd(place, values, shape)
    for name, values in spans.items()
  }
  starts, ends = table["span_char_start"], table["span_char_end"]
  table["span_text"] = table_texts(characters, starts, ends)
  best = tf.argmax(table["span_score"], axis=1)  # padding has 0
  answer = {
    name.removeprefix("span_"): tf.gather(values, best, batch_dims=1)
    for name, values in table.items()
  }
  answer["answer"] = answer.pop("text")
  return {**table, **answer, "span_count": count}
