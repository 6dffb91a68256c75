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

from bert_span.pretraining.masking import continuation_table, word_starts
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


@dataclasses.dataclass(frozen=True)
class Chunk:
  """Consecutive blocks of one epoch, int32 [tokens] without special tokens."""

  place: ChunkPlace
  blocks: list


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
    self.max_seq_length = max_seq_length
    self._sources = sources
    self._tokenizer = tokenizer
    self._continues = continuation_table(tokenizer.vocabulary)
    self._seed = seed
    self._chunk_blocks = chunk_blocks

  def chunks(self, place=None):
    """Yields the `Chunk`s from a `ChunkPlace` on, without end."""
    place = place or ChunkPlace()
    while True:
      end = place.stream_block
      for chunk in self.epoch_chunks(place):
        yield chunk
        end = chunk.place.stream_block + len(chunk.blocks)
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
      names = [source.path for source in self._sources[:3]]
      if len(self._sources) > 3:
        names.append(f"{len(self._sources) - 3} more")
      raise ValueError(
        f"There is no text in {', '.join(names)}: no block of WordPieces can "
        "be made of it."
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
      for (document, index), ids in self._source_blocks(source, first_document):
        if (number, document, index) >= place[3:]:
          yield (number, document, index), ids

  def _source_blocks(self, source, first_document):
    """Yields ((document, index in the document), ids)."""
    packer = SentencePacker(self.max_seq_length - 2, self._continues)
    sentences = self._tokenized(source.sentences(first_document))
    for document, group in itertools.groupby(sentences, lambda row: row[0]):
      index = itertools.count()
      for _, token_ids in group:
        for ids in packer.add(token_ids):
          yield (document, next(index)), ids
      for ids in packer.end_document():
        yield (document, next(index)), ids

  def _tokenized(self, sentences):
    """Yields (document, int32 [tokens]) for every (document, sentence)."""
    batch, characters = [], 0
    for row in sentences:
      batch.append(row)
      characters += len(row[1])
      if len(batch) == _SENTENCES_PER_CALL or characters > _CHARACTERS_PER_CALL:
        yield from self._tokenized_batch(batch)
        batch, characters = [], 0
    if batch:
      yield from self._tokenized_batch(batch)

  def _tokenized_batch(self, batch):
    texts = [encodable(sentence).encode("utf-8") for _, sentence in batch]
    ids = self._tokenizer(tf.constant(texts)).ids
    values, splits = ids.values.numpy(), ids.row_splits.numpy()
    for row, (document, _) in enumerate(batch):
      yield document, values[splits[row] : splits[row + 1]]


class SentencePacker:
  """Fills sequences with consecutive whole sentences of one document.

  With room for 6 tokens, sentences of 3, 2, 4 and 8 tokens become

      a a a b b | c c c c | d d d d d d | d d

  The sequence of "a" and "b" ends because "c" does not fit. "d" is longer than
  the room, so it starts a new sequence and is split between words. The next
  sentences of the document join its rest.

  Args:
    room: tokens that a sequence holds, special tokens not counted.
    continues: bool [vocab], see `continuation_table`.
  """

  def __init__(self, room, continues):
    if room < 1:
      raise ValueError(
        f"A sequence must have room for a token. Received: room={room}"
      )
    self._room = room
    self._continues = continues
    self._sentences = []
    self._length = 0

  def add(self, token_ids):
    """Adds the next sentence; returns the list of sequences this completes."""
    complete = []
    if self._length + len(token_ids) > self._room:
      complete = self.end_document()
    while len(token_ids) > self._room:
      starts = word_starts(token_ids[: self._room + 1], self._continues)
      # A word longer than the room is split as well.
      end = int(starts[-1]) or self._room
      complete.append(token_ids[:end])
      token_ids = token_ids[end:]
    if len(token_ids):
      self._sentences.append(token_ids)
      self._length += len(token_ids)
    return complete

  def end_document(self):
    """Completes the current sequence: a list of one, or of none."""
    sentences, self._sentences, self._length = self._sentences, [], 0
    return [np.concatenate(sentences)] if sentences else []


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
    self._stored = self._read()[-1:]

  def note(self, place):
    """Stores the place of a chunk that has been reached."""
    if self._path is None or (
      self._stored and place.stream_block <= self._stored[-1].stream_block
    ):
      return
    if not self._stored:
      with tf.io.gfile.GFile(self._path, "w") as file:
        file.write(json.dumps(self._key) + "\n")
    with tf.io.gfile.GFile(self._path, "a") as file:
      file.write(json.dumps(place) + "\n")
    self._stored = [place]

  def last_before(self, stream_block):
    """The last place at or before a block; the stream's start if none is."""
    places = [p for p in self._read() if p.stream_block <= stream_block]
    return max(places, default=ChunkPlace())

  def _read(self):
    if self._path is None or not tf.io.gfile.exists(self._path):
      return []
    with tf.io.gfile.GFile(self._path, "rb") as file:
      key, *lines = map(_parsed, file.read().split(b"\n"))
    if key != self._key:
      return []
    return [ChunkPlace(*values) for values in lines if _is_place(values)]


def _parsed(line):
  """The JSON value of a line; None if it is damaged, such as half written."""
  try:
    return json.loads(line)
  except (ValueError, RecursionError):
    return None


def _is_place(values):
  return (
    isinstance(values, list)
    and len(values) == len(ChunkPlace._fields)
    and all(isinstance(value, int) for value in values)
  )
