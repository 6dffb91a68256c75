"""Where an answer given in characters stands in tokens and windows."""

import keras
import tensorflow as tf

# As run_squad: what separates the words of a passage. Other white space, such
# as a no-break space, stays inside a word.
_WORD_SEPARATORS = (" ", "\t", "\r", "\n", "\u202f")

# The label of every window of an answer that has no token in its passage.
NO_TOKEN = -1


@keras.saving.register_keras_serializable(package="bert_span")
class AnswerPositions(keras.layers.Layer):
  """Finds the start and end position of answers in their windows.

  Annotators mark characters; the original first widens the answer to whole
  words, then narrows it to the first run of tokens within them that equals the
  answer's own tokens. With the context "The leader was John Smith (1895-1943)."
  and the answer "1895", the word is "(1895-1943)." with the tokens
  ( 1895 - 1943 ) . and the answer becomes the token 1895. Where no run equals
  ("Japan" in "Japanese", one token) the whole words stay.

  An answer that a window does not hold whole gets (0, 0), its [CLS]. An answer
  whose words have no token at all (a lone zero-width space) gets (-1, -1)
  everywhere: there is nothing to point at. The original labels it from the
  token after it to the token before it.

  Source: google-research/bert, run_squad.py, read_squad_examples,
  convert_examples_to_features and _improve_answer_span.
  """

  def __init__(self, **kwargs):
    super().__init__(**kwargs)
    self.built = True  # nothing to build

  def call(self, windows, context_texts, context, answer_ids, answers):
    """Labels windows.

    Args:
      windows: what `SlidingWindows` gives.
      context_texts: string [batch].
      context: `Tokens` of the passages.
      answer_ids: int32 ragged [batch, tokens] of the answers' own texts.
      answers: dict of int32 [batch]: answer_char_start and answer_char_end,
        half-open offsets into the passage in characters; both -1 where there
        is no answer.

    Returns:
      start_positions, end_positions: int32 [windows], inclusive; (0, 0) where
      a window does not hold the answer, (-1, -1) where the answer has no token.
    """
    has_answer = answers["answer_char_start"] >= 0
    first, last = _whole_words(context_texts, context, answers)
    first, last = _improve_span(first, last, context.ids, answer_ids)
    example = windows["example_index"]
    offset = windows["first_context_position"] - windows["context_start"]
    starts = tf.gather(first, example)
    ends = tf.gather(last, example)
    window_end = windows["context_start"] + windows["context_length"]
    holds = (
      tf.gather(has_answer, example)
      & (starts <= ends)
      & (starts >= windows["context_start"])
      & (ends < window_end)
    )
    other = tf.where(
      tf.gather(has_answer, example) & (ends < starts), NO_TOKEN, 0
    )
    return (
      tf.where(holds, starts + offset, other),
      tf.where(holds, ends + offset, other),
    )


def _whole_words(context_texts, context, answers):
  """The tokens of the words that an answer touches.

  Returns:
    first, last: int32 [batch], tokens of each passage, inclusive. Where the
    words have no tokens (a lone zero-width character) last is first - 1.
  """
  word_index = _word_index(context_texts)  # [batch, characters]
  last_character = tf.maximum(answers["answer_char_end"] - 1, 0)
  first_word = _char_gather(word_index, answers["answer_char_start"])
  last_word = _char_gather(word_index, last_character)
  row = tf.cast(context.ids.value_rowids(), tf.int32)
  text_start = tf.cast(word_index.row_starts(), tf.int32)
  token_word = tf.gather(
    word_index.values, tf.gather(text_start, row) + context.char_starts.values
  )
  num_texts = tf.size(context_texts)

  def count(tokens):
    return tf.math.unsorted_segment_sum(
      tf.cast(tokens, tf.int32), row, num_texts
    )

  first = count(token_word < tf.gather(first_word, row))
  last = count(token_word <= tf.gather(last_word, row)) - 1
  return first, last


