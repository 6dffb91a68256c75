"""Sequences out of sentences."""

import numpy as np
import pytest

from bert_span.pretraining.corpus.sentence_packing import SentencePacker

# Id 9 continues a word.
_CONTINUES = np.array([False] * 9 + [True])


def pack(room, *sentences):
  packer = SentencePacker(room, _CONTINUES)
  blocks = []
  for sentence in sentences:
    blocks += packer.add(np.array(sentence, np.int32))
  return [block.tolist() for block in [*blocks, *packer.end_document()]]


def test_the_module_s_example():
  sentences = [[1] * 3, [2] * 2, [3] * 4, [4] * 8]
  assert pack(6, *sentences) == [
    [1, 1, 1, 2, 2],
    [3, 3, 3, 3],
    [4] * 6,
    [4, 4],
  ]


def test_sentences_fill_a_sequence_to_the_last_token():
  assert pack(4, [1, 1], [2, 2], [3]) == [[1, 1, 2, 2], [3]]


def test_what_follows_a_split_sentence_joins_its_rest():
  assert pack(3, [1, 1, 1, 1], [2, 2], [3]) == [[1, 1, 1], [1, 2, 2], [3]]


def test_a_split_falls_between_words():
  assert pack(3, [1, 1, 2, 9, 3]) == [[1, 1], [2, 9, 3]]


def test_a_word_longer_than_the_room_is_split_itself():
  assert pack(3, [1, 9, 9, 9, 9, 2]) == [[1, 9, 9], [9, 9, 2]]


def test_no_sequence_reaches_over_the_end_of_a_document():
  packer = SentencePacker(10, _CONTINUES)
  assert packer.add(np.array([1, 1], np.int32)) == []
  (first,) = packer.end_document()
  assert packer.add(np.array([2], np.int32)) == []
  (second,) = packer.end_document()
  assert (first.tolist(), second.tolist()) == ([1, 1], [2])
  assert packer.end_document() == []


def test_sentences_without_tokens_are_nothing():
  assert pack(4, [], [1], []) == [[1]]
  assert pack(4, []) == []


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
