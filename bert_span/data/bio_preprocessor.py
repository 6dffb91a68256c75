"""Converts strings to windows, with B/I/O labels for answers of several spans.

A token belongs to a span if it shares a character with it. The first such
token of the passage is B, the others are I, tokens outside are O:

    passage       the   old   mill   burned
    annotator 1    B     I     I      O       "the old mill"
    annotator 2    O     B     I      O       "old mill"
    annotator 3    O     B     I      O       "old mill"

The soft labels are the shares of B, I and O: "the" has (1/3, 0, 2/3), "old" has
(2/3, 1/3, 0), "mill" has (0, 1, 0) and "burned" has (0, 0, 1).

The whole passage is labelled, and each window gets the labels of its tokens. So
a window that begins within a span begins with I. Decoding takes each token from
its max-context window, the one with the most context around the token.
"""

from typing import ClassVar

import keras
import numpy as np
import tensorflow as tf

from bert_span.data.answer_positions import passages_of
from bert_span.data.call_arguments import (
  check_list,
  check_tensor,
  decode_text,
  integer_list,
  is_spec,
  is_tensor,
  text_array,
)
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.modeling.tags import NUM_TAGS, B, I, O
from bert_span.options.messages import shortened
from bert_span.squad.example import NOT_LOCATED, AnswerSpan, check_located


@keras.saving.register_keras_serializable(package="bert_span")
class BioPreprocessor(SpanPreprocessor):
  """Converts questions and passages to the inputs and labels of B/I/O tags.

  It differs from `SpanPreprocessor` in y, the answers of any number of
  annotators, and in the labels:

  ```python
  inputs, labels = preprocessor(
    {"question": ["What burned?"], "context": ["The old mill burned."]},
    {
      # [questions, annotators, spans]; [] for an annotator without an answer.
      "answer_text": [[["The old mill"], ["old mill"]]],
      "answer_start": [[[0], [4]]],
    },
  )
  labels["tag_logits"]  # float32 [1, seq_length, 3], shares of B, I and O
  ```

  The labels are zero outside the passage, and for questions without an
  annotator. `tag_labels` says how the labels of annotators are joined.
  """

  window_labels = ()
  token_labels: ClassVar = {"tag_labels": NUM_TAGS}
  outputs = ("tag_logits",)
  label_format = "shares of tags, float [windows, seq_length, n], 0 at padding"
  keras_loss = "CategoricalCrossentropy"
  keras_metrics = ()  # They would count padding.
  every_annotator = True

  def label_arrays(self, examples):
    """Returns y for `SquadExample`s; answers that are not located have -1."""

    def nested(attribute):
      return [
        [[getattr(span, attribute) for span in spans] for spans in annotators]
        for annotators in (example.annotators for example in examples)
      ]

    return {"answer_text": nested("text"), "answer_start": nested("char_start")}

  def label_tensors(self, y):
    texts, starts = y["answer_text"], y["answer_start"]
    return {
      "answer_text": _ragged_tensor(
        texts, "answer_text", text_array, tf.string
      ),
      "answer_start": _ragged_tensor(
        starts, "answer_start", integer_list, tf.int64
      ),
    }

  def label(self, contexts, y, windows, annotator_labels="soft"):
    shape = windows["token_ids"].shape
    labels = np.zeros([*shape, NUM_TAGS], np.float32)
    is_labelled = np.zeros(shape[0], bool)
    answers = y["answer_text"], y["answer_start"]
    passages = passages_of(windows, len(contexts))
    for i, (texts, starts, passage) in enumerate(
      zip(*answers, passages, strict=True)
    ):
      location = f"question {i} of the batch"
      annotators = self.located_answer(contexts[i], texts, starts, location)
      offsets = passage.char_starts, passage.char_ends
      tags = tag_labels(annotators, *offsets, annotator_labels)
      if tags is not None:
        labels[passage.window, passage.position] = tags[passage.token]
        is_labelled |= windows["example_index"] == i
    return {"tag_labels": labels}, is_labelled

  @staticmethod
  def located_answer(context, texts, starts, location):
    """Returns the `AnswerSpan`s of each annotator; ValueError if wrong."""
    if [len(spans) for spans in texts] != [len(spans) for spans in starts]:
      raise ValueError(
        f"{location}: answer_text and answer_start must have the same numbers "
        "of annotators and spans. Received: "
        f"{shortened(texts)} and {shortened(starts)}."
      )
    context = decode_text(context, location)
    annotators = []
    for annotator in zip(texts, starts, strict=True):
      spans = []
      for text, start in zip(*annotator, strict=True):
        if not isinstance(text, str):
          text = decode_text(text, location)
        if start != NOT_LOCATED:
          check_located(context, text, start, location)
        spans.append(AnswerSpan(text, start))
      annotators.append(spans)
    return annotators

  @staticmethod
  def windows_with_answer(labels, row_splits):
    (tags,) = labels.values()  # [all tokens, tags]; the last tag is O
    marked = np.any(tags[:, :-1] > 0, axis=1).astype(np.int64)
    return np.add.reduceat(marked, row_splits[:-1]) > 0

  @staticmethod
  def has_answer_to_learn(example):
    return any(example.annotators)


