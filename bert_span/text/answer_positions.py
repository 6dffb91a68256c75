"""Character offsets of answers to positions in windows."""

import keras
import tensorflow as tf

# As run_squad: only these separate the words of a passage. Other white space,
# such as a no-break space, is part of a word.
_WORD_SEPARATORS = " \t\r\n\u202f"

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
    """Returns start_positions and end_positions, int32 [windows], inclusive.

    Args:
      windows: output of `SlidingWindows`.
      context_texts: string [batch].
      context: `Tokens` of the passages.
      answer_ids: int32 ragged [batch, tokens] of the answer texts.
      answers: dict of int32 [batch]: answer_char_start and answer_char_end,
        half-open offsets into the passage in characters, both -1 for no answer.
    """
    # Compared are the first and last characters of tokens and answers, or the
    # words that these are in. Without a token, last is first - 1.
    starts, ends = context.char_starts, context.char_ends - 1
    begin, end = answers["answer_char_start"], answers["answer_char_end"] - 1
    if self.whole_words:
      word_of = _word_numbers(context_texts)
      rows = tf.cast(starts.value_rowids(), tf.int32)
      starts = ends = starts.with_values(word_of(starts.values, rows))
      examples = tf.range(tf.size(begin))
      begin, end = word_of(begin, examples), word_of(end, examples)
    first = _count(ends < begin[:, tf.newaxis])
    last = _count(starts <= end[:, tf.newaxis]) - 1
    if self.whole_words:
      first, last = _improve_span(first, last, context.ids, answer_ids)
    example = windows["example_index"]
    has_answer = tf.gather(answers["answer_char_start"] >= 0, example)
    starts, ends = tf.gather(first, example), tf.gather(last, example)
    begin = windows["context_start"]
    is_inside = has_answer & (starts <= ends) & (starts >= begin)
    is_inside &= ends < begin + windows["context_length"]
    offset = windows["first_context_position"] - begin
    other = tf.where(has_answer & (ends < starts), NO_TOKEN, 0)
    return tuple(tf.where(is_inside, x + offset, other) for x in (starts, ends))


def _word_numbers(texts):
  """A function of characters and their texts, int32 [n], to their words.

  Words are numbered through all texts; separators belong to the word before.
  """
  texts = tf.strings.join(["\n", texts])
  code_points = tf.strings.unicode_decode(texts, "UTF-8")
  is_separator = tf.reduce_any(
    [code_points.values == ord(c) for c in _WORD_SEPARATORS], axis=0
  )
  begins = ~is_separator & tf.roll(is_separator, 1, 0)
  words = tf.cumsum(tf.cast(begins, tf.int32))  # [characters of all texts]
  text_starts = tf.cast(code_points.row_starts(), tf.int32) + 1

  def word_of(characters, rows):
    # -1, the separator before the text, where there is no answer.
    index = tf.gather(text_starts, rows) + tf.maximum(characters, -1)
    return tf.gather(words, tf.minimum(index, tf.size(words) - 1))

  return word_of


def _count(tokens):
  """How many values of a bool ragged tensor are True, int32 [batch]."""
  return tf.reduce_sum(tf.cast(tokens, tf.int32), axis=1)


def _improve_span(first, last, context_ids, answer_ids):
  """Narrows spans to the first run of tokens that equals the answer, if any."""
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

  # Compares the k-th tokens of all pairs that are equal so far, k = 0, 1, .. A
  # passage without spaces is one word with as many starts as tokens: a table of
  # starts times tokens could take gigabytes.
  def compare(k, pair):
    row = tf.gather(example, pair)
    # Shorter runs compare their last token again.
    k_of_run = tf.minimum(k, tf.gather(length, row) - 1)
    at = tf.gather(context_starts, row) + tf.gather(shift, pair) + k_of_run
    found = tf.gather(context_ids.values, at)
    at = tf.gather(answer_starts, row) + k_of_run
    is_equal = tf.equal(found, tf.gather(answer_ids.values, at))
    return k + 1, tf.boolean_mask(pair, is_equal)

  longest = tf.reduce_max(tf.gather(length, example))
  _, pair = tf.while_loop(
    lambda k, pair: (k < longest) & (tf.size(pair) > 0),
    compare,
    [tf.constant(0), tf.range(tf.size(example))],
    shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
  )
  best = tf.math.unsorted_segment_min(
    tf.gather(shift, pair), tf.gather(example, pair), tf.size(first)
  )
  found = best < tf.int32.max  # the minimum of nothing
  start = first + tf.where(found, best, 0)
  return start, tf.where(found, start + length - 1, last)
