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


def test_the_sample_has_the_promised_size():
  readme = (_FOLDER / "README.md").read_text("utf-8")
  for split in _SPLITS:
    paragraphs = _paragraphs(split)
    questions = [question for _, qas in paragraphs for question in qas]
    num_impossible = sum(question["is_impossible"] for question in questions)
    num_long = sum(len(context.split()) > 400 for context, _ in paragraphs)
    row = (len(paragraphs), len(questions), num_impossible, num_long)
    assert f"| {split}.json | {' | '.join(map(str, row))} |" in readme
