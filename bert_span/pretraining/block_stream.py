"""Text as an endless stream of blocks that can be entered anywhere.

A block is the text of one training sequence: consecutive sentences of one
document. Each epoch reads all sources, in its own order. The stream is cut into
chunks of some thousand blocks, and the places where chunks start are stored
(`ChunkPlaces`). From such a place the stream can be read without reading what
comes before. So memory does not grow with the corpus, and a continued run finds
its data as fast as it reads a chunk.
"""

import dataclasses
import itertools
import json
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_span.storage.utf8 import encodable

# The size of the tokenizer's batches, large enough that calls cost little.
_SENTENCES_PER_CALL = 512
_CHARACTERS_PER_CALL = 1 << 18


class ChunkPlace(NamedTuple):
  """Where in the stream a chunk starts."""

  stream_block: int = 0  # blocks before it in the whole stream
  epoch: int = 0
  block: int = 0  # blocks before it within the epoch
  source: int = 0  # number of the source, in the order of the epoch
  document: int = 0  # number of the document within the source
  document_block: int = 0  # blocks before it within the document


_START = ChunkPlace()


@dataclasses.dataclass(frozen=True)
class Chunk:
  """Consecutive blocks of one epoch, int32 [tokens] without special tokens."""

  place: ChunkPlace
  blocks: list

  @property
  def end(self):
    """Blocks of the whole stream up to its end."""
    return self.place.stream_block + len(self.blocks)


class BlockStream:
  """Reads the blocks of some sources, epoch after epoch.

  Args:
    sources: list of `TextFile` or `TfdsShard`.
    tokenizer: `WordPieceTokenizer`.
    max_seq_length: WordPieces in a sequence, [CLS] and [SEP] included.
    seed: of the order of the sources; None keeps it.
    chunk_blocks: blocks in a chunk; the last of an epoch may have fewer.
  """

  def __init__(
    self, sources, tokenizer, max_seq_length, seed=None, chunk_blocks=8192
  ):
    self._sources = sources
    self._tokenizer = tokenizer
    self._room = max_seq_length - 2
    self._continues = continuation_table(tokenizer.vocabulary)
    self._seed = seed
    self._chunk_blocks = chunk_blocks

  def chunks(self, place=_START):
    """Yields the `Chunk`s from a `ChunkPlace` on, without end."""
    while True:
      for chunk in self.epoch_chunks(place):
        yield chunk
        end = chunk.end
      place = ChunkPlace(end, place.epoch + 1)

  def epoch_chunks(self, place):
    """Yields the `Chunk`s from a `ChunkPlace` to the end of its epoch."""
    blocks = self._blocks(place)
    stream_block, block = place.stream_block, place.block
    while part := list(itertools.islice(blocks, self._chunk_blocks)):
      first = ChunkPlace(stream_block, place.epoch, block, *part[0][0])
      yield Chunk(first, [ids for _, ids in part])
      stream_block += len(part)
      block += len(part)
    if block == 0:
      names = ", ".join(source.path for source in self._sources[:3])
      raise ValueError(
        f"There is no text in {len(self._sources)} sources, the first ones are "
        f"{names}: no block of WordPieces can be made of them."
      )

  def _blocks(self, place):
    """Yields ((source, document, document_block), ids) from a place on."""
    order = np.arange(len(self._sources))
    if self._seed is not None:
      rng = np.random.default_rng([self._seed, place.epoch])
      order = rng.permutation(order)
    for number in range(place.source, len(order)):
      first_document = place.document if number == place.source else 0
      source = self._sources[order[number]]
      sentences = self._tokenized(source.sentences(first_document))
      for document, rows in itertools.groupby(sentences, lambda row: row[0]):
        blocks = pack_sentences(
          (ids for _, ids in rows), self._room, self._continues
        )
        for index, ids in enumerate(blocks):
          if (number, document, index) >= place[3:]:
            yield (number, document, index), ids

  def _tokenized(self, sentences):
    """Yields (document, int32 [tokens]) for every (document, sentence)."""
    sentences = iter(sentences)
    while batch := _for_one_call(sentences):
      texts = [encodable(sentence).encode("utf-8") for _, sentence in batch]
      ids = self._tokenizer(tf.constant(texts)).ids
      values, splits = ids.values.numpy(), ids.row_splits.numpy()
      for row, (document, _) in enumerate(batch):
        yield document, values[splits[row] : splits[row + 1]]


