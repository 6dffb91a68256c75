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
_PARAGRAPHS, _QUESTIONS = {}, {}
for _split in ("train", "dev"):
  _data = json.loads((_FOLDER / f"{_split}.json").read_text("utf-8"))["data"]
  _PARAGRAPHS[_split] = [p for a in _data for p in a["paragraphs"]]
  # Pairs (context, question) in the file's order.
  _QUESTIONS[_split] = [
    (p["context"], qa) for p in _PARAGRAPHS[_split] for qa in p["qas"]
  ]
both = pytest.mark.parametrize("split", _QUESTIONS)


def _words(text):
  return len(text.split())


@both
def test_a_file_of_squad_2_has_nothing_to_correct(split):
  path = _FOLDER / f"{split}.json"
  text, findings = path.read_text("utf-8"), lint_squad_file(str(path)).findings
  legal = {FindingKind.UNANSWERABLE, FindingKind.SEVERAL_ANSWERS}
  assert {finding.kind for finding in findings} <= legal
  printed = json.dumps(json.loads(text), ensure_ascii=False, indent=1)
  assert text == printed + "\n"
  assert unicodedata.is_normalized("NFC", text)
  for context, question in _QUESTIONS[split]:
    assert question["id"].startswith(f"{split}-")
    for string in (context, question["question"]):
      assert string == string.strip()
      assert not re.search(r"[ \t]{2,}|\n\s|\s\n", string), string[:60]


@both
def test_answers_are_whole_words_some_deep_or_after_long_characters(split):
  before = []
  for context, question in _QUESTIONS[split]:
    for answer in question["answers"]:
      text, start = answer["text"], answer["answer_start"]
      around = context[max(start - 1, 0) : start + len(text) + 1]
      pattern = rf"(^|\W){re.escape(text)}(\W|$)"
      assert re.search(pattern, around), (question["id"], around)
    before += [context[: a["answer_start"]] for a in question["answers"][:1]]
  assert sum(_words(text) > 400 for text in before) >= 4
  assert sum(not text.isascii() for text in before) >= 10


def test_the_sample_has_the_promised_size():
  readme, counts = (_FOLDER / "README.md").read_text("utf-8"), []
  for split, pairs in _QUESTIONS.items():
    num_impossible = sum(question["is_impossible"] for _, question in pairs)
    num_long = sum(_words(p["context"]) > 400 for p in _PARAGRAPHS[split])
    row = (len(_PARAGRAPHS[split]), len(pairs), num_impossible, num_long)
    assert f"| {split}.json | {' | '.join(map(str, row))} |" in readme
    counts.append(row)
  passages, questions, impossible, long_passages = np.sum(counts, axis=0)
  assert passages >= 40 and questions >= 250 and long_passages >= 6
  assert 0.15 <= impossible / questions <= 0.20
  # Dev questions have differing answers, training ones do not.
  assert max(len(qa["answers"]) for _, qa in _QUESTIONS["train"]) == 1
  texts = [{a["text"] for a in qa["answers"]} for _, qa in _QUESTIONS["dev"]]
  assert sum(len(different) > 1 for different in texts) >= 20
