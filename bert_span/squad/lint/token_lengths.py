"""How long questions, passages and answers of a file are in WordPieces."""

import dataclasses
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_span.data.window_batches import example_arrays
from bert_span.text.answer_positions import AnswerPositions

# Characters that are tokenized at once; a passage of more goes alone.
_CHARACTERS_PER_BATCH = 250_000
# Characters of passages, each counted once a question, in one look for answers.
_CHARACTERS_PER_LOOK = 2_000_000
_COLUMNS = (
  "question",
  "context",
  "answer_start",
  "answer_end",
  "without_token",
)


@dataclasses.dataclass(frozen=True)
class TokenLengths:
  """WordPieces of every example, before anything is cut.

  Attributes:
    question: int32 [examples].
    context: int32 [examples].
    answer_start, answer_end: int32 [examples], tokens of the passage,
      inclusive; -1 where there is no answer to learn.
    without_token: bool [examples], whether there is an answer and no token of
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
    """int32 [examples], WordPieces of the answer, 0 where there is none."""
    return np.where(self.has_answer, self.answer_end - self.answer_start + 1, 0)


class _Passages(NamedTuple):
  """Distinct passages that are tokenized at once.

  Attributes:
    first_asking: for each passage the index of the first example that has it.
    asking: for each passage the indices of all such examples.
  """

  first_asking: list
  asking: list


def measure_tokens(examples, tokenizer, on_tokens):
  """Tokenizes a file, every distinct passage once.

  Args:
    examples: sequence of `SquadExample`, the first answer of each the one to
      learn.
    tokenizer: `WordPieceTokenizer`.
    on_tokens: called with texts, their `Tokens` and, for each text, the index
      of the first example that has it; once for every passage and every
      question.

  Returns:
    `TokenLengths`.
  """
  rows = np.zeros([len(examples), len(_COLUMNS)], np.int32)
  passage_lengths = []
  for passages in _batches(examples):
    first_asking = [examples[i] for i in passages.first_asking]
    tokens = tokenizer(example_arrays(first_asking)["context"])
    passage_lengths += tokens.ids.row_lengths().numpy().tolist()
    contexts = [example.context for example in first_asking]
    on_tokens(contexts, tokens, passages.first_asking)
    for indices, passage_rows in _looks(examples, passages):
      asked = [examples[i] for i in indices]
      texts = example_arrays(asked, with_answers=True)
      questions = tokenizer(texts["question"])
      on_tokens([e.question for e in asked], questions, indices)
      context = tokens.gather(passage_rows)
      rows[indices] = _rows(texts, questions, context, tokenizer)
  columns = dict(zip(_COLUMNS, rows.T, strict=True))
  columns["without_token"] = columns["without_token"].astype(bool)
  return TokenLengths(**columns, passage=np.array(passage_lengths, np.int32))


def _rows(texts, questions, context, tokenizer):
  """The values of _COLUMNS, int [examples, columns]."""
  starts, ends = _answer_tokens(tokenizer, context, texts)
  has_token = (starts > 0) & (starts <= ends)
  return np.stack(
    [
      questions.ids.row_lengths().numpy(),
      context.ids.row_lengths().numpy(),
      np.where(has_token, starts, 0) - 1,
      np.where(has_token, ends, 0) - 1,
      (texts["answer_char_start"] >= 0) & ~has_token,
    ],
    axis=1,
  )


def _answer_tokens(tokenizer, context, texts):
  """Where answers stand in their passages, counted from 1; int32 [examples].

  Each passage is given as one window with one token before it, so that a
  position of 0 says that there is no answer.
  """
  num_examples = len(texts["context"])
  zeros = tf.zeros(num_examples, tf.int32)
  windows = {
    "example_index": tf.range(num_examples),
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
  return starts.numpy(), ends.numpy()


def _batches(examples):
  """Yields `_Passages`; questions about the same passage stay together."""
  asking = {}
  for index, example in enumerate(examples):
    asking.setdefault(example.context, []).append(index)
  groups = list(asking.values())
  sizes = [len(examples[group[0]].context) for group in groups]
  for first, end in _chunks(sizes, _CHARACTERS_PER_BATCH):
    chosen = groups[first:end]
    yield _Passages([group[0] for group in chosen], chosen)


def _looks(examples, passages):
  """Yields (example indices, row of each one's passage in the batch)."""
  pairs = [
    (index, row) for row, group in enumerate(passages.asking) for index in group
  ]
  sizes = [len(examples[index].context) for index, _ in pairs]
  for first, end in _chunks(sizes, _CHARACTERS_PER_LOOK):
    indices, rows = zip(*pairs[first:end], strict=True)
    yield list(indices), np.array(rows, np.int32)


def _chunks(sizes, limit):
  """Yields (first, end) of runs whose sizes sum to the limit at most.

  What is larger than the limit makes a run of its own.
  """
  first, total = 0, 0
  for index, size in enumerate(sizes):
    if index > first and total + size > limit:
      yield first, index
      first, total = index, 0
    total += size
  if first < len(sizes):
    yield first, len(sizes)
