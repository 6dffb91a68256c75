"""The selection.json of a model directory."""

import pytest

from bert_span.presets.selection import (
  read_selection,
  selection_words,
  write_selection,
)

_SELECTION = {"step": 300, "metric": "f1", "scores": {"f1": 72.2749, "em": 61}}


def test_a_selection_is_read_as_it_was_written_and_can_be_removed(tmp_path):
  write_selection(str(tmp_path), None)
  assert read_selection(tmp_path) is None
  assert selection_words(tmp_path) == ""
  write_selection(str(tmp_path), {**_SELECTION, "more": 1})
  assert read_selection(tmp_path) == _SELECTION
  assert selection_words(tmp_path) == ", the best by f1: step 300, f1 72.275"
  write_selection(str(tmp_path), None)
  assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
  "content",
  [
    *("{", "[]", "7", '{"step": 1, "metric": "f1"}'),
    '{"step": 1, "metric": "em", "scores": {"f1": 2}}',
    '{"step": 1, "metric": "f1", "scores": {"f1": "high"}}',
    '{"step": 1, "metric": ["f1"], "scores": {"f1": 2}}',
  ],
)
def test_a_damaged_selection_is_refused_by_its_path(tmp_path, content):
  path = tmp_path / "selection.json"
  path.write_text(content)
  with pytest.raises(ValueError, match=str(path)):
    read_selection(tmp_path)
