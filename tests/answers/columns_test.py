"""The table of an answer: JSON and compared values, by hand."""

from bert_span.answers.columns import BIO_COLUMNS, SPAN_COLUMNS, TABLES
from bert_span.answers.decoding.predictions import (
  FoundSpan,
  NBestEntry,
  Prediction,
)

_ADA, _BEN = (
  FoundSpan("Ada", 0, 3, 0.5, 0.25),
  FoundSpan("Ben", 8, 11, 0.75, 0.5),
)


def test_an_n_best_list_is_cut_and_no_answer_has_no_place():
  entries = (
    NBestEntry("Ada", 0, 3, 2.0, 4.0, 6.0, 0.7),
    NBestEntry("", 0, 0, 1.0, 1.0, 2.0, 0.2),
    NBestEntry("Ben", 8, 11, 0.0, 1.0, 1.0, 0.1),
  )
  found = Prediction("q", "Ada", 0, 3, 6.0, 0.7, -4.0, entries, (_ADA,))
  best = {"char_start": 0, "char_end": 3, "score": 6.0, "probability": 0.7}
  best["null_odds"] = -4.0
  nothing = entries[1]._replace(char_start=None, char_end=None)
  assert SPAN_COLUMNS.json_answer(found, 2) == {
    "answer": "Ada",
    **best,
    "n_best": [entries[0]._asdict(), nothing._asdict()],
  }
  # Texts of equal probability may change places.
  assert SPAN_COLUMNS.expected_row(found) == {
    "answer": "Ada",
    **best,
    "is_answerable": True,
    "n_best_count": 3,
    "question_truncated": False,
    "n_best_score": [6.0, 2.0, 1.0],
    "n_best_probability": [0.7, 0.2, 0.1],
  }


def test_all_spans_of_a_bio_head_are_listed_by_position():
  found = Prediction(
    *("q", *_BEN, -1.5), n_best=(_BEN, _ADA), spans=(_ADA, _BEN)
  )
  assert BIO_COLUMNS.json_answer(found, 1) == {
    "null_odds": -1.5,
    "answers": [_ADA._asdict(), _BEN._asdict()],
  }
  row = BIO_COLUMNS.expected_row(found)
  assert row["span_text"] == ["Ada", "Ben"]
  assert row["span_count"] == 2
  assert row["span_char_start"] == [0, 8]


def test_names_say_which_table_a_row_is_of():
  for table in TABLES:
    names = [column.name for column in table.served]
    assert len(names) == len({*names})
    assert table.count.name in names
  span, bio = ({c.name for c in table.served} for table in TABLES)
  assert SPAN_COLUMNS.count.name not in bio
  assert BIO_COLUMNS.count.name not in span


def test_columns_of_bytes_are_made_from_those_of_characters():
  for table in TABLES:
    for columns in (table.question, table.entry):
      dtypes = {column.name: column.dtype for column in columns}
      made = {c.name: c.bytes_of for c in columns if c.bytes_of}
      assert [name.split("byte_")[1] for name in made] == ["start", "end"]
      for name, source in made.items():
        assert dtypes[name] == dtypes[source] == "int32"
        assert name.replace("byte", "char") == source
