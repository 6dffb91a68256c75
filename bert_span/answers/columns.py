"""The columns of an answer: a table for n-best lists and one for spans.

A SavedModel returns these columns, its model card describes them, exports are
compared with the model by them, the client reads them, and `ask --json` and
beam_predict write them. TensorFlow is not needed.
"""

import dataclasses
import enum
import itertools

from bert_span.answers.answer import Answer, Prediction
from bert_span.storage.files import encodable


class Use(enum.Flag):
  """The uses of a column."""

  SERVED = enum.auto()  # in the outputs of a SavedModel
  COMPARED = enum.auto()  # in the outputs that must equal the model's answers
  JSON = enum.auto()  # in the lines of `ask --json`
  ROWS = enum.auto()  # in the rows of beam_predict


@dataclasses.dataclass(frozen=True)
class Column:
  """One column of an answer."""

  name: str  # of the output; the decoder's, too, unless bytes_of is given
  field: str  # of `Answer`; the key in JSON lists
  dtype: str  # string, int32, float32 or bool
  uses: Use
  description: str
  # The name of the column of characters that a column of bytes is made from.
  bytes_of: str | None = None

  def served_value(self, entry):
    """Returns the value of an entry as a SavedModel returns it."""
    value = getattr(entry, self.field)
    return encodable(value) if self.dtype == "string" else value

  def json_value(self, entry):
    """Returns the value of an entry; None for the offsets of "no answer"."""
    is_offset = self.field in ("char_start", "char_end")
    if is_offset and entry.char_end <= entry.char_start:
      return None
    return getattr(entry, self.field)


@dataclasses.dataclass(frozen=True)
class AnswerColumns:
  """The columns of an answer."""

  question: tuple[Column, ...]  # [questions]
  count: Column  # [questions], the number of entries without padding
  # [questions, entries]; padded with "", 0 and False to one length in a batch
  entry: tuple[Column, ...]
  # The attribute of a prediction with the entries, and their key in the rows of
  # beam_predict.
  entries: str
  json_entries: str  # the key of the entries in `ask --json`

  @property
  def served(self):
    """The columns of a SavedModel."""
    columns = (*self.question, self.count, *self.entry)
    return tuple(c for c in columns if Use.SERVED in c.uses)

  @property
  def predicted(self):
    """The names of the columns that predictions are made of."""
    fields = {field.name for field in dataclasses.fields(Answer)} - {"text"}
    columns = (*self.question, *self.entry)
    return (*(c.name for c in columns if c.field in fields), self.count.name)

  def predictions(self, ids, contexts, columns, answer_type=Answer):
    """Yields the `Prediction` of each question.

    `columns` is a dict of lists by name. A field of answer_type without a
    column has its default. Lists of entries may have padding. Texts are cut
    from the contexts, which are str.
    """
    # In the order of answer_type's arguments.
    _, *fields = dataclasses.fields(answer_type)
    of_question, of_entry = (
      {c.field: columns[c.name] for c in table if c.name in columns}
      for table in (self.question, self.entry)
    )
    counts = columns[self.count.name]
    for i, (qas_id, context) in enumerate(zip(ids, contexts, strict=True)):
      one = {name: column[i] for name, column in of_question.items()}
      many = {name: column[i] for name, column in of_entry.items()}
      values = [one.get(field.name, field.default) for field in fields]
      text = context[one["char_start"] : one["char_end"]]
      answer = answer_type(text, *values)
      places = zip(many["char_start"], many["char_end"], strict=True)
      places = itertools.islice(places, counts[i])
      entries = tuple(
        map(
          answer_type,
          [context[start:end] for start, end in places],
          *(
            many.get(field.name, itertools.repeat(value))
            for field, value in zip(fields, values, strict=True)
          ),
        )
      )
      if self.entries == "spans":
        n_best, spans = sorted(entries, key=lambda x: -x.score), entries
      else:
        n_best, spans = entries, [answer] * answer.is_answerable
      yield Prediction(qas_id, answer, tuple(n_best), tuple(spans))

  def listed(self, prediction, n_best):
    """Returns all spans of an answer, or the first n_best candidates."""
    entries = getattr(prediction, self.entries)
    return entries if self.entries == "spans" else entries[:n_best]

  def expected_row(self, prediction):
    """Returns the served values that an export must equal, without padding."""
    entries = getattr(prediction, self.entries)
    row = {
      c.name: c.served_value(prediction.answer)
      for c in self.question
      if Use.COMPARED in c.uses
    }
    row[self.count.name] = len(entries)
    for column in self.entry:
      if Use.COMPARED in column.uses:
        row[column.name] = list(map(column.served_value, entries))
    return row

  def json_answer(self, prediction, n_best):
    """Returns a `Prediction` as the JSON object of `ask --json`."""
    in_answer, in_entry = (
      [c for c in columns if Use.JSON in c.uses]
      for columns in (self.question, self.entry)
    )
    answer = {c.name: c.json_value(prediction.answer) for c in in_answer}
    answer[self.json_entries] = [
      {c.field: c.json_value(entry) for c in in_entry}
      for entry in self.listed(prediction, n_best)
    ]
    return answer

  def entry_values(self, entry):
    """Returns the values of an entry by field."""
    columns = [c for c in self.entry if Use.JSON in c.uses]
    return {c.field: getattr(entry, c.field) for c in columns}

  @property
  def row_columns(self):
    """The columns of a row of beam_predict, and those of its entries."""
    return tuple(
      [c for c in columns if Use.ROWS in c.uses]
      for columns in (self.question, self.entry)
    )

  def answer_row(self, prediction, n_best=1):
    """Returns a `Prediction` as a row of beam_predict, of JSON values.

    With n_best=1 the row of a span head has no list.
    """
    in_answer, in_entry = self.row_columns
    row = {c.name: c.json_value(prediction.answer) for c in in_answer}
    if self.entries == "spans" or n_best > 1:
      row[self.entries] = [
        {c.field: c.json_value(entry) for c in in_entry}
        for entry in self.listed(prediction, n_best)
      ]
    return {"id": prediction.qas_id, **row}


