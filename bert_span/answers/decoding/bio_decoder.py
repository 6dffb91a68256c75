"""B/I/O logits of all windows of a batch of questions to their answers."""

import dataclasses

import keras
import tensorflow as tf

from bert_span.answers.decoding import bio_paths, span_text
from bert_span.answers.decoding.options import BioDecoderOptions
from bert_span.answers.decoding.span_decoder import NO_SPAN_NULL_ODDS


@keras.saving.register_keras_serializable(package="bert_span")
class BioDecoder(keras.layers.Layer):
  """Chooses answers of any number of spans from B/I/O logits.

  Every token of a passage is read in its max-context window, the passage is
  labelled as one sequence (bio_paths.py), and every run "B I I .." is
  a span. It has

      score        the geometric mean of its tags' probabilities, which does
                   not sink with its length: the threshold's unit
      probability  the product of its tags' probabilities and of the next
                   token's being no I: that of this very span

  Spans below the threshold are left out, and of spans of equal text all but
  the best-scored. The others stand in order of position.

  With version_2_with_negative a question has no answer iff

      null_odds = log P(all O) - log P(best labelling with a span)
                > null_score_diff_threshold,

  or if no span reaches the threshold. Without it every question with a token
  in its passage is answered: by the best labelling with a span where the
  labelling has none, and by the best-scored span at least.

  All windows of a question must come in the same call, in their order. The
  layer has no weights; everything in it is a TensorFlow op, so it runs
  eagerly, in tf.data and in a SavedModel. Logits must be finite: anything else
  is an InvalidArgumentError.

  Args:
    options: BioDecoderOptions.
  """

  def __init__(self, options=None, **kwargs):
    # Scores are float64 whatever Keras' dtype policy says.
    super().__init__(autocast=False, **kwargs)
    self.options = options or BioDecoderOptions()

  def call(self, contexts, windows, tag_logits):
    """Answers of a batch of examples.

    Args:
      contexts: string [examples], valid UTF-8.
      windows: dict of text/windows.py; used are example_index, context_start,
        context_length, first_context_position int32 [windows],
        token_char_starts, token_char_ends int32 and is_max_context bool
        [windows, seq_length].
      tag_logits: float32 [windows, seq_length, 3], of B, I and O.

    Returns:
      dict of dense tensors. Per example, [examples]:
        span_count: int32, spans of the answer; 0 for no answer.
        null_odds: float64, in nats, see the class; 1e6 where the passage has
          no token. Without version_2_with_negative it decides nothing.
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
    """What the answers need to know of windows, see `SpanDecoder.read`.

    Args:
      windows, tag_logits: see `call`.
    """
    return {"tokens": bio_paths.read_tokens(windows, _finite(tag_logits))}

  def answers(self, contexts, parts):
    """The answers of a batch of examples, see `SpanDecoder.answers`."""
    characters = span_text.context_characters(contexts)
    num_examples = tf.cast(characters.nrows(), tf.int32)
    tokens = bio_paths.passage_tokens(parts["tokens"], num_examples)
    path = bio_paths.best_span_path(tokens)
    null_odds = tf.where(
      tokens.num_tokens > 0,
      -path.odds,
      tf.constant(NO_SPAN_NULL_ODDS, tf.float64),
    )
    spans = _spans(tokens, self._tags(tokens, path))
    spans = _take(spans, self._is_kept(spans, null_odds, num_examples))
    spans = _best_of_each_text(spans, characters)
    table = _table(spans, characters, num_examples)
    return {
      **table,
      "null_odds": null_odds,
      "is_answerable": table["span_count"] > 0,
      **_best(table, _no_span_probability(tokens)),
    }

  def get_config(self):
    """The options as a plain dict, for Keras' serialization."""
    return {
      **super().get_config(),
      "options": dataclasses.asdict(self.options),
    }

  @classmethod
  def from_config(cls, config):
    """The layer of a get_config()."""
    options = BioDecoderOptions(**config["options"])
    return cls(**{**config, "options": options})

  def _tags(self, tokens, path):
    """The labelling that spans are read off, int32 [examples, tokens]."""
    if self.options.decoding == "viterbi":
      return path.tags
    greedy = bio_paths.greedy_tags(tokens)
    has_span = tf.reduce_any(greedy != bio_paths.O, axis=1, keepdims=True)
    return tf.where(has_span, greedy, path.tags)

  def _is_kept(self, spans, null_odds, num_examples):
    """Which spans belong to an answer, bool [spans]."""
    is_sure = spans["score"] >= self.options.threshold
    example = spans["example_index"]
    if self.options.version_2_with_negative:
      is_answered = null_odds <= self.options.null_score_diff_threshold
      return is_sure & tf.gather(is_answered, example)
    best = tf.math.unsorted_segment_max(spans["score"], example, num_examples)
    return is_sure | (spans["score"] == tf.gather(best, example))


