"""Columns of outputs become rows."""

import pytest

from bert_span.client.predict_api import rows_of_columns


def test_rows_of_columns_have_texts_instead_of_bytes():
  columns = {"text": ["é".encode(), b""], "list": [[b"a", b"b"], []]}
  rows = list(rows_of_columns(columns | {"score": [0.5, 2]}))
  assert rows == [
    {"text": "é", "list": ["a", "b"], "score": 0.5},
    {"text": "", "list": [], "score": 2},
  ]


def test_columns_of_different_lengths_are_an_error():
  with pytest.raises(ValueError):
    list(rows_of_columns({"a": [1, 2], "b": [1]}))
