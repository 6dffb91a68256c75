"""Makes answers of a batch of questions' start and end logits."""

import keras
import tensorflow as tf

from bert_span.answers.decoding import n_best
from bert_span.answers.decoding.answer_decoder import (
  NO_SPAN_NULL_ODDS,
  AnswerDecoder,
  table_texts,
)
from bert_span.answers.decoding.joint_probability import (
  log_partition,
  shift_answer,
  span_log_sums,
)
from bert_span.answers.decoding.options import DecoderOptions


@keras.saving.register_keras_serializable(package="bert_span")
class SpanDecoder(AnswerDecoder):
  """Chooses answers from start and end logits, as run_squad does.

  The candidates of all windows of a question (n_best.py) are sorted by score,
  equal texts after the first are dropped, and n_best_size are kept. With
  version_2_with_negative, "no answer" joins that list with the lowest [CLS]
  score of the question's windows, and is the answer if

      null_odds = null score - best span's score > null_score_diff_threshold.

  If no span is possible, run_squad fails or answers "empty". This layer answers
  "", whatever the threshold: the single n-best entry is "" with probability 1.0
  and null_odds 1e6 (NO_SPAN_NULL_ODDS). Its score is the null score with
  version_2_with_negative and a window, else 0.0.

  A call must have all windows of a question, in their order. Logits that are
  not finite raise an InvalidArgumentError.

  Example:
  ```python
  decoder = SpanDecoder(DecoderOptions(n_best_size=5))
  answers = decoder(contexts, windows, start_logits, end_logits)
  answers["answer"]  # string [examples]
  ```

  Source: google-research/bert, run_squad.py, write_predictions.
  """

  options_type = DecoderOptions

  def call(self, contexts, windows, start_logits, end_logits):
    """Returns answers and n-best lists of a batch of examples.

    Args:
      contexts: string [examples], valid UTF-8.
      windows: dict of `SlidingWindows`, with example_index int32 [windows],
        padding_mask, token_char_starts, token_char_ends int32 and
        is_max_context bool [windows, seq_length].
      start_logits, end_logits: float32 [windows, seq_length].

    Returns:
      dict of dense tensors. Per example, [examples]:
        answer: string, context[char_start:char_end]; "" for no answer.
        char_start, char_end: int32, characters, half-open; 0, 0 for no answer.
        score: float64, logit sum or mean probability of the answer.
        probability: float64. With a temperature, see joint_probability.py.
          Without one, the softmax over the scores of the n-best list, or the
          score if it is a mean probability.
        null_odds: float64, null score - best span's score.
        is_answerable: bool, whether the answer is a span.
        n_best_count: int32, entries of the n-best list without padding.
      Per entry, best first, [examples, n_best_size], or one more with
      version_2_with_negative: n_best_answer (string), n_best_char_start,
      n_best_char_end (int32), n_best_start_logit, n_best_end_logit (float32),
      n_best_score, n_best_probability (float64), n_best_is_answerable (bool).
      The null entry has text "" and characters 0, 0, and is not answerable;
      padding is "", zeros and False.
    """
    return self.answers(contexts, self.read(windows, start_logits, end_logits))

  def read(self, windows, start_logits, end_logits):
    """Reduces some windows of a batch to tables for `answers`.

    Returns a dict of tables. A table is a dict of columns of equal length. Its
    column "window" is the window that each row was made from.
    """
    candidates, null, log_sums = read_windows(
      windows,
      self.finite(start_logits, "start_logits"),
      self.finite(end_logits, "end_logits"),
      self.options,
    )
    window_table = {
      "window": tf.range(tf.size(windows["example_index"])),
      "example_index": windows["example_index"],
      **null._asdict(),
    }
    if log_sums is not None:
      window_table["log_sum"] = log_sums
    return {"candidates": candidates._asdict(), "windows": window_table}

  def answers(self, contexts, tables):
    """Returns the answers of a batch of examples, see `call`.

    `tables` is what `read` returned for all of their windows, in order.
    """
    characters = tf.strings.unicode_decode(contexts, "UTF-8")
    num_examples = tf.size(contexts)
    candidates = n_best.Candidates(**tables["candidates"])
    spans = n_best.distinct_entries(
      candidates, characters, num_examples, self.options.n_best_size
    )
    windows = tables["windows"]
    example_index = windows["example_index"]
    null = n_best.NullEntry(*map(windows.get, n_best.NullEntry._fields))
    null = n_best.null_entry(example_index, null, num_examples)
    log_sums = windows.get("log_sum")
    columns = answer_columns(spans, null, example_index, log_sums, self.options)
    columns["answer"] = table_texts(
      characters,
      columns["char_start"][:, tf.newaxis],
      columns["char_end"][:, tf.newaxis],
    )[:, 0]
    columns["n_best_answer"] = table_texts(
      characters, columns["n_best_char_start"], columns["n_best_char_end"]
    )
    return columns


