"""The best model's directory, and what it says of the choice."""

import pytest

from bert_span.training.run.best_model import (
  BestModel,
  read_selection,
  selection_words,
  write_selection,
)

_SELECTION = {"step": 300, "metric": "f1", "scores": {"f1": 72.268, "em": 6.0}}


def test_a_model_says_how_it_was_chosen(tmp_path):
  best_model = BestModel(
    str(tmp_path), lambda selection: write_selection(tmp_path, selection)
  )
  best_model.save(300, "f1", _SELECTION["scores"])
  assert read_selection(tmp_path) == _SELECTION
  assert selection_words(tmp_path) == ", the best by f1: step 300, f1 72.268"
  best_model.check_kept()


def test_a_model_that_was_not_chosen_says_nothing(tmp_path):
  write_selection(tmp_path, _SELECTION)
  write_selection(tmp_path, None)
  assert list(tmp_path.iterdir()) == []
  write_selection(tmp_path, None)
  assert read_selection(tmp_path) is None
  assert selection_words(tmp_path) == ""


def test_a_best_model_that_is_gone_is_told(tmp_path):
  best_model = BestModel(str(tmp_path / "model"), lambda selection: None)
  with pytest.raises(ValueError, match=r"gone from .*model.* --output_dir"):
    best_model.check_kept()


@pytest.mark.parametrize("text", ["{", "[]", '{"step": 1}'])
def test_a_damaged_file_is_named(tmp_path, text):
  (tmp_path / "selection.json").write_text(text)
  with pytest.raises(ValueError, match=r"selection\.json: not the"):
    read_selection(tmp_path)
