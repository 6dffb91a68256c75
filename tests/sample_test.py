"""The embedded sample is sound SQuAD 2.0 data of the promised size."""

import importlib.resources
import json
import re
import unicodedata

import pytest

_FOLDER = importlib.resources.files("bert_span") / "sample"
_SPLITS = ("train", "dev")


def _file_text(name):
  return (_FOLDER / name).read_text(encoding="utf-8")


def _paragraphs(split):
  dataset = json.loads(_file_text(f"{split}.json"))
  return [
    paragraph
    for article in dataset["data"]
    for paragraph in article["paragraphs"]
  ]


def _questions(split):
  """Pairs (context, question) of a split, in the file's order."""
  return [
    (paragraph["context"], question)
    for paragraph in _paragraphs(split)
    for question in paragraph["qas"]
  ]


def _words(text):
  return len(text.split())


def _counts(split):
  """Passages, questions, unanswerable ones, passages over 400 words."""
  contexts = [paragraph["context"] for paragraph in _paragraphs(split)]
  questions = [question for _, question in _questions(split)]
  return (
    len(contexts),
    len(questions),
    sum(question["is_impossible"] for question in questions),
    sum(_words(context) > 400 for context in contexts),
  )


@pytest.mark.parametrize("split", _SPLITS)
def test_files_have_the_keys_and_types_of_squad_2(split):
  dataset = json.loads(_file_text(f"{split}.json"))
  assert set(dataset) == {"version", "data"}
  assert dataset["version"] == "v2.0"
  for article in dataset["data"]:
    assert set(article) == {"title", "paragraphs"}
    assert article["title"].strip()
    for paragraph in article["paragraphs"]:
      assert set(paragraph) == {"context", "qas"}
      assert paragraph["qas"]
  for _, question in _questions(split):
    assert set(question) == {"id", "question", "answers", "is_impossible"}
    assert isinstance(question["is_impossible"], bool)
    assert question["question"].endswith("?")
    for answer in question["answers"]:
      assert set(answer) == {"text", "answer_start"}
      assert isinstance(answer["answer_start"], int)


@pytest.mark.parametrize("split", _SPLITS)
def test_answers_are_whole_words_at_their_answer_start(split):
  for context, question in _questions(split):
    assert question["is_impossible"] == (not question["answers"]), question
    for answer in question["answers"]:
      text, start = answer["text"], answer["answer_start"]
      assert text and text == text.strip(), question["id"]
      assert context.startswith(text, start), question["id"]
      around = context[max(start - 1, 0) : start + len(text) + 1]
      pattern = rf"(^|\W){re.escape(text)}(\W|$)"
      assert re.search(pattern, around), (question["id"], around)


def test_training_questions_have_at_most_one_answer():
  assert max(len(qa["answers"]) for _, qa in _questions("train")) == 1


def test_some_dev_questions_have_differing_answers():
  differing = [
    question["id"]
    for _, question in _questions("dev")
    if len({answer["text"] for answer in question["answers"]}) > 1
  ]
  assert len(differing) >= 20


def test_the_sample_has_the_promised_size():
  train, dev = _counts("train"), _counts("dev")
  passages, questions, impossible, long_passages = (
    in_train + in_dev for in_train, in_dev in zip(train, dev, strict=True)
  )
  assert passages >= 40
  assert questions >= 250
  assert 0.15 <= impossible / questions <= 0.20
  assert long_passages >= 6
  assert dev[0] >= 10 and dev[1] >= 60 and dev[3] >= 2


@pytest.mark.parametrize("split", _SPLITS)
def test_some_answers_are_deep_in_a_passage_or_after_long_characters(split):
  before = [
    context[: answer["answer_start"]]
    for context, question in _questions(split)
    for answer in question["answers"][:1]
  ]
  assert sum(_words(text) > 400 for text in before) >= 4
  assert sum(not text.isascii() for text in before) >= 10


def test_nothing_is_in_the_sample_twice():
  ids, contexts, titles = [], [], []
  for split in _SPLITS:
    asked = [(context, qa["question"]) for context, qa in _questions(split)]
    assert len(asked) == len(set(asked))
    split_ids = [question["id"] for _, question in _questions(split)]
    assert all(qas_id.startswith(f"{split}-") for qas_id in split_ids)
    ids += split_ids
    contexts += [paragraph["context"] for paragraph in _paragraphs(split)]
    dataset = json.loads(_file_text(f"{split}.json"))
    titles += [article["title"] for article in dataset["data"]]
  for values in (ids, contexts, titles):
    assert len(values) == len(set(values))


@pytest.mark.parametrize("split", _SPLITS)
def test_text_is_nfc_without_double_or_outer_blanks(split):
  text = _file_text(f"{split}.json")
  assert unicodedata.is_normalized("NFC", text)
  strings = [paragraph["context"] for paragraph in _paragraphs(split)]
  strings += [question["question"] for _, question in _questions(split)]
  for string in strings:
    assert string == string.strip()
    assert not re.search(r"[ \t]{2,}|\n\s|\s\n", string), string[:60]


@pytest.mark.parametrize("split", _SPLITS)
def test_files_are_printed_in_one_way_and_counted_in_the_readme(split):
  text = _file_text(f"{split}.json")
  printed = json.dumps(json.loads(text), ensure_ascii=False, indent=1)
  assert text == printed + "\n"
  row = " | ".join(str(count) for count in _counts(split))
  assert f"| {split}.json | {row} |" in _file_text("README.md")
