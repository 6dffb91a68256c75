"""What annotators marked as B/I/O labels of tokens, soft where they differ.

A token belongs to a span if it shares a character with it; the first such
token of the passage is B, the others are I, all tokens outside are O. Of three
annotators

    passage       the   old   mill   burned
    annotator 1    B     I     I      O       "the old mill"
    annotator 2    O     B     I      O       "old mill"
    annotator 3    O     B     I      O       "old mill"

the labels are the shares of B, I, O: the (1/3, 0, 2/3), old (2/3, 1/3, 0),
mill (0, 1, 0), burned (0, 0, 1).

Labels are made of the whole passage, and a window gets those of its tokens. So
a window that cuts a span is labelled with the part inside: its first token is
I where the span's B stands in the window before, and tells the model what it
is, the middle of an answer. Decoding takes every token from its max-context
window, where as much as possible of what is around it can be seen.
"""

import numpy as np

from bert_span.data.window_labels import WindowLabels
from bert_span.squad.answer_location import NOT_LOCATED

ANNOTATOR_LABELS = ("soft", "majority", "first")
# The order of the tags wherever there are three numbers a token.
TAGS = ("B", "I", "O")
NUM_TAGS = len(TAGS)
B, I, O = range(NUM_TAGS)  # noqa: E741 -- the tags' names


def tag_labels(
  annotators, token_char_starts, token_char_ends, annotator_labels="soft"
):
  """The labels of a passage's tokens.

  Annotators whose answer was not located in the passage, or has no token in it
  (a lone zero-width space), have nothing to say. One without any answer says O
  everywhere.

  Args:
    annotators: for each annotator a tuple of `Answer`, () for no answer.
    token_char_starts, token_char_ends: int [tokens], half-open offsets into
      the passage in characters, ascending.
    annotator_labels: "soft", the shares of all annotators; "majority", 1 for
      the tag most of them give (of equally many the one of the earliest
      annotator; an I that comes to stand behind an O becomes B); "first", the
      tags of the first annotator.

  Returns:
    float32 [tokens, 3], the shares of B, I and O; None where no annotator has
    anything to say.

  Raises:
    ValueError: annotator_labels is none of these.
  """
  if annotator_labels not in ANNOTATOR_LABELS:
    raise ValueError(
      f"annotator_labels must be one of {', '.join(ANNOTATOR_LABELS)}. "
      f"Received: {annotator_labels!r}"
    )
  tags = [
    tags
    for spans in annotators
    if (tags := _annotator_tags(spans, token_char_starts, token_char_ends))
    is not None
  ]
  if not tags:
    return None
  one_hot = np.eye(NUM_TAGS)
  if annotator_labels == "soft":
    return np.mean(one_hot[np.stack(tags)], axis=0).astype(np.float32)
  chosen = tags[0] if annotator_labels == "first" else _majority(tags)
  return one_hot[chosen].astype(np.float32)


def window_bio_labels(examples, windows, annotator_labels="soft"):
  """The labels of all windows of some examples.

  Args:
    examples: sequence of `SquadExample`.
    windows: dict of arrays, all windows of these examples, see
      `SlidingWindows`.
    annotator_labels: see `tag_labels`.

  Returns:
    labels: float32 [windows, seq_length, 3]; all zero at positions that hold
      no token of the passage.
    is_labelled: bool [windows], False for the windows of examples whose
      annotators have nothing to say; their labels are zero.
  """
  shape = windows["input_ids"].shape
  labels = np.zeros([*shape, NUM_TAGS], np.float32)
  is_labelled = np.zeros(shape[0], bool)
  for example_index in np.unique(windows["example_index"]):
    rows = np.flatnonzero(windows["example_index"] == example_index)
    of_passage = tag_labels(
      examples[example_index].annotators,
      *passage_token_offsets(windows, rows),
      annotator_labels,
    )
    if of_passage is None:
      continue
    is_labelled[rows] = True
    for row in rows:
      in_window, in_passage = window_slices(windows, row)
      labels[row, in_window] = of_passage[in_passage]
  return labels, is_labelled


