"""Measures questions, passages and answers of a file in WordPieces."""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_span.data.window_batches import example_arrays
from bert_span.text.answer_positions import AnswerPositions

# Characters of passages that are tokenized together, each passage counted once
# per question.
_CHARACTERS_PER_BATCH = 1_000_000


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


def measure_tokens(examples, tokenizer, on_tokens=None):
  """Tokenizes a file.

  Args:
    examples: sequence of `SquadExample`, the first answer of each the one to
      learn.
    tokenizer: `WordPieceTokenizer`.
    on_tokens: called with texts, their `Tokens` and, for each text, the index
      of the first example that has it; once per question and distinct passage.

  Returns:
    `TokenLengths`.
  """
  columns, passages, num_examples = [], {}, 0
  for batch in _batches(examples):
    texts = example_arrays(batch, with_answers=True)
    # Each distinct passage is tokenized once: [passages], [examples].
    _, first, passage_of = np.unique(
      texts["context"], return_index=True, return_inverse=True
    )
    distinct = tokenizer(texts["context"][first])
    lengths = distinct.ids.row_lengths().numpy()
    new = [
      row
      for row, index in enumerate(first)
      if batch[index].context not in passages
    ]
    passages |= {batch[first[row]].context: lengths[row] for row in new}
    questions = tokenizer(texts["question"])
    if on_tokens:
      on_tokens(
        [batch[first[row]].context for row in new],
        distinct.gather(np.array(new, np.int32)),
        [num_examples + first[row] for row in new],
      )
      asked = range(num_examples, num_examples + len(batch))
      on_tokens([example.question for example in batch], questions, asked)
    context = distinct.gather(passage_of.astype(np.int32))
    start, end = _answer_tokens(tokenizer, context, texts)
    has_token = (start >= 0) & (start <= end)
    columns.append(
      {
        "question": questions.ids.row_lengths().numpy().astype(np.int32),
        "context": lengths[passage_of].astype(np.int32),
        "answer_start": np.where(has_token, start, -1),
        "answer_end": np.where(has_token, end, -1),
        "without_token": (texts["answer_char_start"] >= 0) & ~has_token,
      }
    )
    num_examples += len(batch)
  return TokenLengths(
    **{n: np.concatenate([c[n] for c in columns]) for n in columns[0]},
    passage=np.array(list(passages.values()), np.int32),
  )


def _batches(examples):
  """Yields lists of examples with at most _CHARACTERS_PER_BATCH, or one."""
  batch, size = [], 0
  for example in examples:
    if batch and size + len(example.context) > _CHARACTERS_PER_BATCH:
      yield batch
      batch, size = [], 0
    batch.append(example)
    size += len(example.context)
  yield batch


def _answer_tokens(tokenizer, context, texts):
  """The first and last token of each answer; int32 [examples], -1 for none.

  `AnswerPositions` gets each passage as one window with one token before it,
  so that its position 0 means that there is no answer.
  """
  zeros = tf.zeros(len(texts["context"]), tf.int32)
  windows = {
    "example_index": tf.range(len(texts["context"])),
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
  return starts.numpy() - 1, ends.numpy() - 1
