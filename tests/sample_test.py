"""The embedded sample is sound SQuAD 2.0 data."""

import importlib.resources
import re

import pytest

from bert_span.reporting.linter import lint_squad_file
from bert_span.squad.findings import FindingKind


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_file_of_squad_2_has_nothing_to_correct(split):
  sample = importlib.resources.files("bert_span") / "sample"
  linted = lint_squad_file(str(sample / f"{split}.json"))
  legal = {FindingKind.UNANSWERABLE, FindingKind.SEVERAL_ANSWERS}
  assert {finding.kind for finding in linted.findings} <= legal
  for example in linted.examples:
    for answer in example.answers:
      start, text = answer.char_start, answer.text
      around = example.context[max(start - 1, 0) : start + len(text) + 1]
      assert re.fullmatch(rf"\W?{re.escape(text)}\W?", around), around