def tag_labels(
  annotators, token_char_starts, token_char_ends, annotator_labels="soft"
):
  """Returns the labels of the tokens of a passage, float32 [tokens, 3].

  An annotator whose answers are not located in the passage, or have no token in
  it, is ignored; the result is None if all are. An annotator without an answer
  labels all tokens O.

  Args:
    annotators: a sequence of `AnswerSpan` for each annotator, () for no answer.
    token_char_starts, token_char_ends: int [tokens], half-open offsets into
      the passage in characters, ascending.
    annotator_labels: "soft", the shares of all annotators; "majority", 1 for
      the most frequent tag (in a tie, the tag of the earliest annotator; an I
      after an O becomes B); "first", the tags of the first annotator.
  """
  offsets = token_char_starts, token_char_ends
  tags = [_annotator_tags(spans, *offsets) for spans in annotators]
  tags = [annotator for annotator in tags if annotator is not None]
  if not tags:
    return None
  one_hot = np.eye(NUM_TAGS)
  if annotator_labels == "soft":
    return np.mean(one_hot[np.stack(tags)], axis=0).astype(np.float32)
  chosen = tags[0] if annotator_labels == "first" else _majority(tags)
  return one_hot[chosen].astype(np.float32)


def _ragged_tensor(values, name, list_of_spans, dtype):
  """Returns a RaggedTensor [questions, annotators, spans], or a spec as it is.

  `list_of_spans` converts the values of one annotator.
  """
  if not is_tensor(values):
    check_list(values, name, "lists of annotators")
    questions = []
    for i, row in enumerate(values):
      check_list(row, f"{name}[{i}]", "annotators, each a list of spans")
      questions.append(
        [
          list(list_of_spans(spans, f"{name}[{i}][{j}]"))
          for j, spans in enumerate(row)
        ]
      )
    return tf.ragged.constant(questions, dtype, ragged_rank=2)
  is_text = dtype == tf.string
  has_type = values.dtype == dtype if is_text else values.dtype.is_integer
  check_tensor(values, name, has_type, "strings" if is_text else "integers", 3)
  if is_spec(values) or isinstance(values, tf.RaggedTensor):
    return values
  return tf.RaggedTensor.from_tensor(values, ragged_rank=2)


def _annotator_tags(spans, token_char_starts, token_char_ends):
  """Returns the tags of one annotator, int [tokens].

  They are None if the annotator has spans and none has a token. Spans that
  share a token are merged.
  """
  tags = np.full(len(token_char_starts), O)
  located = [span for span in spans if span.char_start != NOT_LOCATED]
  char_starts = np.array([span.char_start for span in located], int)
  char_ends = char_starts + [len(span.text) for span in located]
  firsts = np.searchsorted(token_char_ends, char_starts, side="right")
  lasts = np.searchsorted(token_char_starts, char_ends, side="left") - 1
  reached = -1  # the last token of the spans so far
  for first, last in sorted(zip(firsts, lasts, strict=True)):
    if first <= last:  # Otherwise the span has no token.
      tags[max(first, reached + 1) : last + 1] = I
      if first > reached:
        tags[first] = B
      reached = max(reached, last)
  return None if spans and reached < 0 else tags


def _majority(tags):
  """Returns the most frequent tag of each token, int [tokens]."""
  counts = np.sum(np.eye(NUM_TAGS, dtype=int)[np.stack(tags)], axis=0)
  tokens, chosen = np.arange(len(counts)), np.full(len(counts), O)
  for annotator in reversed(tags):  # The earliest annotator wins a tie.
    is_most = counts[tokens, annotator] == counts.max(axis=1)
    chosen[is_most] = annotator[is_most]
  before = np.concatenate([[O], chosen[:-1]])
  chosen[(chosen == I) & (before == O)] = B
  return chosen
