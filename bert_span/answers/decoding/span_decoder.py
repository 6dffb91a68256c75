"""Logits of all windows of a batch of questions to their answers."""

import dataclasses

import keras
import tensorflow as tf

from bert_span.answers.decoding import candidates as candidates_lib
from bert_span.answers.decoding import n_best, probabilities, span_text
from bert_span.answers.decoding.joint_probability import span_log_sums
from bert_span.answers.decoding.options import DecoderOptions

# null_odds of a question for which no span is possible: no threshold may give
# it an answer. Finite, so that it sorts and fits JSON; far above any difference
# of logits. As run_squad's "large and positive" score_null.
NO_SPAN_NULL_ODDS = 1e6


@keras.saving.register_keras_serializable(package="bert_span")
class SpanDecoder(keras.layers.Layer):
  """Chooses answers from start and end logits, as run_squad does.

  Each window offers its candidates (candidates.py). Those of all windows of a
  question are put in order of score, equal texts after the first are left out,
  and n_best_size stay. With version_2_with_negative, "no answer"
  joins that list with the lowest [CLS] score of the question's windows, and is
  the answer iff

      null_odds = null score - best span's score > null_score_diff_threshold.

  Where run_squad fails or answers "empty", this gives "": a question without
  any possible span, or without a window, has the single n-best entry "" with
  probability 1.0 and null_odds 1e6 (NO_SPAN_NULL_ODDS), whatever the
  threshold. Its score is the null score if version_2_with_negative and if
  there is a window, else 0.0.

  All windows of a question must come in the same call, in their order. The
  layer has no weights; everything in it is a TensorFlow op, so it runs
  eagerly, in tf.data and in a SavedModel. Logits must be finite: anything else
  is an InvalidArgumentError.

  Example:
  ```python
  decoder = SpanDecoder(DecoderOptions(n_best_size=5))
  answers = decoder(contexts, windows, start_logits, end_logits)
  answers["answer"]  # string [examples]
  ```

  Args:
    options: DecoderOptions.

  Source: google-research/bert, run_squad.py, write_predictions.
  """

  def __init__(self, options=None, **kwargs):
    # Scores are float64 whatever Keras' dtype policy says.
    super().__init__(autocast=False, **kwargs)
    self.options = options or DecoderOptions()

  def call(self, contexts, windows, start_logits, end_logits):
    """Answers and n-best lists of a batch of examples.

    Args:
      contexts: string [examples], valid UTF-8.
      windows: dict of text/windows.py; used are example_index int32 [windows],
        input_mask, token_char_starts, token_char_ends int32 and is_max_context
        bool [windows, seq_length].
      start_logits: float32 [windows, seq_length].
      end_logits: float32 [windows, seq_length].

    Returns:
      dict of dense tensors. Per example, [examples]:
        answer: string, context[char_start:char_end]; "" for no answer.
        char_start, char_end: int32, characters, half-open; 0, 0 for no answer.
        score: float64, logit sum or mean probability of the answer.
        probability: float64. With a temperature: among all spans of the passage
          and "no answer". Without one, logit_sum: softmax over the scores of
          the n-best list; mean_probability: the score itself.
        null_odds: float64, null score - best span's score; without
          version_2_with_negative it is told but decides nothing.
        is_answerable: bool, whether the answer is a span.
        n_best_count: int32, entries of the n-best list that are no padding.
      Per entry, [examples, n_best_size], or n_best_size + 1 columns with
      version_2_with_negative, best first: n_best_text (string),
      n_best_char_start, n_best_char_end (int32), n_best_start_logit,
      n_best_end_logit (float32), n_best_score, n_best_probability (float64).
      The null entry has text "" and characters 0, 0; padding is "" and zeros.
    """
    return self.answers(contexts, self.read(windows, start_logits, end_logits))

  def read(self, windows, start_logits, end_logits):
    """Reduces some windows of a batch to what `answers` needs.

    Args:
      windows, start_logits, end_logits: see `call`.

    Returns:
      Dict of parts, each a dict of columns of equal length. One of them is
      "window", the row of the window that each row was made from.
    """
    logits = (
      _finite(start_logits, "start_logits"),
      _finite(end_logits, "end_logits"),
    )
    options = self.options
    scores = [
      candidates_lib.position_scores(
        values, windows["input_mask"], options.span_score
      )
      for values in logits
    ]
    found = candidates_lib.span_candidates(windows, *logits, *scores, options)
    of_windows = {
      "window": tf.range(tf.size(windows["example_index"])),
      "example_index": windows["example_index"],
      **n_best.null_of_windows(*logits, *scores)._asdict(),
    }
    if options.temperature is not None:
      of_windows["log_sum"] = span_log_sums(
        windows, *logits, options.temperature, options.max_answer_length
      )
    return {"candidates": found._asdict(), "windows": of_windows}

  def answers(self, contexts, parts):
    """The answers of a batch of examples.

    Args:
      contexts: string [examples], valid UTF-8.
      parts: what `read` returned for all of their windows, in order.

    Returns:
      See `call`.
    """
    characters = span_text.context_characters(contexts)
    num_examples = tf.cast(characters.nrows(), tf.int32)
    of_windows = dict(parts["windows"])
    del of_windows["window"]
    example_index = of_windows.pop("example_index")
    log_sums = of_windows.pop("log_sum", None)
    spans = n_best.distinct_entries(
      candidates_lib.best_first(
        candidates_lib.Candidates(**parts["candidates"])
      ),
      characters,
      num_examples,
      self.options.n_best_size,
    )
    null = n_best.null_entry(
      example_index, n_best.NullEntry(**of_windows), num_examples
    )
    if self.options.version_2_with_negative:
      entries = n_best.with_null_entry(spans, null)
    else:
      # An empty list's first row of padding becomes its entry "", logits 0.
      entries = spans._replace(count=tf.maximum(spans.count, 1))
    probability_of = probabilities.of_options(
      entries, spans, null, self.options, example_index, log_sums
    )
    return {
      **self._answers(spans, null, characters, probability_of),
      **_n_best_columns(entries, characters, probability_of),
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
    return cls(**{**config, "options": DecoderOptions(**config["options"])})

  def _answers(self, spans, null, characters, probability_of):
    """The columns of `call` that hold one value per example."""
    has_span = spans.count > 0
    # As run_squad: subtracted one after the other, in float64.
    null_odds = tf.where(
      has_span,
      null.score - spans.start_score[:, 0] - spans.end_score[:, 0],
      tf.constant(NO_SPAN_NULL_ODDS, tf.float64),
    )
    is_answerable = has_span
    null_score = tf.zeros_like(null.score)
    if self.options.version_2_with_negative:
      threshold = self.options.null_score_diff_threshold
      is_answerable = has_span & (null_odds <= threshold)
      null_score = null.score
    char_start = tf.where(is_answerable, spans.char_start[:, 0], 0)
    char_end = tf.where(is_answerable, spans.char_end[:, 0], 0)
    score = tf.where(is_answerable, spans.score[:, 0], null_score)
    probability = probability_of(
      score[:, tf.newaxis],
      spans.logit_sum[:, :1],
      is_answerable[:, tf.newaxis],
    )
    return {
      "answer": span_text.span_texts(
        characters, tf.range(tf.size(char_start)), char_start, char_end
      ),
      "char_start": char_start,
      "char_end": char_end,
      "score": score,
      "probability": probability[:, 0],
      "null_odds": null_odds,
      "is_answerable": is_answerable,
    }


def _n_best_columns(entries, characters, probability_of):
  """The columns of `SpanDecoder.call` that hold n-best lists."""
  is_entry = entries.is_entry
  shape = tf.shape(is_entry)  # [examples, entries]
  texts = span_text.span_texts(
    characters,
    tf.repeat(tf.range(shape[0]), shape[1]),
    tf.reshape(entries.char_start, [-1]),
    tf.reshape(entries.char_end, [-1]),
  )  # [examples * entries]
  is_span = entries.char_end > entries.char_start
  probability = probability_of(entries.score, entries.logit_sum, is_span)
  return {
    "n_best_text": tf.reshape(texts, shape),
    "n_best_char_start": entries.char_start,
    "n_best_char_end": entries.char_end,
    "n_best_start_logit": entries.start_logit,
    "n_best_end_logit": entries.end_logit,
    "n_best_score": entries.score,
    "n_best_probability": tf.where(
      is_entry, probability, tf.zeros_like(probability)
    ),
    "n_best_count": entries.count,
  }


def _finite(logits, name):
  """The logits as float32; a clear error if one is infinite or NaN."""
  return tf.debugging.check_numerics(
    tf.cast(logits, tf.float32), f"SpanDecoder: {name} must be finite"
  )
