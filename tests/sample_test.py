"""The embedded sample is sound SQuAD 2.0 data of the promised size."""

import importlib.resources
import json
import re
import unicodedata

import numpy as np
import pytest

from bert_span.squad.findings import FindingKind
from bert_span.squad.lint.linter import lint_squad_file

_FOLDER = importlib.resources.files("bert_span") / "sample"
_SPLITS = ("train", "dev")


def _words(text):
  return len(text.split())


def _paragraphs(split):
  """Pairs of a passage and its questions."""
  articles = json.loads((_FOLDER / f"{split}.json").read_text("utf-8"))["data"]
  paragraphs = (p for article in articles for p in article["paragraphs"])
  return [(paragraph["context"], paragraph["qas"]) for paragraph in paragraphs]


@pytest.mark.parametrize("split", _SPLITS)
def test_a_file_of_squad_2_has_nothing_to_correct(split):
  path = _FOLDER / f"{split}.json"
  text, findings = path.read_text("utf-8"), lint_squad_file(str(path)).findings
  legal = {FindingKind.UNANSWERABLE, FindingKind.SEVERAL_ANSWERS}
  assert {finding.kind for finding in findings} <= legal
  assert unicodedata.is_normalized("NFC", text)
  before = []  # What is before each first answer, in its passage.
  for context, questions in _paragraphs(split):
    for string in (context, *(question["question"] for question in questions)):
      assert string == string.strip()
      assert not re.search(r"[ \t]{2,}|\n\s|\s\n", string), string[:60]
    for answers in (question["answers"] for question in questions):
      for text, start in ((a["text"], a["answer_start"]) for a in answers):
        around = context[max(start - 1, 0) : start + len(text) + 1]
        assert re.fullmatch(rf"\W?{re.escape(text)}\W?", around), around
      before += [context[: answer["answer_start"]] for answer in answers[:1]]
  # Some answers are deep or after long characters.
  assert sum(_words(text) > 400 for text in before) >= 4
  assert sum(not text.isascii() for text in before) >= 10


def test_the_sample_has_the_promised_size():
  readme, counts = (_FOLDER / "README.md").read_text("utf-8"), []
  for split in _SPLITS:
    paragraphs = _paragraphs(split)
    questions = [question for _, qas in paragraphs for question in qas]
    num_impossible = sum(question["is_impossible"] for question in questions)
    num_long = sum(_words(context) > 400 for context, _ in paragraphs)
    row = (len(paragraphs), len(questions), num_impossible, num_long)
    assert f"| {split}.json | {' | '.join(map(str, row))} |" in readme
    counts.append(row)
    # Dev questions have differing answers, training ones do not.
    texts = [{answer["text"] for answer in q["answers"]} for q in questions]
    num_differing = sum(len(different) > 1 for different in texts)
    assert num_differing >= 20 if split == "dev" else num_differing == 0
  passages, questions, impossible, long_passages = np.sum(counts, axis=0)
  assert passages >= 40 and questions >= 250 and long_passages >= 6
  assert 0.15 <= impossible / questions <= 0.20
