"""B/I/O logits of a batch of questions to answers of any number of spans."""

import keras
import tensorflow as tf

from bert_span.answers.decoding import bio_paths, n_best
from bert_span.answers.decoding.answer_decoder import (
  NO_SPAN_NULL_ODDS,
  AnswerDecoder,
  context_characters,
  span_texts,
  text_ids,
)
from bert_span.answers.decoding.options import BioDecoderOptions


@keras.saving.register_keras_serializable(package="bert_span")
class BioDecoder(AnswerDecoder):
  """Chooses answers of any number of spans from B/I/O logits.

  Every token of a passage is read in its max-context window, the passage is
  labelled as one sequence (bio_paths.py), and every run "B I I .." is
  a span. It has

      score        the geometric mean of its tags' probabilities, which does
                   not fall with its length: the unit of the threshold
      probability  the product of its tags' probabilities and of the probability
                   that the next token is not I: that of this very span

  Spans below the threshold are dropped, and of spans of equal text all but
  the one with the best score. The others keep the order of position.

  With version_2_with_negative a question has no answer if

      null_odds = log P(all O) - log P(best labelling with a span)
                > null_score_diff_threshold,

  or if no span reaches the threshold. Without it every question with a token
  in its passage is answered: by the best labelling with a span where the
  labelling has none, and by the span with the best score at least.

  What holds for the calls of a `SpanDecoder` holds here, too.

  Args:
    options: BioDecoderOptions.
  """

  options_type = BioDecoderOptions

  def call(self, contexts, windows, tag_logits):
    """Answers of a batch of examples.

    Args:
      contexts, windows: see `SpanDecoder.call`; of the windows context_start
        and first_context_position are used, too.
      tag_logits: float32 [windows, seq_length, 3], of B, I and O.

    Returns:
      dict of dense tensors. Per example, [examples]:
        span_count: int32, spans of the answer; 0 for no answer.
        null_odds: float64, in nats, see the class; 1e6 for a passage without
          a token. Without version_2_with_negative it decides nothing.
        is_answerable: bool, whether there is a span.
        answer, char_start, char_end, score, probability: the span with the
          best score; "", 0, 0, 0.0 and P(all O) for no answer.
      Per span in order of position, [examples, max_spans], padded with "" and
      zeros: span_text (string, context[char_start:char_end]), span_char_start,
      span_char_end (int32, characters, half-open), span_score,
      span_probability (float64). max_spans is 1 at least.
    """
    return self.answers(contexts, self.read(windows, tag_logits))

  def read(self, windows, tag_logits):
    """Reduces some windows to what `answers` needs, see `SpanDecoder.read`."""
    tag_logits = self.finite(tag_logits, "tag_logits")
    return {"tokens": bio_paths.read_tokens(windows, tag_logits)}

  def answers(self, contexts, parts):
    """The answers of a batch of examples, see `SpanDecoder.answers`."""
    characters = context_characters(contexts)
    num_examples = tf.cast(characters.nrows(), tf.int32)
    tokens = bio_paths.passage_tokens(parts["tokens"], num_examples)
    path = bio_paths.best_span_path(tokens)
    null_odds = tf.where(tokens.num_tokens > 0, -path.odds, NO_SPAN_NULL_ODDS)
    tags = path.tags
    if self.options.decoding == "greedy":
      greedy = bio_paths.greedy_tags(tokens)
      has_span = tf.reduce_any(greedy != bio_paths.O, axis=1, keepdims=True)
      tags = tf.where(has_span, greedy, path.tags)
    log_p = tf.nn.log_softmax(tokens.tag_logits)
    spans = _spans(tokens, tags, log_p)
    spans = _take(spans, self._is_kept(spans, null_odds, num_examples))
    spans = _best_of_each_text(spans, characters)
    table = _table(spans, characters, num_examples)
    log_p_o = tf.where(tokens.is_token, log_p[:, :, bio_paths.O], 0.0)
    return {
      **table,
      "null_odds": null_odds,
      "is_answerable": table["span_count"] > 0,
      **_best(table, tf.exp(tf.reduce_sum(log_p_o, axis=1))),
    }

  def _is_kept(self, spans, null_odds, num_examples):
    """Which spans belong to an answer, bool [spans]."""
    is_sure = spans["score"] >= self.options.threshold
    example = spans["example_index"]
    if self.options.version_2_with_negative:
      is_answered = null_odds <= self.options.null_score_diff_threshold
      return is_sure & tf.gather(is_answered, example)
    best = tf.math.unsorted_segment_max(spans["score"], example, num_examples)
    return is_sure | (spans["score"] == tf.gather(best, example))