def _spans(tokens, tags):
  """Every span of the labellings, by example and position.

  Returns:
    Dict of [spans]: example_index, char_start, char_end int32; score,
    probability float64.
  """
  is_inside = tags != bio_paths.O
  is_i = tags == bio_paths.I
  before = tf.pad(is_inside, [[0, 0], [1, 0]])[:, :-1]
  next_is_i = tf.pad(is_i, [[0, 0], [0, 1]])[:, 1:]
  # As the evaluator of MultiSpanQA: an I behind an O begins a span too.
  start = tf.where(is_inside & ~(is_i & before))  # [spans, 2]
  last = tf.where(is_inside & ~next_is_i)  # row by row, so the same spans
  log_p, is_next_no_i = _log_probabilities(tokens, tags)
  num_tokens = tf.cast(last[:, 1] - start[:, 1] + 1, tf.float64)
  total = tf.cumsum(log_p, axis=1)
  total = (
    tf.gather_nd(total, last)
    - tf.gather_nd(total, start)
    + tf.gather_nd(log_p, start)
  )
  return {
    "example_index": tf.cast(start[:, 0], tf.int32),
    "char_start": tf.gather_nd(tokens.char_starts, start),
    "char_end": tf.gather_nd(tokens.char_ends, last),
    "score": tf.exp(total / num_tokens),
    "probability": tf.exp(total) * tf.gather_nd(is_next_no_i, last),
  }


def _log_probabilities(tokens, tags):
  """What the tags have, and how sure it is that the next one is no I.

  Returns:
    float64 [examples, tokens]: logarithm of each tag's probability; and the
    probability that the next token is no I, 1 at the last.
  """
  log_p = tf.nn.log_softmax(tokens.tag_logits)
  p_inside = tf.exp(log_p[:, :, bio_paths.I])
  p_inside = tf.where(tokens.is_token, p_inside, tf.zeros_like(p_inside))
  next_no_i = 1 - tf.pad(p_inside, [[0, 0], [0, 1]])[:, 1:]
  return tf.gather(log_p, tags, batch_dims=2), next_no_i


def _no_span_probability(tokens):
  """P(all O) of each passage: float64 [examples], 1 without a token."""
  log_p = tf.nn.log_softmax(tokens.tag_logits)[:, :, bio_paths.O]
  log_p = tf.where(tokens.is_token, log_p, tf.zeros_like(log_p))
  return tf.exp(tf.reduce_sum(log_p, axis=1))


def _best_of_each_text(spans, characters):
  """Of the spans of an example with equal text the one of the best score."""
  texts = _texts(characters, spans)
  # Digits and a blank before the text keep the examples apart.
  keys = [tf.strings.as_string(spans["example_index"]), texts]
  distinct, text_id = tf.unique(tf.strings.join(keys, " "))
  num_texts, row = tf.size(distinct), tf.range(tf.size(text_id))
  best = tf.math.unsorted_segment_max(spans["score"], text_id, num_texts)
  is_best = spans["score"] == tf.gather(best, text_id)
  first = tf.math.unsorted_segment_min(
    tf.where(is_best, row, tf.size(row)), text_id, num_texts
  )
  return _take(spans, row == tf.gather(first, text_id))


def _table(spans, characters, num_examples):
  """The spans as the columns of `BioDecoder.call`."""
  example = spans["example_index"]
  count = tf.math.unsorted_segment_sum(
    tf.ones_like(example), example, num_examples
  )
  rank = tf.range(tf.size(example)) - tf.gather(
    tf.cumsum(count, exclusive=True), example
  )
  shape = tf.stack([num_examples, tf.reduce_max(tf.concat([[1], count], 0))])
  place = tf.stack([example, rank], axis=1)
  table = {
    f"span_{name}": tf.scatter_nd(place, values, shape)
    for name, values in spans.items()
    if name != "example_index"
  }
  rows = tf.repeat(tf.range(shape[0]), shape[1])
  flat = {
    "example_index": rows,
    "char_start": tf.reshape(table["span_char_start"], [-1]),
    "char_end": tf.reshape(table["span_char_end"], [-1]),
  }
  table["span_text"] = tf.reshape(_texts(characters, flat), shape)
  return {**table, "span_count": count}


def _best(table, no_span_probability):
  """The columns of `BioDecoder.call` about the best span."""
  columns = tf.shape(table["span_score"])[1]
  is_span = tf.sequence_mask(table["span_count"], columns)
  score = tf.where(is_span, table["span_score"], tf.constant(-1.0, tf.float64))
  best = tf.argmax(score, axis=1)
  found = {
    name: tf.gather(table[f"span_{name}"], best, batch_dims=1)
    for name in ("text", "char_start", "char_end", "score", "probability")
  }
  found["answer"] = found.pop("text")
  found["probability"] = tf.where(
    table["span_count"] > 0, found["probability"], no_span_probability
  )
  return found


def _texts(characters, spans):
  return span_text.span_texts(
    characters, spans["example_index"], spans["char_start"], spans["char_end"]
  )


def _take(spans, keep):
  return {name: tf.boolean_mask(x, keep) for name, x in spans.items()}


def _finite(logits):
  """The logits as float32; a clear error if one is infinite or NaN."""
  return tf.debugging.check_numerics(
    tf.cast(logits, tf.float32), "BioDecoder: tag_logits must be finite"
  )