def read_windows(windows, start_logits, end_logits, options, temperature=None):
  """Returns each window's candidates, null entry and log-sum of spans.

  The temperature is by default that of the options. Without one, there are no
  sums.
  """
  scores = (
    n_best.position_scores(logits, windows["padding_mask"], options.span_score)
    for logits in (start_logits, end_logits)
  )
  columns = (start_logits, end_logits, *scores)
  candidates = n_best.span_candidates(windows, *columns, options)
  # [:, 0] would fail for a seq_length of zero, so [:, :1] is summed.
  null = n_best.NullEntry(*(tf.reduce_sum(x[:, :1], axis=1) for x in columns))
  temperature = options.temperature if temperature is None else temperature
  if temperature is None:
    return candidates, null, None
  log_sums = span_log_sums(
    windows, start_logits, end_logits, temperature, options.max_answer_length
  )
  return candidates, null, log_sums


def answer_columns(spans, null, example_index, log_sums, options):
  """Returns all columns of `SpanDecoder` but the texts.

  `spans` are `Entries` without null entries.
  """
  if options.version_2_with_negative:
    entries = n_best.with_null_entry(spans, null)
  else:
    # An empty list's first row of padding becomes its entry "", logits 0.
    entries = spans._replace(count=tf.maximum(spans.count, 1))
  has_span = spans.count > 0
  # As run_squad: subtract one after the other, which rounds alike.
  null_odds = null.score - spans.start_score[:, 0] - spans.end_score[:, 0]
  null_odds = tf.where(has_span, null_odds, NO_SPAN_NULL_ODDS)
  is_answerable, null_score = has_span, tf.zeros_like(null.score)
  if options.version_2_with_negative:
    is_answerable &= null_odds <= options.null_score_diff_threshold
    null_score = null.score
  score = tf.where(is_answerable, spans.score[:, 0], null_score)
  char_start = tf.where(is_answerable, spans.char_start[:, 0], 0)
  char_end = tf.where(is_answerable, spans.char_end[:, 0], 0)
  # Column 0 is the answer, the others are the n-best list.
  scores = tf.concat([score[:, tf.newaxis], entries.score], axis=1)
  if options.temperature is not None:
    logit_sums = tf.concat([spans.logit_sum[:, :1], entries.logit_sum], axis=1)
    is_span = entries.char_end > entries.char_start
    is_span = tf.concat([is_answerable[:, tf.newaxis], is_span], axis=1)
    is_answer = (entries.char_start == char_start[:, tf.newaxis]) & (
      entries.char_end == char_end[:, tf.newaxis]
    )
    is_answer = tf.pad(is_answer, [[0, 0], [1, 0]], constant_values=True)
    probability = shift_answer(
      _joint_probability(
        logit_sums, is_span, null, example_index, log_sums, options
      ),
      is_answer,
      options.log_odds_shift,
    )
  elif options.span_score == "mean_probability":
    # The scores are probabilities.
    probability = tf.where(has_span[:, tf.newaxis], scores, 1.0)
  else:
    probability = _list_probability(scores, entries)
  n_best_probability = tf.where(entries.is_entry, probability[:, 1:], 0.0)
  return {
    "char_start": char_start,
    "char_end": char_end,
    "score": score,
    "probability": probability[:, 0],
    "null_odds": null_odds,
    "is_answerable": is_answerable,
    "n_best_char_start": entries.char_start,
    "n_best_char_end": entries.char_end,
    "n_best_start_logit": entries.start_logit,
    "n_best_end_logit": entries.end_logit,
    "n_best_score": entries.score,
    "n_best_probability": n_best_probability,
    "n_best_is_answerable": entries.char_end > entries.char_start,
    "n_best_count": entries.count,
  }


def _list_probability(scores, entries):
  """Returns the softmax over the scores of the n-best list, as in run_squad."""
  listed = tf.where(entries.is_entry, entries.score, tf.float64.min)
  highest = tf.reduce_max(listed, axis=1, keepdims=True)
  total = tf.reduce_sum(tf.exp(listed - highest), axis=1, keepdims=True)
  return tf.exp(scores - highest) / total


def _joint_probability(
  logit_sums, is_span, null, example_index, log_sums, options
):
  """Returns exp(logit / T) / Z of each entry, see joint_probability.py."""
  null_logits = null.logit_sum - options.null_shift
  log_z = log_partition(
    log_sums, example_index, null_logits / options.temperature
  )
  logits = tf.where(is_span, logit_sums, null_logits[:, tf.newaxis])
  log_p = logits / options.temperature - log_z[:, tf.newaxis]
  return tf.exp(log_p)