def _word_index(texts):
  """int32 ragged [batch, characters]: the word each character belongs to.

  A separator belongs to the word before it, and to -1 at the beginning.
  """
  code_points = tf.strings.unicode_decode(texts, "UTF-8")
  is_separator = tf.reduce_any(
    [code_points.values == ord(separator) for separator in _WORD_SEPARATORS],
    axis=0,
  )
  lengths = code_points.row_lengths()
  text_starts = tf.boolean_mask(code_points.row_starts(), lengths > 0)
  num_characters = tf.size(is_separator, out_type=tf.int64)
  is_first = tf.scatter_nd(
    text_starts[:, tf.newaxis],
    tf.ones_like(text_starts, tf.bool),
    [num_characters],
  )
  after = tf.concat([[True], is_separator[:-1]], 0)[:num_characters]
  begins = tf.cast(~is_separator & (is_first | after), tf.int32)
  words = tf.cumsum(begins)
  before = tf.cumsum(begins, exclusive=True)
  before = tf.repeat(tf.gather(before, text_starts), lengths[lengths > 0])
  return code_points.with_values(words - before - 1)


def _char_gather(ragged, char_index):
  """ragged[i, char_index[i]], -1 where the text has no such character."""
  lengths = tf.cast(ragged.row_lengths(), tf.int32)
  valid = (char_index >= 0) & (char_index < lengths)
  index = tf.cast(ragged.row_starts(), tf.int32) + char_index
  values = tf.concat([ragged.values, [-1]], 0)
  return tf.where(valid, tf.gather(values, tf.where(valid, index, 0)), -1)


def _improve_span(first, last, context_ids, answer_ids):
  """Narrows spans to their first run of tokens that equals the answer's.

  Args:
    first, last: int32 [batch], tokens of each passage, inclusive.
    context_ids: int32 ragged [batch, tokens].
    answer_ids: int32 ragged [batch, answer tokens].

  Returns:
    first, last: int32 [batch]; unchanged where nothing equals.
  """
  length = tf.cast(answer_ids.row_lengths(), tf.int32)
  num_starts = tf.where(
    length > 0, tf.maximum(0, last - first + 1 - length + 1), 0
  )
  example, shift = _ranges(num_starts)  # every (example, start) pair
  pair = _equal_runs(
    tf.gather(tf.cast(context_ids.row_starts(), tf.int32) + first, example)
    + shift,
    tf.gather(tf.cast(answer_ids.row_starts(), tf.int32), example),
    tf.gather(length, example),
    context_ids.values,
    answer_ids.values,
  )
  best = tf.math.unsorted_segment_min(
    tf.gather(shift, pair), tf.gather(example, pair), tf.size(first)
  )
  found = best < tf.int32.max  # the minimum of nothing
  start = first + tf.where(found, best, 0)
  return start, tf.where(found, start + length - 1, last)


def _equal_runs(a_starts, b_starts, lengths, a_values, b_values):
  """Which runs of `a_values` equal their run of `b_values`.

  Token by token, for all pairs of runs at once, and only for those that were
  equal so far: a passage without blanks is one word of as many starts as it has
  tokens, and a table of starts times tokens could take gigabytes.

  Args:
    a_starts, b_starts, lengths: int32 [pairs], lengths at least 1.
    a_values, b_values: int32 [all tokens].

  Returns:
    int32 [equal pairs], ascending indices of pairs.
  """

  def is_open(k, pair):
    return (k < tf.reduce_max(lengths)) & (tf.size(pair) > 0)

  def compare(k, pair):
    # The last token again for those that end earlier.
    at = tf.minimum(k, tf.gather(lengths, pair) - 1)
    equal = tf.equal(
      tf.gather(a_values, tf.gather(a_starts, pair) + at),
      tf.gather(b_values, tf.gather(b_starts, pair) + at),
    )
    return k + 1, tf.boolean_mask(pair, equal)

  _, pair = tf.while_loop(
    is_open,
    compare,
    [tf.constant(0), tf.range(tf.size(lengths))],
    shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
  )
  return pair


def _ranges(lengths):
  """Concatenates range(n) for each n: which range, and the value in it.

  lengths [2, 0, 3] gives ([0, 0, 2, 2, 2], [0, 1, 0, 1, 2]).
  """
  which = tf.repeat(tf.range(tf.size(lengths)), lengths)
  begin = tf.gather(tf.cumsum(lengths, exclusive=True), which)
  return which, tf.range(tf.size(which)) - begin
