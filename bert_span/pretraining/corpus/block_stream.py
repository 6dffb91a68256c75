"""Text as an endless stream of blocks that can be entered anywhere.

A block is the text of one training sequence: consecutive sentences of one
document. Each epoch reads all sources, in an order of its own. The stream is
cut into chunks of some thousand blocks; where a chunk begins is noted
(`ChunkPlaces`), and from such a place on the stream can be read again without
reading what stands before. So memory does not grow with the corpus, and a run
that continues finds its data within a chunk's time. Without a note the stream
is read from its beginning: slower, with the same blocks.
"""

import dataclasses
import itertools
import json
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_span.pretraining.corpus.sentence_packing import SentencePacker
from bert_span.pretraining.masking.whole_words import continuation_table
from bert_span.storage.utf8 import encodable

# What one call of the tokenizer takes: enough to spread the cost of a call.
_SENTENCES_PER_CALL = 512
_CHARACTERS_PER_CALL = 1 << 18


class ChunkPlace(NamedTuple):
  """Where in the stream a chunk begins.

  Attributes:
    stream_block: blocks before it in the whole stream, all epochs counted.
    epoch: its epoch, from 0.
    block: blocks before it within the epoch.
    source: number of the source, in the order of the epoch.
    document: number of the document within the source.
    document_block: blocks before it within the document.
  """

  stream_block: int = 0
  epoch: int = 0
  block: int = 0
  source: int = 0
  document: int = 0
  document_block: int = 0


@dataclasses.dataclass(frozen=True)
class Chunk:
  """Consecutive blocks of one epoch.

  Attributes:
    place: `ChunkPlace`.
    blocks: list of int32 [tokens], without special tokens.
  """

  place: ChunkPlace
  blocks: list


class BlockStream:
  """Reads the blocks of some sources, epoch after epoch.

  Args:
    sources: list of `TextFile` or the like.
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

  def chunks(self, place=None):
    """Reads on from a place, without end.

    Args:
      place: `ChunkPlace`; None begins with the first epoch.

    Yields:
      `Chunk`.

    Raises:
      ValueError: the sources hold no token at all.
    """
    place = place or ChunkPlace()
    while True:
      for chunk in self.epoch_chunks(place):
        yield chunk
        place = place._replace(
          stream_block=chunk.place.stream_block + len(chunk.blocks),
          block=chunk.place.block + len(chunk.blocks),
        )
      place = ChunkPlace(place.stream_block, place.epoch + 1)

  def epoch_chunks(self, place):
    """Reads on from a place to the end of its epoch.

    Args:
      place: `ChunkPlace`.

    Yields:
      `Chunk`.

    Raises:
      ValueError: the sources hold no token at all.
    """
    blocks = self._blocks(place)
    stream_block, block = place.stream_block, place.block
    while part := list(itertools.islice(blocks, self._chunk_blocks)):
      first = ChunkPlace(stream_block, place.epoch, block, *part[0][0])
      yield Chunk(first, [ids for _, ids in part])
      stream_block += len(part)
      block += len(part)
    if block == 0:
      raise ValueError(
        f"There is no text in {_names(self._sources)}: no block of WordPieces "
        "can be made of it."
      )

  def _blocks(self, place):
    """Yields ((source, document, document_block), ids) from a place on."""
    begin = place[3:]
    order = self._order(place.epoch)
    for number in range(place.source, len(order)):
      first_document = place.document if number == place.source else 0
      source = self._sources[order[number]]
      for (document, index), ids in self._source_blocks(source, first_document):
        if (number, document, index) >= begin:
          yield (number, document, index), ids

  def _order(self, epoch):
    order = np.arange(len(self._sources))
    if self._seed is None:
      return order
    return np.random.default_rng([self._seed, epoch]).permutation(order)

  def _source_blocks(self, source, first_document):
    """Yields ((document, index in the document), ids)."""
    packer = SentencePacker(self._room, self._continues)
    sentences = self._tokenized(source.sentences(first_document))
    for document, group in itertools.groupby(sentences, lambda row: row[0]):
      index = itertools.count()
      for _, token_ids in group:
        for ids in packer.add(token_ids):
          yield (document, next(index)), ids
      for ids in packer.end_document():
        yield (document, next(index)), ids

  def _tokenized(self, sentences):
    """Yields (document, int32 [tokens]) for every sentence."""
    for batch in _batches(sentences):
      texts = [encodable(sentence).encode("utf-8") for _, sentence in batch]
      ids = self._tokenizer(tf.constant(texts)).ids
      values, splits = ids.values.numpy(), ids.row_splits.numpy()
      for row, (document, _) in enumerate(batch):
        yield document, values[splits[row] : splits[row + 1]]


class ChunkPlaces:
  """Notes of where chunks begin, in a file beside the checkpoints.

  The first line says what the notes depend on: notes of other text, other
  lengths or another seed are not used, and written anew.

  Args:
    path: of the file, or None to note nothing.
    key: JSON value; places hold for an equal one only.
  """

  def __init__(self, path, key):
    self._path = path
    self._key = json.loads(json.dumps(key))
    self._noted = self._read()[-1:]

  def note(self, place):
    """Notes a chunk that has been reached.

    Args:
      place: `ChunkPlace`.
    """
    if self._path is None or (
      self._noted and place.stream_block <= self._noted[-1].stream_block
    ):
      return
    if not self._noted:
      with tf.io.gfile.GFile(self._path, "w") as file:
        file.write(json.dumps(self._key) + "\n")
    with tf.io.gfile.GFile(self._path, "a") as file:
      file.write(json.dumps(place) + "\n")
    self._noted = [place]

  def last_before(self, stream_block):
    """The place to read from to get a block.

    Args:
      stream_block: number of the block in the stream.

    Returns:
      `ChunkPlace`, the stream's beginning where nothing is noted.
    """
    places = [p for p in self._read() if p.stream_block <= stream_block]
    return max(places, default=ChunkPlace())

  def _read(self):
    """List of the places noted; [] for notes of something else."""
    if self._path is None or not tf.io.gfile.exists(self._path):
      return []
    with tf.io.gfile.GFile(self._path) as file:
      key, *lines = file.read().split("\n")
    if _parsed(key) != self._key:
      return []
    # The last line may be half written.
    rows = [_parsed(line) for line in lines]
    return [ChunkPlace(*row) for row in rows if row is not None]


def _batches(sentences):
  """Groups rows (document, sentence) for the tokenizer."""
  batch, characters = [], 0
  for row in sentences:
    batch.append(row)
    characters += len(row[1])
    if len(batch) == _SENTENCES_PER_CALL or characters > _CHARACTERS_PER_CALL:
      yield batch
      batch, characters = [], 0
  if batch:
    yield batch


def _parsed(line):
  try:
    return json.loads(line)
  except ValueError:
    return None


def _names(sources, most=3):
  names = ", ".join(source.path for source in sources[:most])
  more = len(sources) - most
  return f"{names} and {more} more" if more > 0 else names
