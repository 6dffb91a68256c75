"""Sentences of a document."""

import re

import pytest

from bert_span.pretraining.corpus.sentences import split_sentences


@pytest.mark.parametrize(
  ("document", "sentences"),
  [
    (
      'He came at 5 p.m. on Monday. "Why?" Nobody knew.',
      ["He came at 5 p.m. on Monday.", '"Why?"', "Nobody knew."],
    ),
    ("It grew 3.5 percent. (It did.) Yes!", None),
    ("One line\nand another\r\n\n and a third", None),
    ("我来了。他走了！你呢？“好。”他说", None),
    ("École à Paris. Ça va? été comme hiver. Étienne dort.", None),
    ("", []),
    (" \n\t ", []),
    ("no end", ["no end"]),
  ],
)
def test_sentences(document, sentences):
  expected = {
    "It grew 3.5 percent. (It did.) Yes!": [
      *("It grew 3.5 percent.", "(It did.)", "Yes!")
    ],
    "One line\nand another\r\n\n and a third": [
      *("One line", "and another", "and a third")
    ],
    "我来了。他走了！你呢？“好。”他说": [
      *("我来了。", "他走了！", "你呢？", "“好。”", "他说")
    ],
    "École à Paris. Ça va? été comme hiver. Étienne dort.": [
      *("École à Paris.", "Ça va? été comme hiver.", "Étienne dort.")
    ],
  }
  if sentences is None:
    sentences = expected[document]
  assert split_sentences(document) == sentences


def test_nothing_but_white_space_is_lost(shared_data, read_json):
  articles = read_json(shared_data / "squad1_dev_half.json")["data"]
  contexts = [p["context"] for a in articles[:20] for p in a["paragraphs"]]
  for context in contexts:
    joined = "".join(split_sentences(context))
    assert re.sub(r"\s", "", joined) == re.sub(r"\s", "", context)
  assert sum(len(split_sentences(c)) for c in contexts) > 3 * len(contexts)
