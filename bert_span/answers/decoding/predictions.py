"""Decoded answers as Python rows, of a span head and of a B/I/O head.

Texts are cut from each example's own context and not taken from the decoder's
UTF-8, which cannot hold the lone surrogates that JSON can.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

# The columns of a decoder that predictions are made of.
_ANSWER = ("char_start", "char_end", "score", "probability", "null_odds")
PREDICTION_COLUMNS = (
  *_ANSWER,
  *("n_best_char_start", "n_best_char_end"),
  *("n_best_start_logit", "n_best_end_logit"),
  *("n_best_score", "n_best_probability", "n_best_count"),
)
BIO_PREDICTION_COLUMNS = (
  *_ANSWER,
  *("span_char_start", "span_char_end"),
  *("span_score", "span_probability", "span_count"),
)
_EMPTY = "empty"  # run_squad's answer where no span is possible


class Answer(NamedTuple):
  """An answer: `context[char_start:char_end]`; "" and 0, 0 for "no answer".

  Attributes:
    text: the answer's characters.
    char_start, char_end: half-open offsets into the context, in characters.
    score: what answers are compared by, see `SpanDecoder` and `BioDecoder`.
    probability: see `SpanDecoder` and `BioDecoder`.
  """

  text: str
  char_start: int
  char_end: int
  score: float
  probability: float


class NBestEntry(NamedTuple):
  """One entry of a question's n-best list, see `Answer`.

  Its logits are those of the span's first and last token, or of [CLS] for "no
  answer".
  """

  text: str
  char_start: int
  char_end: int
  start_logit: float
  end_logit: float
  score: float
  probability: float


@dataclasses.dataclass(frozen=True)
class _BestAnswer:
  """The best answer to the question of an id, see `Answer`."""

  qas_id: str
  text: str
  char_start: int
  char_end: int
  score: float
  probability: float
  null_odds: float


@dataclasses.dataclass(frozen=True)
class Prediction(_BestAnswer):
  """The answer of a span head and its n-best list, best first."""

  n_best: tuple[NBestEntry, ...]


@dataclasses.dataclass(frozen=True)
class BioPrediction(_BestAnswer):
  """The spans of a B/I/O head in order of position; () for "no answer".

  The best answer is the span with the best score.
  """

  spans: tuple[Answer, ...]

  @property
  def n_best(self):
    """The spans, best score first."""
    return tuple(sorted(self.spans, key=lambda span: -span.score))


def predictions_of(examples, outputs):
  """The list of `Prediction` of a batch.

  `outputs` is a dict of PREDICTION_COLUMNS, tensors or arrays.
  """
  rows = _rows(examples, outputs, PREDICTION_COLUMNS, "n_best", NBestEntry)
  return [Prediction(**answer, n_best=entries) for answer, entries in rows]


def bio_predictions_of(examples, outputs):
  """As `predictions_of`: `BioPrediction` of BIO_PREDICTION_COLUMNS."""
  rows = _rows(examples, outputs, BIO_PREDICTION_COLUMNS, "span", Answer)
  return [BioPrediction(**answer, spans=spans) for answer, spans in rows]


def _rows(examples, outputs, columns, table, entry_type):
  """Yields the answer of each example, a dict, and its entries of a table."""
  lists = [np.asarray(outputs[name]).tolist() for name in columns]
  rows = zip(*lists, strict=True)
  for example, values in zip(examples, rows, strict=True):
    row = dict(zip(columns, values, strict=True))
    fields = [row[f"{table}_{name}"] for name in entry_type._fields[1:]]
    entries = [
      entry_type(example.context[entry[0] : entry[1]], *entry)
      for entry in zip(*fields, strict=True)
    ]
    answer = {
      "qas_id": example.qas_id,
      "text": example.context[row["char_start"] : row["char_end"]],
      **{name: row[name] for name in _ANSWER},
    }
    yield answer, tuple(entries[: row[f"{table}_count"]])


def as_original_without_span(predictions, version_2_with_negative):
  """Gives each `Prediction` without a possible span the answer of run_squad.

  The n-best candidates of such a question all touch the question or the
  padding, or its passage has no token. run_squad answers with the word "empty";
  with version_2_with_negative it ends in an exception, here a ValueError.

  Source: google-research/bert, run_squad.py, write_predictions.
  """
  without_span = {
    p.qas_id
    for p in predictions
    if all(entry.char_end == entry.char_start for entry in p.n_best)
  }
  if version_2_with_negative and without_span:
    named = [p.qas_id for p in predictions if p.qas_id in without_span]
    raise ValueError(
      f"--no_span=original: no span is possible for {len(named)} of "
      f"{len(predictions)} questions (first: {', '.join(named[:5])}); the "
      "original ends in an exception there. Use --no_span=no_answer."
    )
  return [
    dataclasses.replace(
      p, text=_EMPTY, n_best=(p.n_best[0]._replace(text=_EMPTY),)
    )
    if p.qas_id in without_span
    else p
    for p in predictions
  ]