SERVED, COMPARED, JSON, ROWS = Use
ALL = SERVED | COMPARED | JSON | ROWS

# fmt: off
SPAN_COLUMNS = AnswerColumns(
  question=(
    Column("answer", "text", "string", ALL,
           "the answer, valid UTF-8; empty for no answer"),
    Column("char_start", "char_start", "int32", ALL,
           "first character of the answer in the context, from 0"),
    Column("char_end", "char_end", "int32", ALL,
           "character after the answer; context[char_start:char_end]"),
    Column("byte_start", "byte_start", "int32", SERVED,
           "first byte of the answer in the context as it was sent",
           bytes_of="char_start"),
    Column("byte_end", "byte_end", "int32", SERVED,
           "byte after the answer", bytes_of="char_end"),
    Column("score", "score", "float32", ALL,
           "what answers are compared by, in the unit of span_score"),
    Column("probability", "probability", "float32", ALL,
           "of a calibrated model, the chance that the answer is right; else, "
           "logit_sum: softmax over the n-best list, mean_probability: the "
           "score"),
    Column("null_odds", "null_odds", "float32", ALL,
           "score of no answer - score of the best span; above the threshold "
           "there is no answer (1e6: no span is possible)"),
    Column("is_answerable", "is_answerable", "bool", SERVED | COMPARED,
           "whether the answer is a span"),
    Column("question_truncated", "question_truncated", "bool",
           SERVED | COMPARED | ROWS,
           "whether the question was longer than max_query_length and its end "
           "was not read"),
  ),
  count=Column("n_best_count", "n_best_count", "int32", SERVED | COMPARED,
               "entries of the n-best list without padding"),
  # Texts of equal probability may change places, so they are not compared.
  entry=(
    Column("n_best_answer", "text", "string", SERVED | JSON | ROWS,
           "texts, best first; after n_best_count padding"),
    Column("n_best_char_start", "char_start", "int32", SERVED | JSON | ROWS,
           "as char_start; padding 0"),
    Column("n_best_char_end", "char_end", "int32", SERVED | JSON | ROWS,
           "as char_end; padding 0"),
    Column("n_best_byte_start", "byte_start", "int32", SERVED,
           "as byte_start; padding 0", bytes_of="n_best_char_start"),
    Column("n_best_byte_end", "byte_end", "int32", SERVED,
           "as byte_end; padding 0", bytes_of="n_best_char_end"),
    Column("n_best_start_logit", "start_logit", "float32", JSON,
           "logit of the first WordPiece"),
    Column("n_best_end_logit", "end_logit", "float32", JSON,
           "logit of the last WordPiece"),
    Column("n_best_score", "score", "float32", ALL,
           "as score; padding 0"),
    Column("n_best_probability", "probability", "float32", ALL,
           "as probability; padding 0"),
    Column("n_best_is_answerable", "is_answerable", "bool", SERVED,
           "true for a span, false for the entry of no answer and for padding"),
  ),
  entries="n_best",
  json_entries="n_best",
)

