"""The embedded sample is sound SQuAD 2.0 data of the promised size."""

import importlib.resources
import json
import re

import pytest

from bert_span.lint.linter import lint_squad_file
from bert_span.squad.findings import FindingKind

_FOLDER = importlib.resources.files("bert_span") / "sample"
_SPLITS = ("train", "dev")


def _paragraphs(split):
  """Pairs of a passage and its questions."""
  articles = json.loads((_FOLDER / f"{split}.json").read_text("utf-8"))["data"]
  paragraphs = (p for article in articles for p in article["paragraphs"])
  return [(paragraph["context"], paragraph["qas"]) for paragraph in paragraphs]


@pytest.mark.parametrize("split", _SPLITS)
def test_a_file_of_squad_2_has_nothing_to_correct(split):
  findings = lint_squad_file(str(_FOLDER / f"{split}.json")).findings
  legal = {FindingKind.UNANSWERABLE, FindingKind.SEVERAL_ANSWERS}
  assert {finding.kind for finding in findings} <= legal
  for context, questions in _paragraphs(split):
    for answers in (question["answers"] for question in questions):
      for text, start in ((a["text"], a["answer_start"]) for a in answers):
        around = context[max(start - 1, 0) : start + len(text) + 1]
        assert re.fullmatch(rf"\W?{re.escape(text)}\W?", around), around
