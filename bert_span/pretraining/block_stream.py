"""Reads text as an endless stream of blocks, from any place on.

A block is the text of one training sequence: consecutive sentences of one
document. Each epoch reads all sources, in a new order. The stream is cut into
chunks of some thousand blocks, and the places where chunks start are stored
(`ChunkPlaces`). A continued run reads the stream from there, without the text
before it.
"""

import contextlib
import dataclasses
import itertools
import json
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_span.options.fields import RUN_FORMAT
from bert_span.storage.atomic_file import write_text_atomically
from bert_span.storage.files import encodable, read_json_object
from bert_span.text.tokenizer import WordPieceTokenizer

# The size of the tokenizer's batches. Larger ones would gain nothing.
_SENTENCES_PER_CALL = 512
_CHARACTERS_PER_CALL = 1 << 18


class BlockPlace(NamedTuple):
  """The place of a block in the stream."""

  stream_block: int = 0  # blocks before it in the whole stream
  epoch: int = 0
  block: int = 0  # blocks before it within the epoch
  source: int = 0  # number of the source, in the order of the epoch
  document: int = 0  # number of the document within the source
  document_block: int = 0  # blocks before it within the document


@dataclasses.dataclass(frozen=True)
class BlockStream:
  """Reads the blocks of its sources, epoch after epoch."""

  sources: list  # of `TextFile` or `TfdsShard`
  tokenizer: WordPieceTokenizer
  max_seq_length: int  # WordPieces, [CLS] and [SEP] included
  seed: int | None  # shuffles the sources; None keeps their order
  chunk_blocks: int  # the last chunk of an epoch may have fewer

  def chunks(self, place):
    """Yields lists of `epoch_blocks` from a place on, without end."""
    while True:
      blocks = self.epoch_blocks(place)
      while chunk := list(itertools.islice(blocks, self.chunk_blocks)):
        yield chunk
        last, _ = chunk[-1]
      place = BlockPlace(last.stream_block + 1, last.epoch + 1)

  def epoch_blocks(self, place):
    """Yields (`BlockPlace`, int32 [tokens]) from a place to its epoch's end."""
    room = self.max_seq_length - 2
    continues = continuation_table(self.tokenizer.vocabulary)
    order = np.arange(len(self.sources))
    if self.seed is not None:
      order = np.random.default_rng([self.seed, place.epoch]).permutation(order)
    stream_block, block = place.stream_block, place.block
    for number in range(place.source, len(order)):
      first_document = place.document if number == place.source else 0
      source = self.sources[order[number]]
      sentences = self._tokenized(source.sentences(first_document))
      for document, rows in itertools.groupby(sentences, lambda row: row[0]):
        document_ids = (ids for _, ids in rows)
        blocks = pack_sentences(document_ids, room, continues)
        for index, ids in enumerate(blocks):
          within_epoch = number, document, index
          if within_epoch >= place[3:]:
            yield (
              BlockPlace(stream_block, place.epoch, block, *within_epoch),
              ids,
            )
            stream_block, block = stream_block + 1, block + 1
    if not block:
      names = ", ".join(source.path for source in self.sources[:3])
      raise ValueError(
        f"There is no text in {len(self.sources)} sources (first: {names}). "
        "Give files with text."
      )

  def _tokenized(self, sentences):
    """Yields (document, int32 [tokens]) for every (document, sentence)."""
    while batch := _for_one_call(sentences):
      texts = [encodable(sentence).encode("utf-8") for _, sentence in batch]
      ids = self.tokenizer(tf.constant(texts)).ids
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

  "d" is longer than the room, so it is split between words. The document's next
  sentences are added to its rest. Sentences and blocks are int32 [tokens],
  `continues` is a `continuation_table`.
  """
  block = np.empty(0, np.int32)
  for token_ids in sentences:
    if len(block) and len(block) + len(token_ids) > room:
      yield block
      block = block[:0]
    while len(token_ids) > room:
      # A word longer than the room is split, too.
      end = int(word_starts(token_ids[: room + 1], continues)[-1]) or room
      yield token_ids[:end]
      token_ids = token_ids[end:]
    block = np.concatenate([block, token_ids])
  if len(block):
    yield block


def continuation_table(vocabulary):
  """Returns whether each id continues a word, as "##ing" does: bool [vocab]."""
  return np.array(
    [token.startswith("##") and token != "##" for token in vocabulary]
  )


def word_starts(token_ids, continues):
  """Returns where words start: 0, 1, 3, 4 for "The mill ##er left .".

  As in the original's whole word masking, punctuation marks are words. If a
  text is cut within a word, the rest of the word counts as a word.
  """
  starts = ~continues[token_ids]
  starts[:1] = True
  return np.flatnonzero(starts)


class ChunkPlaces:
  """The places where chunks start, in a file beside the checkpoints.

  With `path` None nothing is stored. `key` has the JSON values on which the
  places depend: a damaged file, or one with another key, is replaced.
  """

  def __init__(self, path, key):
    self._path, self._places = path, []
    self._key = {"format": RUN_FORMAT, **key}
    if path is not None and tf.io.gfile.exists(path):
      with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
        stored = read_json_object(path)
        if stored["key"] == self._key:
          self._places = [
            BlockPlace(*map(int, place)) for place in stored["places"]
          ]

  def note(self, place):
    """Stores the place of a chunk, unless it was reached before."""
    if self._places and place <= self._places[-1]:
      return
    self._places.append(place)
    if self._path is not None:
      stored = {"key": self._key, "places": self._places}
      write_text_atomically(self._path, json.dumps(stored) + "\n")

  def last_before(self, stream_block):
    """Returns the last place at or before a block, or the start."""
    places = [p for p in self._places if p.stream_block <= stream_block]
    return max(places, default=BlockPlace())
