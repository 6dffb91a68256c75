"""The card of a saved model, and which cards a later save keeps."""

import pytest

from bert_span import SpanExtractor
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.presets.model_card import is_written_here
from bert_span.presets.provenance import training_run
from tests.support.models import shared_extractor, tiny_extractor

_SELECTION = {
  "step": 300,
  "metric": "f1",
  "scores": {"exact": 61.5, "f1": 72.27},
}


def _card(directory):
  return (directory / "README.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("kind", [SpanExtractor, BioExtractor])
def test_the_card_says_what_the_model_is(tmp_path, kind):
  extractor = shared_extractor(kind=kind)
  extractor.save_to_preset(tmp_path / "model", _SELECTION)
  card = _card(tmp_path / "model")
  _, head, text = card.split("---\n")
  assert head.splitlines() == [
    "library_name: keras-hub",
    "pipeline_tag: question-answering",
  ]
  code = text.split("```python\n")[1].split("```")[0]
  model = str(tmp_path / "model")
  names = {}
  exec(code.replace("hf://OWNER/NAME", model), names)
  assert type(names["extractor"]) is kind
  assert "f1 72.27" in text and "step 300" in text
  assert "Windows of 32 tokens" in text and "lower-cased" in text


def test_the_card_says_whether_a_question_may_have_no_answer(tmp_path):
  cards = []
  for version_2 in (False, True):
    directory = tmp_path / str(version_2)
    shared_extractor(version_2).save_to_preset(directory)
    cards.append("no answer" in _card(directory))
  assert cards == [False, True]


def test_a_model_without_a_trained_head_says_so(tmp_path):
  extractor = tiny_extractor()
  extractor.head_is_trained = False
  extractor.save_to_preset(tmp_path / "model")
  assert "pipeline_tag" not in _card(tmp_path / "model")
  assert "fine-tune" in _card(tmp_path / "model")


def test_an_edited_card_is_kept_and_another_is_written_again(tmp_path):
  extractor, directory = shared_extractor(), tmp_path / "model"
  extractor.save_to_preset(directory)
  assert is_written_here(directory / "README.md")
  assert "72.27" not in _card(directory)
  extractor.save_to_preset(directory, _SELECTION)
  assert "72.27" in _card(directory)
  edited = _card(directory).replace("---\n", "---\nlicense: mit\n", 1)
  (directory / "README.md").write_text(edited, encoding="utf-8")
  assert not is_written_here(directory / "README.md")
  extractor.save_to_preset(directory)
  assert _card(directory) == edited
  # Exports quote what a person wrote.
  assert "license: mit" in training_run(str(directory))["card"]


def test_exports_do_not_quote_a_card_that_nobody_edited(tmp_path):
  shared_extractor().save_to_preset(tmp_path / "model")
  (tmp_path / "README.md").write_text("# Mine")
  assert training_run(str(tmp_path / "model"))["card"] == ["# Mine"]
