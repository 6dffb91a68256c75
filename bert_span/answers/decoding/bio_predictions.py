"""Decoded answers of the B/I/O head as Python rows."""

import dataclasses

# What of BioDecoder's columns predictions are made of.
BIO_PREDICTION_COLUMNS = (
  *("char_start", "char_end", "score", "probability", "null_odds"),
  *("span_count", "span_char_start", "span_char_end"),
  *("span_score", "span_probability"),
)


@dataclasses.dataclass(frozen=True)
class AnswerSpan:
  """One span of an answer.

  Attributes:
    text: context[char_start:char_end].
    char_start: characters into the context.
    char_end: characters, exclusive.
    score: see BioDecoder.
    probability: see BioDecoder.
  """

  text: str
  char_start: int
  char_end: int
  score: float
  probability: float


@dataclasses.dataclass(frozen=True)
class BioPrediction:
  """The answer to one question.

  Attributes:
    qas_id: the question's id.
    spans: AnswerSpan, in order of position; () for "no answer".
    text: of the span with the best score; "" for "no answer".
    char_start: of that span, in characters; 0 for "no answer".
    char_end: of that span, in characters, exclusive; 0 for "no answer".
    score: of that span; 0 for "no answer".
    probability: of that span, or that there is none.
    null_odds: see BioDecoder, in nats.
  """

  qas_id: str
  spans: tuple[AnswerSpan, ...]
  text: str
  char_start: int
  char_end: int
  score: float
  probability: float
  null_odds: float

  @property
  def n_best(self):
    """The spans, best score first."""
    return tuple(sorted(self.spans, key=lambda span: -span.score))


def bio_predictions_of(examples, outputs):
  """The rows of a decoded batch, in its order.

  Texts are cut from each example's own context and not taken from the
  decoder's UTF-8, which cannot hold the lone surrogates that JSON can.

  Args:
    examples: SquadExample of the batch, in its order.
    outputs: what BioDecoder returned for them, tensors.

  Returns:
    list of BioPrediction.
  """
  columns = {
    name: outputs[name].numpy().tolist() for name in BIO_PREDICTION_COLUMNS
  }
  return [
    _prediction(example, {name: rows[i] for name, rows in columns.items()})
    for i, example in enumerate(examples)
  ]


def _prediction(example, row):
  """The BioPrediction of one example from its row of each column."""
  names = ("char_start", "char_end", "score", "probability")
  columns = zip(*(row[f"span_{name}"] for name in names), strict=True)
  spans = [
    AnswerSpan(example.context[start:end], start, end, score, probability)
    for start, end, score, probability in columns
  ]
  return BioPrediction(
    qas_id=example.qas_id,
    spans=tuple(spans[: row["span_count"]]),
    text=example.context[row["char_start"] : row["char_end"]],
    **{name: row[name] for name in (*names, "null_odds")},
  )
