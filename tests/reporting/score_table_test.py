"""Tables for the terminal; tests of jobs and programs print scores."""

from bert_span.reporting.score_table import text_table


def test_columns_are_aligned_and_texts_are_no_markup():
  rows = [("", "b"), ("[red]a[/red] :+1:", "12"), ("日本", "3")]
  assert text_table(rows).splitlines() == [
    "                    b",
    "[red]a[/red] :+1:  12",
    "日本                3",
  ]
