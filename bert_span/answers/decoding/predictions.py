"""Decoded answers of the span head as Python rows."""

import dataclasses
from typing import NamedTuple

# What of SpanDecoder's columns predictions are made of.
PREDICTION_COLUMNS = (
  *("char_start", "char_end", "score", "probability", "null_odds"),
  *("n_best_char_start", "n_best_char_end"),
  *("n_best_start_logit", "n_best_end_logit"),
  *("n_best_score", "n_best_probability", "n_best_count"),
)


class NBestEntry(NamedTuple):
  """One entry of a question's n-best list.

  Attributes:
    text: context[char_start:char_end]; "" for "no answer".
    char_start: characters into the context; 0 for "no answer".
    char_end: characters, exclusive; 0 for "no answer".
    start_logit: of the span's first token, or of [CLS] for "no answer".
    end_logit: of the span's last token, or of [CLS].
    score: logit sum or mean probability, whichever ordered the list.
    probability: see SpanDecoder.
  """

  text: str
  char_start: int
  char_end: int
  start_logit: float
  end_logit: float
  score: float
  probability: float


@dataclasses.dataclass(frozen=True)
class Prediction:
  """The answer to one question.

  Attributes:
    qas_id: the question's id.
    text: context[char_start:char_end]; "" for "no answer".
    char_start: characters into the context; 0 for "no answer".
    char_end: characters, exclusive; 0 for "no answer".
    score: of the answer, see SpanDecoder.
    probability: of the answer, see SpanDecoder.
    null_odds: null score - best span's score.
    n_best: NBestEntry, best first.
  """

  qas_id: str
  text: str
  char_start: int
  char_end: int
  score: float
  probability: float
  null_odds: float
  n_best: tuple[NBestEntry, ...]


def predictions_of(examples, outputs):
  """The rows of a decoded batch, in its order.

  Texts are cut from each example's own context and not taken from the
  decoder's UTF-8, which cannot hold the lone surrogates that JSON can.

  Args:
    examples: SquadExample of the batch, in its order.
    outputs: what SpanDecoder returned for them, tensors or arrays; of it
      PREDICTION_COLUMNS are used.

  Returns:
    list of Prediction.

  Raises:
    ValueError: examples and outputs differ in number.
  """
  if len(outputs["char_start"]) != len(examples):
    raise ValueError(
      f"examples must be those that were decoded: {len(examples)} examples, "
      f"but answers for {len(outputs['char_start'])}. Pass the same batch."
    )
  columns = {name: _rows(outputs[name]) for name in PREDICTION_COLUMNS}
  return [
    _prediction(example, {name: rows[i] for name, rows in columns.items()})
    for i, example in enumerate(examples)
  ]


def _rows(values):
  """A tensor or array as nested lists of Python numbers."""
  return (values.numpy() if hasattr(values, "numpy") else values).tolist()


def _prediction(example, row):
  """The Prediction of one example from its row of each column."""
  count = row["n_best_count"]
  spans = [row[f"n_best_char_{side}"][:count] for side in ("start", "end")]
  n_best = map(
    NBestEntry,
    [example.context[start:end] for start, end in zip(*spans, strict=True)],
    *spans,
    row["n_best_start_logit"],
    row["n_best_end_logit"],
    row["n_best_score"],
    row["n_best_probability"],
  )
  return Prediction(
    qas_id=example.qas_id,
    text=example.context[row["char_start"] : row["char_end"]],
    char_start=row["char_start"],
    char_end=row["char_end"],
    score=row["score"],
    probability=row["probability"],
    null_odds=row["null_odds"],
    n_best=tuple(n_best),
  )