BIO_COLUMNS = AnswerColumns(
  question=(
    Column("answer", "text", "string", SERVED | COMPARED | ROWS,
           "the span with the best score, valid UTF-8; empty for no answer"),
    Column("char_start", "char_start", "int32", SERVED | COMPARED | ROWS,
           "first character of the answer in the context, from 0"),
    Column("char_end", "char_end", "int32", SERVED | COMPARED | ROWS,
           "character after the answer; context[char_start:char_end]"),
    Column("byte_start", "byte_start", "int32", SERVED,
           "first byte of the answer in the context as it was sent",
           bytes_of="char_start"),
    Column("byte_end", "byte_end", "int32", SERVED,
           "byte after the answer", bytes_of="char_end"),
    Column("score", "score", "float32", SERVED | COMPARED | ROWS,
           "of that span: geometric mean of its tags' probabilities, the unit "
           "of threshold; 0 for no answer"),
    Column("probability", "probability", "float32", SERVED | COMPARED | ROWS,
           "of exactly that span; for no answer, that there is no span"),
    Column("null_odds", "null_odds", "float32", ALL,
           "log-probability of no span - that of the best tags with one, in "
           "nats; with version_2_with_negative above the threshold there is no "
           "answer (1e6: no span is possible)"),
    Column("is_answerable", "is_answerable", "bool", SERVED | COMPARED,
           "whether the answer has a span"),
    Column("question_truncated", "question_truncated", "bool",
           SERVED | COMPARED | ROWS,
           "whether the question was longer than max_query_length and its end "
           "was not read"),
  ),
  count=Column("span_count", "span_count", "int32", SERVED | COMPARED,
               "spans of the answer, 0 for no answer; padding follows them"),
  entry=(
    Column("span_text", "text", "string", ALL,
           "texts in order of position; padding empty"),
    Column("span_char_start", "char_start", "int32", ALL,
           "as char_start; padding 0"),
    Column("span_char_end", "char_end", "int32", ALL,
           "as char_end; padding 0"),
    Column("span_byte_start", "byte_start", "int32", SERVED,
           "as byte_start; padding 0", bytes_of="span_char_start"),
    Column("span_byte_end", "byte_end", "int32", SERVED,
           "as byte_end; padding 0", bytes_of="span_char_end"),
    Column("span_score", "score", "float32", ALL,
           "as score; padding 0"),
    Column("span_probability", "probability", "float32", ALL,
           "as probability; padding 0"),
  ),
  entries="spans",
  json_entries="answers",
)
# fmt: on

TABLES = (SPAN_COLUMNS, BIO_COLUMNS)
