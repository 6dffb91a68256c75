"""What windows are labelled with: positions of a span, or B/I/O tags.

A token belongs to a span if it shares a character with it. The first such
token of the passage is B, the others are I, tokens outside are O:

    passage       the   old   mill   burned
    annotator 1    B     I     I      O       "the old mill"
    annotator 2    O     B     I      O       "old mill"
    annotator 3    O     B     I      O       "old mill"

The soft labels are the shares of B, I, O: the (1/3, 0, 2/3), old (2/3, 1/3, 0),
mill (0, 1, 0), burned (0, 0, 1).

The whole passage is labelled, and a window gets the labels of its tokens. If it
begins within a span, its first token is I: the middle of an answer. Decoding
takes each token from its max-context window, which has the most context.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from bert_span.squad.example import NOT_LOCATED
from bert_span.text.answer_positions import NO_TOKEN

# The order of the tags in arrays of three values a token.
TAGS = ("B", "I", "O")
NUM_TAGS = len(TAGS)
B, I, O = range(NUM_TAGS)  # noqa: E741 -- the tags' names


@dataclasses.dataclass(frozen=True, eq=False)
class WindowLabels:
  """The labels that a head is trained on."""

  head: str  # its name, which is saved with records
  window_labels: tuple[str, ...]  # names of labels that are int32 [windows]
  # Names of labels that are float32 [windows, seq_length, n], and this n.
  token_labels: dict[str, int]
  # Of a list of `SquadExample`, all their windows (a dict of arrays, see
  # `SlidingWindows`) and annotator_labels: the dict of labels, and bool
  # [windows], False if the answer has no token; token labels are then zero.
  label: Callable
  # Of `PackedWindows`: bool [windows], whether each has a part of an answer.
  has_answer: Callable
  is_answerable: Callable  # of a `SquadExample`
  # Whether all annotators are learned from; otherwise the first answer, which
  # the preprocessor locates in the windows.
  every_annotator: bool

  @property
  def names(self):
    """Names of all labels, those of windows first."""
    return (*self.window_labels, *self.token_labels)


_POSITIONS = ("start_positions", "end_positions")  # see `AnswerPositions`


SPAN_LABELS = WindowLabels(
  head="span",
  window_labels=_POSITIONS,
  token_labels={},
  # The preprocessor has located the answers.
  label=lambda examples, windows, annotator_labels: (
    {name: windows[name] for name in _POSITIONS},
    windows["end_positions"] != NO_TOKEN,
  ),
  has_answer=lambda windows: windows.labels["end_positions"] > 0,
  is_answerable=lambda example: (
    bool(example.answers) and not example.is_impossible
  ),
  every_annotator=False,
)


def tag_labels(
  annotators, token_char_starts, token_char_ends, annotator_labels="soft"
):
  """Returns the labels of the tokens of a passage.

  Annotators are ignored if their answers are not located in the passage or
  have no token in it. An annotator without an answer labels all tokens O.

  Args:
    annotators: for each annotator a tuple of `Answer`, () for no answer.
    token_char_starts, token_char_ends: int [tokens], half-open offsets into
      the passage in characters, ascending.
    annotator_labels: "soft", the shares of all annotators; "majority", 1 for
      the most frequent tag (in a tie, the tag of the earliest annotator; an I
      after an O becomes B); "first", the tags of the first annotator.

  Returns:
    float32 [tokens, 3], for B, I and O; None if all annotators are ignored.
  """
  offsets = token_char_starts, token_char_ends
  tags = [_annotator_tags(spans, *offsets) for spans in annotators]
  tags = [each for each in tags if each is not None]
  if not tags:
    return None
  one_hot = np.eye(NUM_TAGS)
  if annotator_labels == "soft":
    return np.mean(one_hot[np.stack(tags)], axis=0).astype(np.float32)
  chosen = tags[0] if annotator_labels == "first" else _majority(tags)
  return one_hot[chosen].astype(np.float32)


def window_bio_labels(examples, windows, annotator_labels="soft"):
  """Labels all windows of some examples, see `tag_labels`.

  Returns a dict of tag_labels, float32 [windows, seq_length, 3], zero outside
  the passage and for examples without labels; and bool [windows], False for
  examples without labels.
  """
  shape = windows["input_ids"].shape
  labels = np.zeros([*shape, NUM_TAGS], np.float32)
  is_labelled = np.zeros(shape[0], bool)
  # Where a token of the passage is in each window, and which one it is.
  window, position = np.nonzero(windows["token_char_starts"] >= 0)  # [tokens]
  shift = windows["context_start"] - windows["first_context_position"]
  token, example = position + shift[window], windows["example_index"][window]
  for index in np.unique(example):
    own = example == index
    places, tokens = (window[own], position[own]), token[own]
    char_starts, char_ends = np.empty([2, tokens.max() + 1], np.int32)
    char_starts[tokens] = windows["token_char_starts"][places]
    char_ends[tokens] = windows["token_char_ends"][places]
    annotators = examples[index].annotators
    tags = tag_labels(annotators, char_starts, char_ends, annotator_labels)
    if tags is not None:
      labels[places] = tags[tokens]
      is_labelled[window[own]] = True
  return {"tag_labels": labels}, is_labelled


def _annotator_tags(spans, token_char_starts, token_char_ends):
  """The tags of one annotator, int [tokens]; None if no span has a token.

  Spans that share a token are merged.
  """
  tags = np.full(len(token_char_starts), O)
  located = [span for span in spans if span.char_start != NOT_LOCATED]
  char_starts = np.array([span.char_start for span in located], int)
  char_ends = char_starts + [len(span.text) for span in located]
  firsts = np.searchsorted(token_char_ends, char_starts, side="right")
  lasts = np.searchsorted(token_char_starts, char_ends, side="left") - 1
  reached = -1  # the last token of the spans so far
  for first, last in sorted(zip(firsts, lasts, strict=True)):
    if first <= last:  # else it has no token
      tags[max(first, reached + 1) : last + 1] = I
      if first > reached:
        tags[first] = B
      reached = max(reached, last)
  return None if spans and reached < 0 else tags


def _majority(tags):
  """The most frequent tags, int [tokens]."""
  counts = np.sum(np.eye(NUM_TAGS, dtype=int)[np.stack(tags)], axis=0)
  tokens, chosen = np.arange(len(counts)), np.full(len(counts), O)
  for one in reversed(tags):  # the earliest annotator overwrites the others
    is_most = counts[tokens, one] == counts.max(axis=1)
    chosen[is_most] = one[is_most]
  before = np.concatenate([[O], chosen[:-1]])
  chosen[(chosen == I) & (before == O)] = B
  return chosen


def _has_answer(windows):
  (tags,) = windows.labels.values()  # [all tokens, tags], the last one is O
  marked = np.any(tags[:, :-1] > 0, axis=1).astype(np.int64)
  return np.add.reduceat(marked, windows.row_splits[:-1]) > 0


# tag_labels: shares of B, I and O; zero outside the passage.
BIO_LABELS = WindowLabels(
  head="bio",
  window_labels=(),
  token_labels={"tag_labels": NUM_TAGS},
  label=window_bio_labels,
  has_answer=_has_answer,
  is_answerable=lambda example: any(example.annotators),
  every_annotator=True,
)
