"""What an answer consists of: one table for each kind of list of spans.

A SavedModel returns these columns, its model card describes them, exports are
compared with the model by them, the client reads them, and `ask --json` and
beam_predict write them. TensorFlow is not needed.

    question columns   one value a question: answer, char_start, ...
    entry columns      one value an entry of a list: n_best_answer, ...

Entries of a list are padded with "", 0 and False to one length in a batch.
"""

import dataclasses

from bert_span.storage.files import encodable

# The name of the column with the number of entries ends so.
_COUNT = "count"


@dataclasses.dataclass(frozen=True)
class Column:
  """One column of an answer.

  Attributes:
    name: its name in a SavedModel.
    attribute: its name in predictions, in `ServedSpan` and in JSON.
    type: string, int32, float32 or bool.
    description: a sentence about it.
    decoded: the decoder's column it is made of; "" if the server computes it
      from offsets.
    is_served: whether a SavedModel returns it; else only JSON has it.
    is_compared: whether an export must have the values of the model in it.
      Texts of equal probability may change places in an n-best list.
  """

  name: str
  attribute: str
  type: str
  description: str
  decoded: str = ""
  is_served: bool = True
  is_compared: bool = True


@dataclasses.dataclass(frozen=True)
class AnswerColumns:
  """The columns of an answer.

  Attributes:
    question: columns [questions]; one of them is the number of entries.
    entry: columns [questions, entries].
    entries: the attribute of a prediction with the entries, and their key in
      the rows of beam_predict.
    json_question: attributes of question columns that `ask --json` prints.
    json_entries: the key of the entries there.
    classes: name -> description of what TensorFlow Serving's Classify returns.
  """

  question: tuple[Column, ...]
  entry: tuple[Column, ...]
  entries: str
  json_question: tuple[str, ...]
  json_entries: str
  classes: dict[str, str]

  @property
  def count(self):
    """The column with the number of entries."""
    return next(c for c in self.question if c.attribute == _COUNT)

  @property
  def served(self):
    """The columns of a SavedModel."""
    return [c for c in (*self.question, *self.entry) if c.is_served]

  @property
  def descriptions(self):
    """Dict of the name of each served column to a sentence about it."""
    return {column.name: column.description for column in self.served}

  def listed(self, prediction, n_best):
    """The entries to show: all spans of an answer, or the n_best best."""
    entries = getattr(prediction, self.entries)
    return entries if self.entries == "spans" else entries[:n_best]

  def expected_row(self, prediction):
    """Dict of the served values that must equal a `Prediction`, unpadded."""
    entries = getattr(prediction, self.entries)
    row = {
      column.name: len(entries)
      if column.attribute == _COUNT
      else _value(prediction, column)
      for column in self.question
      if column.is_compared
    }
    for column in self.entry:
      if column.is_served and column.is_compared:
        row[column.name] = [_value(entry, column) for entry in entries]
    return row

  def json_answer(self, prediction, n_best):
    """The JSON object of a `Prediction`, as `ask --json` prints it."""
    answer = _json_object(self.question, prediction)
    names = {c.attribute: c.name for c in self.question}
    answer = {names[key]: answer[key] for key in self.json_question}
    answer[self.json_entries] = [
      _json_object(self.entry, entry)
      for entry in self.listed(prediction, n_best)
    ]
    return answer

  def answer_row(self, example, answer, n_best=1):
    """The row of an answer in files of beam_predict, a dict of JSON values.

    `answer` is a `Prediction` or a `ServedAnswer`. Texts are cut from the
    example's own passage. The list of a span head is missing with n_best=1.
    """

    def entry(span):
      text = example.context[span.char_start : span.char_end]
      values = _json_object(ROW_COLUMNS, span)
      return {**values, "text": text}

    values = entry(answer)
    row = {"id": example.qas_id, "answer": values.pop("text"), **values}
    row["null_odds"] = answer.null_odds
    if self.entries == "spans" or n_best > 1:
      row[self.entries] = list(map(entry, self.listed(answer, n_best)))
    return row


def _value(entry, column):
  """The value of a column in a prediction or in one of its entries."""
  if column.attribute == "is_answerable":
    return bool(entry.text)
  value = getattr(entry, column.attribute)
  return encodable(value) if column.type == "string" else value


def _json_object(columns, entry):
  """The values of an entry by attribute; offsets are None for "no answer"."""
  values = {}
  for column in columns:
    is_place = column.attribute in ("char_start", "char_end")
    if is_place and entry.char_end <= entry.char_start:
      values[column.attribute] = None
    elif hasattr(entry, column.attribute):
      values[column.attribute] = getattr(entry, column.attribute)
  return values


