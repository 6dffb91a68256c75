"""The embedded sample is sound SQuAD 2.0 data of the promised size."""

import importlib.resources
import json
import re
import unicodedata

import pytest

from bert_span.squad.findings import FindingKind
from bert_span.squad.lint.linter import lint_squad_file

_FOLDER = importlib.resources.files("bert_span") / "sample"
_TEXTS = {
  split: (_FOLDER / f"{split}.json").read_text("utf-8")
  for split in ("train", "dev")
}
_PARAGRAPHS = {
  split: [p for a in json.loads(text)["data"] for p in a["paragraphs"]]
  for split, text in _TEXTS.items()
}
# Pairs (context, question) in the file's order.
_QUESTIONS = {
  split: [(p["context"], question) for p in paragraphs for question in p["qas"]]
  for split, paragraphs in _PARAGRAPHS.items()
}
both = pytest.mark.parametrize("split", _TEXTS)


def _words(text):
  return len(text.split())


@both
def test_a_file_of_squad_2_has_nothing_to_correct(split):
  text = _TEXTS[split]
  findings = lint_squad_file(str(_FOLDER / f"{split}.json")).findings
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
  counts = {
    split: (
      len(_PARAGRAPHS[split]),
      len(pairs),
      sum(question["is_impossible"] for _, question in pairs),
      sum(_words(p["context"]) > 400 for p in _PARAGRAPHS[split]),
    )
    for split, pairs in _QUESTIONS.items()
  }
  passages, questions, impossible, long_passages = map(
    sum, zip(*counts.values(), strict=True)
  )
  assert passages >= 40 and questions >= 250 and long_passages >= 6
  assert 0.15 <= impossible / questions <= 0.20
  readme = (_FOLDER / "README.md").read_text("utf-8")
  for split, row in counts.items():
    assert f"| {split}.json | {' | '.join(map(str, row))} |" in readme
  # Dev questions have differing answers, training ones do not.
  assert max(len(qa["answers"]) for _, qa in _QUESTIONS["train"]) == 1
  texts = [{a["text"] for a in qa["answers"]} for _, qa in _QUESTIONS["dev"]]
  assert sum(len(different) > 1 for different in texts) >= 20