def _spans(tokens, tags, log_p):
  """Every span of a labelling as columns [spans], by example and position.

  `tags` are int32 [examples, tokens], `log_p` their log-probabilities, float64
  [examples, tokens, 3].
  """
  is_inside = tags != bio_paths.O
  is_i = tags == bio_paths.I
  before = tf.pad(is_inside, [[0, 0], [1, 0]])[:, :-1]
  next_is_i = tf.pad(is_i, [[0, 0], [0, 1]])[:, 1:]
  # As the evaluator of MultiSpanQA: an I after an O begins a span too.
  start = tf.where(is_inside & ~(is_i & before))  # [spans, 2]
  last = tf.where(is_inside & ~next_is_i)  # row by row, so the same spans
  log_p_tag = tf.gather(log_p, tags, batch_dims=2)  # [examples, tokens]
  total = tf.cumsum(log_p_tag, axis=1)
  total = (
    tf.gather_nd(total, last)
    - tf.gather_nd(total, start)
    + tf.gather_nd(log_p_tag, start)
  )
  num_tokens = tf.cast(last[:, 1] - start[:, 1] + 1, tf.float64)
  p_i = tf.where(tokens.is_token, tf.exp(log_p[:, :, bio_paths.I]), 0.0)
  next_not_i = 1 - tf.pad(p_i, [[0, 0], [0, 1]])[:, 1:]  # 1 at the last token
  return {
    "example_index": tf.cast(start[:, 0], tf.int32),
    "char_start": tf.gather_nd(tokens.char_starts, start),
    "char_end": tf.gather_nd(tokens.char_ends, last),
    "score": tf.exp(total / num_tokens),
    "probability": tf.exp(total) * tf.gather_nd(next_not_i, last),
  }


def _best_of_each_text(spans, characters):
  """Of the spans of an example with equal text the one with the best score."""
  text_id, count = text_ids(
    characters, spans["example_index"], spans["char_start"], spans["char_end"]
  )
  row = tf.range(tf.size(text_id))
  best = tf.math.unsorted_segment_max(spans["score"], text_id, count)
  is_best = spans["score"] == tf.gather(best, text_id)
  first = tf.math.unsorted_segment_min(
    tf.where(is_best, row, tf.size(row)), text_id, count
  )
  return _take(spans, row == tf.gather(first, text_id))


def _table(spans, characters, num_examples):
  """The spans as the columns of `BioDecoder.call`."""
  example = spans["example_index"]
  rank, count = n_best.ranks(example, num_examples)
  shape = tf.stack([num_examples, tf.reduce_max(tf.concat([[1], count], 0))])
  place = tf.stack([example, rank], axis=1)
  table = {
    f"span_{name}": tf.scatter_nd(place, values, shape)
    for name, values in spans.items()
    if name != "example_index"
  }
  texts = span_texts(
    characters,
    tf.repeat(tf.range(shape[0]), shape[1]),
    tf.reshape(table["span_char_start"], [-1]),
    tf.reshape(table["span_char_end"], [-1]),
  )
  table["span_text"] = tf.reshape(texts, shape)
  return {**table, "span_count": count}


def _best(table, no_span_probability):
  """The columns of `BioDecoder.call` about the best span."""
  columns = tf.shape(table["span_score"])[1]
  is_span = tf.sequence_mask(table["span_count"], columns)
  best = tf.argmax(tf.where(is_span, table["span_score"], -1.0), axis=1)
  found = {
    name: tf.gather(table[f"span_{name}"], best, batch_dims=1)
    for name in ("text", "char_start", "char_end", "score", "probability")
  }
  found["answer"] = found.pop("text")
  found["probability"] = tf.where(
    table["span_count"] > 0, found["probability"], no_span_probability
  )
  return found


def _take(spans, keep):
  return {name: tf.boolean_mask(x, keep) for name, x in spans.items()}
