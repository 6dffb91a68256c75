"""Decoded answers as Python objects, of one question or of many.

Texts are cut from each example's own context and not taken from the decoder's
UTF-8, which cannot hold the lone surrogates that JSON can.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from bert_span.squad.example import SquadExample, question_pairs

# The columns about an answer that predictions are made of.
_ANSWER = ("char_start", "char_end", "score", "probability", "null_odds")


class FoundSpan(NamedTuple):
  """A span of a `Prediction`, see `Answer`."""

  text: str
  char_start: int
  char_end: int
  score: float
  probability: float


class Answer(NamedTuple):
  """An answer: `context[char_start:char_end]`; "" and 0, 0 for "no answer".

  Offsets are half-open, in characters. Answers are compared by their score; see
  `SpanDecoder` and `BioDecoder` for scores and probabilities. A labelled answer
  of a `SquadExample` is an `AnswerSpan`.
  """

  text: str
  char_start: int
  char_end: int
  score: float
  probability: float
  null_odds: float  # the score of "no answer" less that of the best span
  # Whether the end of the question was not read: it is longer than
  # max_query_length. False for an empty passage, of which nothing is read.
  question_truncated: bool = False

  @property
  def is_answerable(self):
    """Whether it is a span and not "no answer"."""
    return bool(self.text)


class NBestEntry(NamedTuple):
  """One entry of a question's n-best list, see `Answer`."""

  text: str
  char_start: int
  char_end: int
  start_logit: float  # of the first token, or of [CLS] for "no answer"
  end_logit: float
  score: float
  probability: float


@dataclasses.dataclass(frozen=True)
class Prediction:
  """The best answer to the question of an id, see `Answer`, and the others."""

  qas_id: str
  text: str
  char_start: int
  char_end: int
  score: float
  probability: float
  null_odds: float
  # Best first. Of a span head the n-best list, with "no answer" among them; of
  # a B/I/O head its spans.
  n_best: tuple[NBestEntry | FoundSpan, ...]
  # In order of position, () for "no answer"; at most one of a span head.
  spans: tuple[FoundSpan, ...]
  question_truncated: bool = False

  @property
  def is_answerable(self):
    return bool(self.text)


def answer_of(prediction, entry=None):
  """The `Answer` of a prediction, or of one of its entries."""
  entry = entry or prediction
  values = (getattr(entry, name) for name in FoundSpan._fields)
  return Answer(*values, prediction.null_odds, prediction.question_truncated)


def answer(predictions, options, question, context, n_best=1):
  """Answers one question, or several; see `Extractor.answer`.

  `predictions` is a function of `SquadExample`s, with options for its decoder.
  """
  largest = getattr(options, "n_best_size", n_best)
  if not 1 <= n_best <= largest:
    raise ValueError(
      "n_best must be between 1 and the decoder's n_best_size, "
      f"{largest}. Received: {n_best}."
    )

  def best(prediction):
    if n_best == 1:
      return answer_of(prediction)
    return [answer_of(prediction, e) for e in prediction.n_best[:n_best]]

  return _ask(predictions, question, context, best)


def answers(predictions, question, context):
  """The answer to one question, or to several; see `Extractor.answers`."""

  def spans(prediction):
    return [answer_of(prediction, span) for span in prediction.spans]

  return _ask(predictions, question, context, spans)


def _ask(predictions, question, context, form_of):
  pairs = enumerate(question_pairs(question, context))
  examples = [SquadExample(str(i), *pair) for i, pair in pairs]
  formed = list(map(form_of, predictions(examples)))
  return formed[0] if isinstance(question, str) else formed


def _columns(table, entry_type):
  entry = (f"{table}_{name}" for name in entry_type._fields[1:])
  return (*_ANSWER, *entry, f"{table}_count")


# The columns of a decoder that predictions are made of.
PREDICTION_COLUMNS = _columns("n_best", NBestEntry)
BIO_PREDICTION_COLUMNS = _columns("span", FoundSpan)


def predictions_of(examples, outputs):
  """The list of `Prediction` of a batch.

  `outputs` has its PREDICTION_COLUMNS and question_truncated.
  """
  predictions = []
  for *row, is_cut in _rows(examples, outputs, PREDICTION_COLUMNS, NBestEntry):
    _, *answer, _, _ = row
    spans = (FoundSpan(*answer),) if answer[0] else ()
    predictions.append(Prediction(*row, spans, is_cut))
  return predictions


def bio_predictions_of(examples, outputs):
  """As `predictions_of`, from BIO_PREDICTION_COLUMNS."""
  predictions = []
  for *best, spans, is_cut in _rows(
    examples, outputs, BIO_PREDICTION_COLUMNS, FoundSpan
  ):
    n_best = tuple(sorted(spans, key=lambda span: -span.score))
    predictions.append(Prediction(*best, n_best, spans, is_cut))
  return predictions


def _rows(examples, outputs, columns, entry_type):
  """Yields the fields of each example's prediction."""
  names = (*columns, "question_truncated")
  lists = [np.asarray(outputs[name]).tolist() for name in names]
  for example, *row, is_cut in zip(examples, *lists, strict=True):
    answer, table, count = row[: len(_ANSWER)], row[len(_ANSWER) : -1], row[-1]
    entries = [
      entry_type(example.context[entry[0] : entry[1]], *entry)
      for entry in zip(*table, strict=True)
    ]
    text = example.context[answer[0] : answer[1]]
    yield example.qas_id, text, *answer, tuple(entries[:count]), is_cut


def as_original_without_span(predictions, version_2_with_negative):
  """Gives each `Prediction` without a possible span the answer of run_squad.

  The n-best candidates of such a question all touch the question or the
  padding, or its passage has no token. run_squad answers with the word "empty";
  with version_2_with_negative it ends in an exception, here a ValueError.

  Source: google-research/bert, run_squad.py, write_predictions.
  """
  results, changed = [], []
  for prediction in predictions:
    if all(entry.char_end <= entry.char_start for entry in prediction.n_best):
      changed.append(prediction.qas_id)
      n_best = (prediction.n_best[0]._replace(text="empty"),)
      prediction = dataclasses.replace(prediction, text="empty", n_best=n_best)
    results.append(prediction)
  if version_2_with_negative and changed:
    raise ValueError(
      f"--no_span=original: no span is possible for {len(changed)} of "
      f"{len(predictions)} questions (first: {', '.join(changed[:5])}); the "
      "original ends in an exception there. Use --no_span=no_answer."
    )
  return results