def _for_one_call(sentences):
  batch, characters = [], 0
  for row in sentences:
    batch.append(row)
    characters += len(row[1])
    if len(batch) == _SENTENCES_PER_CALL or characters > _CHARACTERS_PER_CALL:
      break
  return batch


def pack_sentences(sentences, room, continues):
  """Fills blocks with consecutive whole sentences of one document.

  With room for 6 tokens, sentences of 3, 2, 4 and 8 tokens become

      a a a b b | c c c c | d d d d d d | d d

  The block of "a" and "b" ends because "c" does not fit. "d" is longer than
  the room, so it starts a new block and is split between words. The next
  sentences of the document join its rest.

  Args:
    sentences: iterable of int32 [tokens].
    room: tokens that a block holds.
    continues: bool [vocab], see `continuation_table`.

  Yields:
    int32 [tokens], at least one token.
  """
  if room < 1:
    raise ValueError(
      f"A sequence must have room for a token. Received: room={room}"
    )
  block = np.empty(0, np.int32)
  for token_ids in sentences:
    if len(block) and len(block) + len(token_ids) > room:
      yield block
      block = block[:0]
    while len(token_ids) > room:
      # A word longer than the room is split as well.
      end = int(word_starts(token_ids[: room + 1], continues)[-1]) or room
      yield token_ids[:end]
      token_ids = token_ids[end:]
    block = np.concatenate([block, token_ids])
  if len(block):
    yield block


def continuation_table(vocabulary):
  """Whether each id continues a word, as "##ing" does: bool [vocab]."""
  return np.array(
    [token.startswith("##") and token != "##" for token in vocabulary]
  )


def word_starts(token_ids, continues):
  """Indices where words start, int64 [words].

  As in the original's whole word masking, punctuation marks are words. If a
  text is cut within a word, the rest of the word counts as a word.

  Example: "The mill ##er left ." has the word starts 0, 1, 3, 4.
  """
  starts = ~continues[token_ids]
  starts[:1] = True
  return np.flatnonzero(starts)


class ChunkPlaces:
  """The places where chunks start, in a file beside the checkpoints.

  Args:
    path: of the file, or None to store nothing.
    key: JSON value that the places depend on, the first line of the file.
      Places with another key are not used, and replaced.
  """

  def __init__(self, path, key):
    self._path = path
    self._key = json.loads(json.dumps(key))
    self._last = max(self._read(), default=None)

  def note(self, place):
    """Stores the place of a chunk that has been reached."""
    if self._path is None or (self._last and place <= self._last):
      return
    lines = [place] if self._last else [self._key, place]
    with tf.io.gfile.GFile(self._path, "a" if self._last else "w") as file:
      file.write("".join(f"{json.dumps(line)}\n" for line in lines))
    self._last = place

  def last_before(self, stream_block):
    """The last place at or before a block; the stream's start if none is."""
    places = [p for p in self._read() if p.stream_block <= stream_block]
    return max(places, default=_START)

  def _read(self):
    if self._path is None or not tf.io.gfile.exists(self._path):
      return []
    with tf.io.gfile.GFile(self._path, "rb") as file:
      key, *lines = map(_parsed, file.read().split(b"\n"))
    if key != self._key:
      return []
    # A killed run leaves a line half written.
    size = len(ChunkPlace._fields)
    is_place = [isinstance(line, list) and len(line) == size for line in lines]
    return [ChunkPlace(*line) for line in itertools.compress(lines, is_place)]


def _parsed(line):
  try:
    return json.loads(line)
  except (ValueError, RecursionError):
    return None
