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

# The attribute of the column with the number of entries.
_COUNT = "count"
_BYTES = ("byte_start", "byte_end")  # which the server computes
_NEW = ("question_truncated",)
_PLACES = ("char_start", "char_end", *_BYTES)
_TYPES = {
  "text": "string",
  **dict.fromkeys(("is_answerable", "question_truncated"), "bool"),
  **dict.fromkeys((*_PLACES, _COUNT), "int32"),
}


@dataclasses.dataclass(frozen=True)
class Column:
  """One column of an answer."""

  # In a SavedModel and, unless it follows from offsets, of the decoder.
  name: str
  attribute: str  # of predictions and of `ServedSpan`, key in JSON
  type: str  # string, int32, float32 or bool
  description: str
  is_served: bool = True  # by a SavedModel; else only JSON has it
  # Whether an export must have the values of the model in it. Texts of equal
  # probability may change places in an n-best list.
  is_compared: bool = True
  is_new: bool = False  # so that older exports lack it


@dataclasses.dataclass(frozen=True)
class AnswerColumns:
  """The columns of an answer."""

  question: tuple[Column, ...]  # [questions]; one is the number of entries
  entry: tuple[Column, ...]  # [questions, entries]
  # The attribute of a prediction with the entries, and their key in the rows of
  # beam_predict.
  entries: str
  json_question: tuple[str, ...]  # attributes that `ask --json` prints
  json_entries: str  # the key of the entries there

  @property
  def count(self):
    """The column with the number of entries."""
    return next(c for c in self.question if c.attribute == _COUNT)

  @property
  def served(self):
    """The columns of a SavedModel."""
    return [c for c in (*self.question, *self.entry) if c.is_served]

  @property
  def required(self):
    """The names of the columns that every export has."""
    return [column.name for column in self.served if not column.is_new]

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
    row["question_truncated"] = answer.question_truncated
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


def _columns(prefix, descriptions, uncompared=_BYTES, unserved=()):
  """The columns of a dict from names to descriptions."""
  columns = []
  for name, description in descriptions.items():
    attribute = name.removeprefix(prefix)
    attribute = "text" if attribute == "answer" else attribute
    columns.append(
      Column(
        name,
        attribute,
        _TYPES.get(attribute, "float32"),
        description,
        is_served=attribute not in unserved,
        is_compared=attribute not in uncompared,
        is_new=attribute in _NEW,
      )
    )
  return tuple(columns)


def _as_question(prefix, *attributes):
  return {prefix + name: f"as {name}; padding 0" for name in attributes}


_QUESTION_PLACES = {
  "char_start": "first character of the answer in the context, from 0",
  "char_end": "character after the answer; context[char_start:char_end]",
  "byte_start": "first byte of the answer in the context as it was sent",
  "byte_end": "byte after the answer",
}
_TRUNCATED = {
  "question_truncated": "whether the question was longer than max_query_length "
  "and its end was not read"
}

SPAN_COLUMNS = AnswerColumns(
  question=_columns(
    "n_best_",
    {
      "answer": "the answer, valid UTF-8; empty for no answer",
      **_QUESTION_PLACES,
      "score": "what answers are compared by, in the unit of span_score",
      "probability": "of a calibrated model, the chance that the answer is "
      "right; else, logit_sum: softmax over the n-best list, "
      "mean_probability: the score",
      "null_odds": "score of no answer - score of the best span; above the "
      "threshold there is no answer (1e6: no span is possible)",
      "is_answerable": "whether the answer is a span",
      "n_best_count": "entries of the n-best list without padding",
      **_TRUNCATED,
    },
  ),
  entry=_columns(
    "n_best_",
    {
      "n_best_answer": "texts, best first; after n_best_count padding",
      **_as_question("n_best_", *_PLACES),
      "n_best_start_logit": "logit of the first WordPiece",
      "n_best_end_logit": "logit of the last WordPiece",
      **_as_question("n_best_", "score", "probability"),
      "n_best_is_answerable": "true for a span, false for the entry of no "
      "answer and for padding",
    },
    uncompared=("text", *_PLACES, "is_answerable"),
    unserved=("start_logit", "end_logit"),
  ),
  entries="n_best",
  json_question=(
    *("text", "char_start", "char_end", "score", "probability", "null_odds"),
  ),
  json_entries="n_best",
)

BIO_COLUMNS = AnswerColumns(
  question=_columns(
    "span_",
    {
      "answer": "the span with the best score, valid UTF-8; empty for no "
      "answer",
      **_QUESTION_PLACES,
      "score": "of that span: geometric mean of its tags' probabilities, the "
      "unit of threshold; 0 for no answer",
      "probability": "of exactly that span; for no answer, that there is no "
      "span",
      "null_odds": "log-probability of no span - that of the best tags with "
      "one, in nats; with version_2_with_negative above the threshold there is "
      "no answer (1e6: no span is possible)",
      "is_answerable": "whether the answer has a span",
      "span_count": "spans of the answer, 0 for no answer; padding follows "
      "them",
      **_TRUNCATED,
    },
  ),
  entry=_columns(
    "span_",
    {
      "span_text": "texts in order of position; padding empty",
      **_as_question("span_", *_PLACES, "score", "probability"),
    },
  ),
  entries="spans",
  json_question=("null_odds",),
  json_entries="answers",
)

TABLES = (SPAN_COLUMNS, BIO_COLUMNS)

# The columns of a span in the rows of beam_predict and of batches.
ROW_COLUMNS = tuple(
  column
  for column in SPAN_COLUMNS.question
  if column.attribute
  in ("text", "char_start", "char_end", "score", "probability")
)
