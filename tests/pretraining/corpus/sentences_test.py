"""Sentences of a document, and sequences out of them."""

import re

import numpy as np
import pytest

from bert_span.pretraining.corpus.sentences import (
  SentencePacker,
  split_sentences,
)


@pytest.mark.parametrize(
  ("document", "sentences"),
  [
    (
      'He came at 5 p.m. on Monday. "Why?" Nobody knew.',
      ["He came at 5 p.m. on Monday.", '"Why?"', "Nobody knew."],
    ),
    (
      "It grew 3.5 percent. (It did.) Yes!",
      ["It grew 3.5 percent.", "(It did.)", "Yes!"],
    ),
    (
      "One line\nand another\r\n\n and a third",
      ["One line", "and another", "and a third"],
    ),
    (
      "我来了。他走了！你呢？“好。”他说",
      ["我来了。", "他走了！", "你呢？", "“好。”", "他说"],
    ),
    (
      "École à Paris. Ça va? été comme hiver. Étienne dort.",
      ["École à Paris.", "Ça va? été comme hiver.", "Étienne dort."],
    ),
    ("", []),
    (" \n\t ", []),
    ("no end", ["no end"]),
  ],
)
def test_sentences(document, sentences):
  assert split_sentences(document) == sentences


def test_nothing_but_white_space_is_lost(shared_data, read_json):
  articles = read_json(shared_data / "squad1_dev_half.json")["data"]
  contexts = [p["context"] for a in articles[:20] for p in a["paragraphs"]]
  for context in contexts:
    joined = "".join(split_sentences(context))
    assert re.sub(r"\s", "", joined) == re.sub(r"\s", "", context)
  assert sum(len(split_sentences(c)) for c in contexts) > 3 * len(contexts)


# Id 9 continues a word.
_CONTINUES = np.array([False] * 9 + [True])


def pack(room, *sentences):
  packer = SentencePacker(room, _CONTINUES)
  blocks = []
  for sentence in sentences:
    blocks += packer.add(np.array(sentence, np.int32))
  return [block.tolist() for block in [*blocks, *packer.end_document()]]


@pytest.mark.parametrize(
  ("room", "sentences", "sequences"),
  [
    # The class's example.
    (
      6,
      [[1] * 3, [2] * 2, [3] * 4, [4] * 8],
      [[1, 1, 1, 2, 2], [3, 3, 3, 3], [4] * 6, [4, 4]],
    ),
    # Sentences fill a sequence to the last token.
    (4, [[1, 1], [2, 2], [3]], [[1, 1, 2, 2], [3]]),
    # The next sentences join the rest of a split one.
    (3, [[1, 1, 1, 1], [2, 2], [3]], [[1, 1, 1], [1, 2, 2], [3]]),
    # A split is between words, unless a word is longer than the room.
    (3, [[1, 1, 2, 9, 3]], [[1, 1], [2, 9, 3]]),
    (3, [[1, 9, 9, 9, 9, 2]], [[1, 9, 9], [9, 9, 2]]),
    # Sentences without tokens add nothing.
    (4, [[], [1], []], [[1]]),
    (4, [[]], []),
  ],
)
def test_sentences_are_packed_into_sequences(room, sentences, sequences):
  assert pack(room, *sentences) == sequences


def test_no_sequence_reaches_over_the_end_of_a_document():
  packer = SentencePacker(10, _CONTINUES)
  assert packer.add(np.array([1, 1], np.int32)) == []
  (first,) = packer.end_document()
  assert packer.add(np.array([2], np.int32)) == []
  (second,) = packer.end_document()
  assert (first.tolist(), second.tolist()) == ([1, 1], [2])
  assert packer.end_document() == []


@pytest.mark.parametrize("room", [1, 2, 5, 7])
def test_every_token_comes_out_once_and_in_order(room):
  rng = np.random.default_rng(room)
  sentences = [rng.integers(0, 10, rng.integers(0, 20)) for _ in range(50)]
  blocks = pack(room, *sentences)
  assert [token for block in blocks for token in block] == (
    np.concatenate(sentences).tolist()
  )
  assert all(1 <= len(block) <= room for block in blocks)


def test_no_room_is_refused():
  with pytest.raises(ValueError, match="room=0"):
    SentencePacker(0, _CONTINUES)