def passage_token_offsets(windows, rows):
  """Where the tokens of a passage stand in it.

  Args:
    windows: dict of arrays, see `SlidingWindows`.
    rows: int [windows of the passage], all of them.

  Returns:
    char_starts, char_ends: int32 [tokens], half-open, in characters.
  """
  num_tokens = int(
    (windows["context_start"][rows] + windows["context_length"][rows]).max()
  )
  offsets = np.empty([2, num_tokens], np.int32)
  for row in rows:
    in_window, in_passage = window_slices(windows, row)
    offsets[0, in_passage] = windows["token_char_starts"][row, in_window]
    offsets[1, in_passage] = windows["token_char_ends"][row, in_window]
  return offsets[0], offsets[1]


def window_slices(windows, row):
  """Where the passage's tokens stand in a window, and which ones they are.

  Args:
    windows: dict of arrays, see `SlidingWindows`.
    row: index of a window.

  Returns:
    Two slices of equal length: of the window's positions, and of the
    passage's tokens.
  """
  position = int(windows["first_context_position"][row])
  token = int(windows["context_start"][row])
  length = int(windows["context_length"][row])
  return slice(position, position + length), slice(token, token + length)


def _annotator_tags(spans, token_char_starts, token_char_ends):
  """One annotator's tags, int [tokens]; None if there is nothing to say.

  Spans that share a token are one span.
  """
  tags = np.full(len(token_char_starts), O)
  reached = -1  # the last token of the spans so far
  for first, last in sorted(
    _token_span(span, token_char_starts, token_char_ends)
    for span in spans
    if span.char_start != NOT_LOCATED
  ):
    if first > last:  # no token
      continue
    tags[max(first, reached + 1) : last + 1] = I
    if first > reached:
      tags[first] = B
    reached = max(reached, last)
  return None if spans and reached < 0 else tags


def _token_span(span, token_char_starts, token_char_ends):
  """First and last token that share a character with an `Answer`."""
  char_end = span.char_start + len(span.text)
  first = np.searchsorted(token_char_ends, span.char_start, side="right")
  last = np.searchsorted(token_char_starts, char_end, side="left") - 1
  return int(first), int(last)


def _majority(tags):
  """What most annotators say, int [tokens]."""
  counts = np.sum(np.eye(NUM_TAGS, dtype=int)[np.stack(tags)], axis=0)
  most = counts.max(axis=1)
  tokens = np.arange(len(counts))
  chosen = np.full(len(counts), O)
  for one in reversed(tags):  # the earliest annotator has the last word
    is_most = counts[tokens, one] == most
    chosen[is_most] = one[is_most]
  before = np.concatenate([[O], chosen[:-1]])
  chosen[(chosen == I) & (before == O)] = B
  return chosen


def _label(examples, windows, annotator_labels):
  """See `WindowLabels`."""
  labels, is_labelled = window_bio_labels(examples, windows, annotator_labels)
  return {"tag_labels": labels}, is_labelled


def _has_answer(windows):
  """Whether an annotator marked a token of the window, bool [windows]."""
  (tags,) = windows.labels.values()  # [all tokens, tags], the last one is O
  marked = np.any(tags[:, :-1] > 0, axis=1).astype(np.int64)
  return np.add.reduceat(marked, windows.row_splits[:-1]) > 0


def _is_answerable(example):
  return any(example.annotators)


# tag_labels: shares of B, I and O; zero at tokens of the question and at
# special tokens.
BIO_LABELS = WindowLabels(
  head="bio",
  window_labels=(),
  token_labels={"tag_labels": NUM_TAGS},
  label=_label,
  has_answer=_has_answer,
  is_answerable=_is_answerable,
  every_annotator=True,
)
