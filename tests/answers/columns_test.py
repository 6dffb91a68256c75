"""The table of an answer: JSON and compared values, by hand."""

from bert_span.answers.answer import Answer, Prediction
from bert_span.answers.columns import BIO_COLUMNS, SPAN_COLUMNS, TABLES


def _answer(text, start, end, score, probability, **logits):
  return Answer(text, start, end, score, probability, -1.5, **logits)


def test_an_n_best_list_is_cut_and_no_answer_has_no_place():
  entries = (
    _answer("Ada", 0, 3, 6.0, 0.7, start_logit=2.0, end_logit=4.0),
    _answer("", 0, 0, 2.0, 0.2, start_logit=1.0, end_logit=1.0),
    _answer("Ben", 8, 11, 1.0, 0.1, start_logit=0.0, end_logit=1.0),
  )
  answer = _answer("Ada", 0, 3, 6.0, 0.7)
  found = Prediction("q", answer, entries, (answer,))
  best = {"char_start": 0, "char_end": 3, "score": 6.0, "probability": 0.7}
  first = {"text": "Ada", **best, "start_logit": 2.0, "end_logit": 4.0}
  nothing = {"text": "", "char_start": None, "char_end": None}
  nothing |= {"start_logit": 1.0, "end_logit": 1.0}
  nothing |= {"score": 2.0, "probability": 0.2}
  best["null_odds"] = -1.5
  assert SPAN_COLUMNS.json_answer(found, 2) == {
    "answer": "Ada",
    **best,
    "n_best": [first, nothing],
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


def test_a_row_of_a_span_head_has_a_list_if_more_than_one_is_wanted():
  ada, ben = _answer("Ada", 0, 3, 6.0, 0.7), _answer("Ben", 8, 11, 1.0, 0.1)
  found = Prediction("q", ada, n_best=(ada, ben), spans=(ada,))
  assert "n_best" not in SPAN_COLUMNS.answer_row(found)
  row = SPAN_COLUMNS.answer_row(found, n_best=2)
  assert [entry["text"] for entry in row["n_best"]] == ["Ada", "Ben"]


def test_all_spans_of_a_bio_head_are_listed_by_position():
  ada, ben = _answer("Ada", 0, 3, 0.5, 0.25), _answer("Ben", 8, 11, 0.75, 0.5)
  found = Prediction("q", ben, n_best=(ben, ada), spans=(ada, ben))
  names = ("text", "char_start", "char_end", "score", "probability")
  assert BIO_COLUMNS.json_answer(found, 1) == {
    "null_odds": -1.5,
    "answers": [{n: getattr(span, n) for n in names} for span in (ada, ben)],
  }
  row = BIO_COLUMNS.expected_row(found)
  assert row["span_text"] == ["Ada", "Ben"]
  assert row["span_count"] == 2
  assert row["span_char_start"] == [0, 8]


def _prediction(table, row):
  columns = {name: [value] for name, value in row.items()}
  (prediction,) = table.predictions(["q"], ["Ada, \ud800n"], columns)
  return prediction


def test_a_row_becomes_a_prediction_of_texts_as_the_context_has_them():
  row = {"char_start": 5, "char_end": 7, "score": 0.75, "probability": 0.5}
  row |= {"null_odds": -1.5, "question_truncated": True, "span_count": 2}
  row |= {"span_char_start": [0, 5, 0], "span_char_end": [3, 7, 0]}
  row |= {"span_score": [0.5, 0.75, 0], "span_probability": [0.25, 0.5, 0]}
  assert row.keys() == {*BIO_COLUMNS.predicted}
  ada = Answer("Ada", 0, 3, 0.5, 0.25, -1.5, True)
  best = Answer("\ud800n", 5, 7, 0.75, 0.5, -1.5, True)
  expected = Prediction("q", best, (best, ada), (ada, best))
  assert _prediction(BIO_COLUMNS, row) == expected
  # The list of a span head is as the decoder has it.
  row = {n.replace("span_", "n_best_"): x for n, x in row.items()}
  row |= {"n_best_start_logit": [1, 2, 0], "n_best_end_logit": [3, 4, 0]}
  assert row.keys() == {*SPAN_COLUMNS.predicted}
  found = _prediction(SPAN_COLUMNS, row)
  assert found == Prediction("q", best, (ada, best), (best,))
  logits = [(entry.start_logit, entry.end_logit) for entry in found.n_best]
  assert logits == [(1, 3), (2, 4)]
  nothing = row | {"char_start": 0, "char_end": 0}
  assert _prediction(SPAN_COLUMNS, nothing).spans == ()


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
