"""Character offsets of answers to positions in windows."""

import keras
import tensorflow as tf

# As run_squad: only these separate the words of a passage. Other white space,
# such as a no-break space, is part of a word.
_WORD_SEPARATORS = (" ", "\t", "\r", "\n", "\u202f")

# The position of an answer that has no token in its passage.
NO_TOKEN = -1


@keras.saving.register_keras_serializable(package="bert_span")
class AnswerPositions(keras.layers.Layer):
  """Finds the start and end positions of answers in their windows.

  Annotators mark characters. As in run_squad, the answer is first widened to
  whole words, then narrowed to the first run of tokens in them that equals the
  tokens of the answer. In "The leader was John Smith (1895-1943)." the answer
  "1895" is widened to "(1895-1943).", the tokens ( 1895 - 1943 ) . and narrowed
  to 1895. If no run is equal ("Japan" in "Japanese", one token), the whole
  words remain.

  A window that does not contain the whole answer gets (0, 0), its [CLS]. An
  answer whose words have no token (a lone zero-width space) gets (-1, -1) in
  all windows; run_squad labels it from the token after it to the one before.

  Args:
    whole_words: as run_squad. False labels the tokens that share a character
      with the answer, for vocabularies whose tokens depend on the neighbours.

  Source: google-research/bert, run_squad.py, read_squad_examples,
  convert_examples_to_features and _improve_answer_span.
  """

  def __init__(self, whole_words=True, **kwargs):
    super().__init__(**kwargs)
    self.built = True  # nothing to build
    self.whole_words = whole_words

  def get_config(self):
    return {**super().get_config(), "whole_words": self.whole_words}

  def call(self, windows, context_texts, context, answer_ids, answers):
    """Labels windows.

    Args:
      windows: output of `SlidingWindows`.
      context_texts: string [batch].
      context: `Tokens` of the passages.
      answer_ids: int32 ragged [batch, tokens] of the answer texts.
      answers: dict of int32 [batch]: answer_char_start and answer_char_end,
        half-open offsets into the passage in characters, both -1 for no answer.

    Returns:
      start_positions, end_positions: int32 [windows], inclusive.
    """
    if self.whole_words:
      first, last = _whole_words(context_texts, context, answers)
      first, last = _improve_span(first, last, context.ids, answer_ids)
    else:
      first, last = _overlapping(context, answers)
    example = windows["example_index"]
    has_answer = tf.gather(answers["answer_char_start"] >= 0, example)
    starts, ends = tf.gather(first, example), tf.gather(last, example)
    begin = windows["context_start"]
    is_inside = (
      has_answer
      & (starts <= ends)
      & (starts >= begin)
      & (ends < begin + windows["context_length"])
    )
    offset = windows["first_context_position"] - begin
    other = tf.where(has_answer & (ends < starts), NO_TOKEN, 0)
    return (
      tf.where(is_inside, starts + offset, other),
      tf.where(is_inside, ends + offset, other),
    )


def _whole_words(context_texts, context, answers):
  """Returns the first and last token of the words that an answer overlaps.

  Both are int32 [batch], inclusive; last is first - 1 if there is no token.
  """
  # Words are numbered through all texts, each after a separator. A separator
  # belongs to the word before it.
  code_points = tf.strings.unicode_decode(
    tf.strings.join(["\n", context_texts]), "UTF-8"
  )
  is_separator = tf.reduce_any(
    [code_points.values == ord(separator) for separator in _WORD_SEPARATORS],
    axis=0,
  )
  begins = ~is_separator & tf.roll(is_separator, 1, 0)
  words = tf.cumsum(tf.cast(begins, tf.int32))  # [characters of all texts]
  text_starts = tf.cast(code_points.row_starts(), tf.int32) + 1

  row = tf.cast(context.ids.value_rowids(), tf.int32)
  token_word = tf.gather(
    words, tf.gather(text_starts, row) + context.char_starts.values
  )

  def word_at(char_index):
    # -1, the separator before the text, where there is no answer.
    index = text_starts + tf.maximum(char_index, -1)
    word = tf.gather(words, tf.minimum(index, tf.size(words) - 1))
    return tf.gather(word, row)  # [tokens]

  def count(tokens):
    return tf.math.unsorted_segment_sum(
      tf.cast(tokens, tf.int32), row, tf.size(context_texts)
    )

  first = count(token_word < word_at(answers["answer_char_start"]))
  last = count(token_word <= word_at(answers["answer_char_end"] - 1)) - 1
  return first, last


def _overlapping(context, answers):
  """Returns the first and last token that share a character with an answer."""

  def count(tokens):
    return tf.reduce_sum(tf.cast(tokens, tf.int32), axis=1)

  starts = answers["answer_char_start"][:, tf.newaxis]
  ends = answers["answer_char_end"][:, tf.newaxis]
  return count(context.char_ends <= starts), count(
    context.char_starts < ends
  ) - 1


def _improve_span(first, last, context_ids, answer_ids):
  """Narrows spans to the first run of tokens that equals the answer.

  first, last, int32 [batch], remain as they are if no run is equal.
  """
  length = tf.cast(answer_ids.row_lengths(), tf.int32)
  num_starts = tf.maximum(0, last - first + 2 - length)
  num_starts = tf.where(length > 0, num_starts, 0)
  # Every pair (example, start): num_starts [2, 0, 3] gives the examples
  # [0, 0, 2, 2, 2] and the starts first + [0, 1, 0, 1, 2].
  example = tf.repeat(tf.range(tf.size(num_starts)), num_starts)
  begin = tf.gather(tf.cumsum(num_starts, exclusive=True), example)
  shift = tf.range(tf.size(example)) - begin
  context_starts = tf.cast(context_ids.row_starts(), tf.int32) + first
  answer_starts = tf.cast(answer_ids.row_starts(), tf.int32)
  pair = _equal_runs(
    tf.gather(context_starts, example) + shift,
    tf.gather(answer_starts, example),
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
  """Returns the pairs of runs whose tokens are equal.

  Compares the k-th tokens of all pairs that are equal so far, k = 0, 1, ... A
  passage without spaces is one word with as many starts as tokens: a table of
  starts times tokens could take gigabytes. lengths, [pairs], are at least 1.
  """

  def is_open(k, pair):
    return (k < tf.reduce_max(lengths)) & (tf.size(pair) > 0)

  def compare(k, pair):
    # Shorter runs compare their last token again.
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
