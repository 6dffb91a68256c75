"""Counts the WordPieces of a file, and what the vocabulary maps to [UNK]."""

import collections
import dataclasses
import re

import numpy as np
import tensorflow as tf

from bert_span.data.window_batches import example_arrays
from bert_span.squad.example import Answer
from bert_span.storage.utf8 import encodable
from bert_span.text.answer_positions import AnswerPositions
from bert_span.text.tokenizer import Tokens

# Characters that are tokenized at once; they take about 200 MB.
_CHARACTERS_PER_BATCH = 1_000_000
_NUM_EXAMPLES = 10


@dataclasses.dataclass(frozen=True)
class TokenLengths:
  """WordPieces of every example, before anything is cut.

  Attributes:
    question: int32 [examples].
    context: int32 [examples].
    answer_start, answer_end: int32 [examples], tokens of the passage,
      inclusive; -1 without an answer to learn.
    without_token: bool [examples], whether there is an answer, but no token of
      it.
    passage: int32 [passages], WordPieces of each distinct passage.
  """

  question: np.ndarray
  context: np.ndarray
  answer_start: np.ndarray
  answer_end: np.ndarray
  without_token: np.ndarray
  passage: np.ndarray

  @property
  def has_answer(self):
    """Bool [examples], whether there is an answer with a token."""
    return self.answer_start >= 0

  @property
  def answer(self):
    """int32 [examples], WordPieces of the answer, 0 without one."""
    return np.where(self.has_answer, self.answer_end - self.answer_start + 1, 0)


def measure_tokens(examples, tokenizer):
  """Tokenizes a file, each distinct passage once.

  Args:
    examples: sequence of `SquadExample`, the first answer of each the one to
      learn.
    tokenizer: `WordPieceTokenizer`.

  Returns:
    `TokenLengths` and `UnknownWords`.
  """
  asked = collections.defaultdict(list)  # the examples of each passage
  for index, example in enumerate(examples):
    asked[example.context].append(index)
  unknown, passage_lengths = UnknownWords(tokenizer), []
  question, context, first, last = np.zeros([4, len(examples)], np.int32)
  for passages in _batches(asked):
    tokens = _tokenize(passages, tokenizer)
    unknown.add(passages, tokens, [asked[text][0] for text in passages])
    passage_lengths.append(tokens.ids.row_lengths().numpy())

    indices = [index for text in passages for index in asked[text]]
    batch = [examples[index] for index in indices]
    rows = np.repeat(range(len(passages)), [len(asked[p]) for p in passages])
    context[indices] = passage_lengths[-1][rows]
    questions = tokenizer([encodable(example.question) for example in batch])
    unknown.add([example.question for example in batch], questions, indices)
    question[indices] = questions.ids.row_lengths().numpy()
    splits = tokens.char_starts.row_splits[1:-1].numpy()
    starts = np.split(tokens.char_starts.flat_values.numpy(), splits)
    first[indices], last[indices] = _answer_tokens(
      batch, [starts[row] for row in rows], tokenizer
    )
  has_token = (first >= 0) & (first <= last)
  lengths = TokenLengths(
    question,
    context,
    answer_start=np.where(has_token, first, -1),
    answer_end=np.where(has_token, last, -1),
    without_token=np.array([bool(e.answers) for e in examples]) & ~has_token,
    passage=np.concatenate(passage_lengths),
  )
  return lengths, unknown


