"""Text as blocks, and finding a place in it again."""

import dataclasses
import itertools

import numpy as np
import pytest

from bert_span.pretraining.block_stream import (
  BlockPlace,
  ChunkPlaces,
  pack_sentences,
)
from bert_span.pretraining.text_sources import TextFile
from tests.support.training import PRETRAINING_INPUT, VOCABULARY, write_corpus

_START = BlockPlace()


def tokens(blocks):
  return [ids.tolist() for _, ids in blocks]


def test_blocks_hold_whole_sentences_of_one_document(tmp_path):
  path = tmp_path / "a.txt"
  path.write_text("ak al\nam\nan ao ap\n\naq\n\n\nar bk bl bm bn\n")
  pretraining_input = dataclasses.replace(PRETRAINING_INPUT, max_seq_length=6)
  stream = pretraining_input.stream([TextFile(str(path))])
  blocks = tokens(stream.epoch_blocks(_START))
  assert [" ".join(VOCABULARY[i] for i in block) for block in blocks] == [
    *("ak al am", "an ao ap", "aq", "ar bk bl bm", "bn")
  ]


def test_an_epoch_holds_every_token_in_its_own_order_of_files(tmp_path):
  sources = write_corpus(tmp_path, num_files=6, documents=2)
  blocks = tokens(PRETRAINING_INPUT.stream(sources).epoch_blocks(_START))
  sentences = (text for source in sources for _, text in source.sentences())
  words = " ".join(sentences).split()
  assert [VOCABULARY[i] for block in blocks for i in block] == words
  stream = PRETRAINING_INPUT.stream(sources, seed=3)
  epochs = [
    tokens(stream.epoch_blocks(BlockPlace(epoch=epoch))) for epoch in range(4)
  ]
  assert len({str(shuffled) for shuffled in epochs}) > 1
  assert all(sorted(shuffled) == sorted(blocks) for shuffled in epochs)


@pytest.mark.parametrize("seed", [None, 4])
def test_the_stream_goes_on_from_any_chunk_as_it_did(tmp_path, seed):
  sources = write_corpus(tmp_path)
  stream = PRETRAINING_INPUT.stream(sources, seed)
  chunks = list(itertools.islice(stream.chunks(_START), 60))
  places = [place for chunk in chunks for place, _ in chunk]
  assert [place.stream_block for place in places] == list(range(len(places)))
  assert places[-1].epoch >= 2
  assert any(chunk[0][0].document_block for chunk in chunks)
  for first in range(0, 50, 7):
    again = stream.chunks(chunks[first][0][0])
    for found, expected in zip(again, chunks[first : first + 10], strict=False):
      assert str(found) == str(expected)


def test_text_without_tokens_is_refused(tmp_path):
  (tmp_path / "a.txt").write_text("\n \n")
  stream = PRETRAINING_INPUT.stream([TextFile(str(tmp_path / "a.txt"))])
  for chunks in (stream.chunks(_START), stream.epoch_blocks(_START)):
    with pytest.raises(ValueError, match=r"a\.txt"):
      next(chunks)


def test_noted_places_are_found_again(tmp_path):
  path = str(tmp_path / "places.jsonl")
  key = {"masking": {"seed": 1}}
  places = ChunkPlaces(path, key)
  noted = [BlockPlace(10 * i, 0, 10 * i, 0, i, 1) for i in range(1, 4)]
  for place in (*noted, noted[0]):  # The last is read again: nothing new.
    places.note(place)
  again = ChunkPlaces(path, key)
  found = [again.last_before(block) for block in (5, 10, 29, 10_000)]
  assert found == [_START, *noted]


def test_notes_that_are_damaged_or_of_something_else_are_written_anew(tmp_path):
  path = tmp_path / "places.jsonl"
  place = BlockPlace(10, 0, 10, 0, 1, 1)
  for content in (
    *("[20, 0, 2", "[]", '{"key": {"format": 1, "seed": 1}, "places": [[1, 2'),
    '{"key": {"format": 1, "seed": 2}, "places": [[20, 0, 20, 0, 1, 1]]}',
    '{"key": {"seed": 1}, "places": [[20, 0, 20, 0, 1, 1]]}',  # no format
    *('{"key": 5, "places": []}', '{"key": {"format": 1, "seed": 1}}'),
    '{"key": {"format": 1, "seed": 1}, "places": 5}',
    '{"key": {"format": 1, "seed": 1}, "places": [["a"]]}',
  ):
    path.write_text(content)
    places = ChunkPlaces(str(path), {"seed": 1})
    assert places.last_before(99) == _START
    places.note(place)
    assert ChunkPlaces(str(path), {"seed": 1}).last_before(99) == place


# Id 9 continues a word.
_CONTINUES = np.array([False] * 9 + [True])


def pack(room, *sentences):
  arrays = [np.array(sentence, np.int32) for sentence in sentences]
  return [b.tolist() for b in pack_sentences(arrays, room, _CONTINUES)]


@pytest.mark.parametrize(
  ("room", "sentences", "sequences"),
  [
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


@pytest.mark.parametrize("room", [1, 2, 5, 7])
def test_every_token_comes_out_once_and_in_order(room):
  rng = np.random.default_rng(room)
  sentences = [rng.integers(0, 10, rng.integers(0, 20)) for _ in range(50)]
  blocks = pack(room, *sentences)
  assert np.concatenate(blocks).tolist() == np.concatenate(sentences).tolist()
  assert all(1 <= len(block) <= room for block in blocks)
