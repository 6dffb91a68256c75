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
_DATA = {split: json.loads(text)["data"] for split, text in _TEXTS.items()}
_PARAGRAPHS = {
  split: [paragraph for article in data for paragraph in article["paragraphs"]]
  for split, data in _DATA.items()
}
# Pairs (context, question) in the file's order.
_QUESTIONS = {
  split: [(p["context"], question) for p in paragraphs for question in p["qas"]]
  for split, paragraphs in _PARAGRAPHS.items()
}
both = pytest.mark.parametrize("split", _TEXTS)


def _words(text):
  return len(text.split())


def _counts(split):
  """Passages, questions, unanswerable ones, passages over 400 words."""
  questions = [question for _, question in _QUESTIONS[split]]
  return (
    len(_PARAGRAPHS[split]),
    len(questions),
    sum(question["is_impossible"] for question in questions),
    sum(_words(p["context"]) > 400 for p in _PARAGRAPHS[split]),
  )


@both
def test_a_file_of_squad_2_has_nothing_to_correct(split):
  dataset = json.loads(_TEXTS[split])
  assert (set(dataset), dataset["version"]) == ({"version", "data"}, "v2.0")
  findings = lint_squad_file(str(_FOLDER / f"{split}.json")).findings
  legal = {FindingKind.UNANSWERABLE, FindingKind.SEVERAL_ANSWERS}
  assert {finding.kind for finding in findings} <= legal
  for _, question in _QUESTIONS[split]:
    assert set(question) == {"id", "question", "answers", "is_impossible"}
    assert question["question"].endswith("?")


@both
def test_answers_are_whole_words_some_deep_or_after_long_characters(split):
  for context, question in _QUESTIONS[split]:
    for answer in question["answers"]:
      text, start = answer["text"], answer["answer_start"]
      assert text == text.strip(), question["id"]
      around = context[max(start - 1, 0) : start + len(text) + 1]
      pattern = rf"(^|\W){re.escape(text)}(\W|$)"
      assert re.search(pattern, around), (question["id"], around)
  before = [
    context[: answer["answer_start"]]
    for context, question in _QUESTIONS[split]
    for answer in question["answers"][:1]
  ]
  assert sum(_words(text) > 400 for text in before) >= 4
  assert sum(not text.isascii() for text in before) >= 10


def test_the_sample_has_the_promised_size():
  dev = _counts("dev")
  passages, questions, impossible, long_passages = map(
    sum, zip(_counts("train"), dev, strict=True)
  )
  assert passages >= 40 and questions >= 250 and long_passages >= 6
  assert 0.15 <= impossible / questions <= 0.20
  assert dev[0] >= 10 and dev[1] >= 60 and dev[3] >= 2
  # Dev questions have differing answers, training ones do not.
  assert max(len(qa["answers"]) for _, qa in _QUESTIONS["train"]) == 1
  texts = [{a["text"] for a in qa["answers"]} for _, qa in _QUESTIONS["dev"]]
  assert sum(len(different) > 1 for different in texts) >= 20


def test_nothing_is_in_the_sample_twice():
  both_splits = [each for part in _PARAGRAPHS.values() for each in part]
  contexts = [paragraph["context"] for paragraph in both_splits]
  assert len(contexts) == len(set(contexts))
  for split, pairs in _QUESTIONS.items():
    assert all(qa["id"].startswith(f"{split}-") for _, qa in pairs)


@both
def test_files_are_written_in_one_way_and_counted_in_the_readme(split):
  text = _TEXTS[split]
  printed = json.dumps(json.loads(text), ensure_ascii=False, indent=1)
  assert text == printed + "\n"
  assert unicodedata.is_normalized("NFC", text)
  for context, question in _QUESTIONS[split]:
    for string in (context, question["question"]):
      assert string == string.strip()
      assert not re.search(r"[ \t]{2,}|\n\s|\s\n", string), string[:60]
  row = " | ".join(map(str, _counts(split)))
  readme = (_FOLDER / "README.md").read_text("utf-8")
  assert f"| {split}.json | {row} |" in readme