class UnknownWords:
  """Counts the words of texts that become [UNK].

  WordPiece gives up on a word as a whole, mostly for one character that the
  vocabulary lacks: "5½" becomes [UNK] where "½" is no token.
  """

  def __init__(self, tokenizer):
    self._num_tokens = self._num_unknown_tokens = 0
    # Characters of tokens, without white space and what is dropped.
    self._num_characters = self._num_unknown_characters = 0
    self._tokenizer = tokenizer
    self._counts = collections.Counter()
    self._first = {}

  @property
  def token_share(self):
    """The share of tokens that are [UNK]."""
    return _share(self._num_unknown_tokens, self._num_tokens)

  def add(self, texts, tokens, indices):
    """Counts a batch of texts, their `Tokens` and the examples' indices."""
    starts = tokens.char_starts.flat_values.numpy()
    ends = tokens.char_ends.flat_values.numpy()
    rows = tokens.ids.value_rowids().numpy()
    unknown = tokens.ids.flat_values.numpy() == self._tokenizer.unknown_id
    self._num_tokens += len(unknown)
    self._num_unknown_tokens += int(unknown.sum())
    self._num_characters += int((ends - starts).sum(dtype=np.int64))
    self._num_unknown_characters += int((ends - starts)[unknown].sum())
    for row, start, end in zip(
      rows[unknown], starts[unknown], ends[unknown], strict=True
    ):
      word, index = texts[row][start:end], int(indices[row])
      self._counts[word] += 1
      self._first[word] = min(self._first.get(word, index), index)

  def figures(self, examples):
    """Dict of counts, shares and the most frequent words and characters."""
    # A word of one character is listed as a character.
    words = {w: count for w, count in self._counts.items() if len(w) > 1}
    characters, first = self._unknown_characters()

    def rows(counts, first):
      order = sorted(counts, key=lambda t: (-counts[t], first[t], t))
      return [
        {
          "text": text,
          "count": counts[text],
          "question_id": examples[first[text]].qas_id,
        }
        for text in order[:_NUM_EXAMPLES]
      ]

    return {
      "tokens": self._num_tokens,
      "unknown_tokens": self._num_unknown_tokens,
      "token_share": self.token_share,
      "characters": self._num_characters,
      "unknown_characters": self._num_unknown_characters,
      "character_share": _share(
        self._num_unknown_characters, self._num_characters
      ),
      "distinct_words": len(words),
      "distinct_characters": len(characters),
      "most_frequent_words": rows(words, self._first),
      "most_frequent_characters": rows(characters, first),
    }

  def _unknown_characters(self):
    """Counts, and first examples, of characters that are [UNK] by themselves.

    A word can be [UNK] without such a character: when it has over 200
    characters, or when a character is no token within words.
    """
    distinct = sorted({c for word in self._counts for c in word})
    tokens = self._tokenizer([encodable(c) for c in distinct])
    is_unknown = tf.reduce_any(tokens.ids == self._tokenizer.unknown_id, axis=1)
    unknown = set(np.array(distinct, object)[is_unknown.numpy()])
    counts, first = collections.Counter(), {}
    for word, count in self._counts.items():
      for character in unknown.intersection(word):
        counts[character] += count * word.count(character)
        index = self._first[word]
        first[character] = min(first.get(character, index), index)
    return counts, first


def _share(part, whole):
  return round(part / whole, 6) if whole else 0.0


def _batches(passages):
  """Yields lists of passages with at most _CHARACTERS_PER_BATCH, or one."""
  batch, size = [], 0
  for text in passages:
    if batch and size + len(text) > _CHARACTERS_PER_BATCH:
      yield batch
      batch, size = [], 0
    batch.append(text)
    size += len(text)
  yield batch


def _tokenize(passages, tokenizer):
  """The `Tokens` of passages; a single one is tokenized in pieces."""
  if len(passages) > 1:
    return tokenizer([encodable(text) for text in passages])
  # Pieces end before a blank or a line break, which end every word.
  pieces = re.findall(
    rf"(?s).{{1,{_CHARACTERS_PER_BATCH}}}[^ \n]*", passages[0]
  )
  begin, parts = 0, []
  for piece in pieces or [""]:
    tokens = tokenizer([encodable(piece)])
    offsets = (tokens.char_starts + begin, tokens.char_ends + begin)
    parts.append(Tokens(tokens.ids, *offsets))
    begin += len(piece)
  return Tokens(*(tf.concat(part, axis=1) for part in zip(*parts, strict=True)))


def _answer_tokens(examples, char_starts, tokenizer):
  """The first and last token of each answer, -1 for none.

  `AnswerPositions` gets the words around each answer as a passage of one window
  with one token before it, so that its position 0 means that there is no
  answer.

  `char_starts` are, for each example, those of the tokens of its passage.
  """
  excerpts, before = [], []
  for example, starts in zip(examples, char_starts, strict=True):
    excerpt, begin = _words_around_answer(example)
    excerpts.append(excerpt)
    before.append(np.searchsorted(starts, begin))
  texts = example_arrays(excerpts, with_answers=True)
  context = tokenizer([encodable(example.context) for example in excerpts])
  zeros = tf.zeros(len(excerpts), tf.int32)
  windows = {
    "example_index": tf.range(len(excerpts)),
    "context_start": zeros,
    "context_length": tf.cast(context.ids.row_lengths(), tf.int32),
    "first_context_position": zeros + 1,
  }
  starts, ends = AnswerPositions()(
    windows,
    tf.constant(texts["context"]),
    context,
    tokenizer(texts["answer_text"]).ids,
    texts,
  )
  has_answer = starts.numpy() > 0
  return (
    np.where(has_answer, starts.numpy() - 1 + before, -1),
    np.where(has_answer, ends.numpy() - 1 + before, -1),
  )


def _words_around_answer(example):
  """The example with only the words of the passage that its answer touches.

  Also returns the offset of these words in the passage.
  """
  if not example.answers:
    return dataclasses.replace(example, context=""), 0
  (answer,), context = example.answers[:1], example.context
  begin, end = answer.char_start, answer.char_start + len(answer.text)
  # A blank belongs to the word before it.
  while begin > 0 and context[begin].isspace():
    begin -= 1
  begin = 1 + max(context.rfind(blank, 0, begin) for blank in " \n")
  ends = [context.find(blank, end) for blank in " \n"]
  end = min((end for end in ends if end >= 0), default=len(context))
  excerpt = dataclasses.replace(
    example,
    context=context[begin:end],
    answers=(Answer(answer.text, answer.char_start - begin),),
  )
  return excerpt, begin