def _place_columns(prefix="", note=""):
  """The columns with the offsets of an answer or of an entry."""
  described = {
    "char_start": "first character of the answer in the context, from 0",
    "char_end": "character after the answer; context[char_start:char_end]",
    "byte_start": "first byte of the answer in the context as it was sent",
    "byte_end": "byte after the answer",
  }
  return tuple(
    Column(
      f"{prefix}{name}",
      name,
      "int32",
      f"as {name}; padding 0" if prefix else text,
      decoded=f"{prefix}{name}" if name.startswith("char") else "",
      # The server computes bytes; the order of an n-best list may differ.
      is_compared=name.startswith("char") and prefix != "n_best_",
    )
    for name, text in described.items()
  )


def _number_columns(prefix):
  """The scores of an entry."""
  return tuple(
    Column(
      f"{prefix}{name}",
      name,
      "float32",
      f"as {name}; padding 0",
      f"{prefix}{name}",
    )
    for name in ("score", "probability")
  )


def _question_columns(answer, score, probability, null_odds, is_answerable):
  """The question columns of both heads, with their descriptions."""
  return (
    Column("answer", "text", "string", answer, "answer"),
    *_place_columns(),
    Column("score", "score", "float32", score, "score"),
    Column("probability", "probability", "float32", probability, "probability"),
    Column("null_odds", "null_odds", "float32", null_odds, "null_odds"),
    Column(
      "is_answerable", "is_answerable", "bool", is_answerable, "is_answerable"
    ),
  )


SPAN_COLUMNS = AnswerColumns(
  question=(
    *_question_columns(
      answer="the answer, valid UTF-8; empty for no answer",
      score="what answers are compared by, in the unit of span_score",
      probability="of a calibrated model, the chance that the answer is right; "
      "else, logit_sum: softmax over the n-best list, mean_probability: the "
      "score",
      null_odds="score of no answer - score of the best span; above the "
      "threshold there is no answer (1e6: no span is possible)",
      is_answerable="whether the answer is a span",
    ),
    Column(
      "n_best_count",
      _COUNT,
      "int32",
      "entries of the n-best list without padding",
      "n_best_count",
    ),
  ),
  entry=(
    Column(
      "n_best_answer",
      "text",
      "string",
      "texts, best first; after n_best_count padding",
      "n_best_text",
      is_compared=False,
    ),
    *_place_columns("n_best_"),
    Column(
      "n_best_start_logit",
      "start_logit",
      "float32",
      "logit of the first WordPiece",
      "n_best_start_logit",
      is_served=False,
    ),
    Column(
      "n_best_end_logit",
      "end_logit",
      "float32",
      "logit of the last WordPiece",
      "n_best_end_logit",
      is_served=False,
    ),
    *_number_columns("n_best_"),
    Column(
      "n_best_is_answerable",
      "is_answerable",
      "bool",
      "true for a span, false for the entry of no answer and for padding",
      is_compared=False,
    ),
  ),
  entries="n_best",
  json_question=(
    *("text", "char_start", "char_end", "score", "probability", "null_odds"),
  ),
  json_entries="n_best",
  classes={"classes": "as n_best_answer", "scores": "as n_best_probability"},
)

BIO_COLUMNS = AnswerColumns(
  question=(
    *_question_columns(
      answer="the span with the best score, valid UTF-8; empty for no answer",
      score="of that span: geometric mean of its tags' probabilities, the unit "
      "of threshold; 0 for no answer",
      probability="of exactly that span; for no answer, that there is no span",
      null_odds="log-probability of no span - that of the best tags with one, "
      "in nats; with version_2_with_negative above the threshold there is no "
      "answer (1e6: no span is possible)",
      is_answerable="whether the answer has a span",
    ),
    Column(
      "span_count",
      _COUNT,
      "int32",
      "spans of the answer, 0 for no answer; padding follows them",
      "span_count",
    ),
  ),
  entry=(
    Column(
      "span_text",
      "text",
      "string",
      "texts in order of position; padding empty",
      "span_text",
    ),
    *_place_columns("span_"),
    *_number_columns("span_"),
  ),
  entries="spans",
  json_question=("null_odds",),
  json_entries="answers",
  classes={
    "classes": "as span_text; for no answer the first is empty",
    "scores": "as span_probability; for no answer the first is probability",
  },
)

TABLES = (SPAN_COLUMNS, BIO_COLUMNS)

# The columns of a span in the rows of beam_predict and of batches.
ROW_COLUMNS = tuple(
  column
  for column in SPAN_COLUMNS.question
  if column.attribute
  in ("text", "char_start", "char_end", "score", "probability")
)
