"""Batches of masked text: reproducible, and found again."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from corpus import VOCABULARY, stream_of, write_corpus

from bert_span.pretraining.batches import (
  PretrainingInput,
  TextBatches,
  masked_sequences,
)
from bert_span.pretraining.block_stream import ChunkPlaces
from bert_span.pretraining.masking import KEYS, SequenceMasker
from bert_span.pretraining.options import MaskingOptions
from bert_span.pretraining.text_sources import TextFile

_LENGTH = 12
_TARGETS = 2
_OPTIONS = MaskingOptions(max_predictions=_TARGETS, seed=5)
_MASKER = SequenceMasker(VOCABULARY, _OPTIONS)


def batches_of(sources, places=None, seed=5):
  return TextBatches(stream_of(sources, seed), _MASKER, 4, places)


def arrays(batches, first_step, count):
  dataset = batches.dataset(first_step).take(count)
  return list(dataset.as_numpy_iterator())


def assert_same(left, right):
  assert len(left) == len(right)
  for a, b in zip(left, right, strict=True):
    for key in KEYS:
      np.testing.assert_array_equal(a[key], b[key])


def test_a_later_start_gives_the_same_batches(tmp_path):
  sources = write_corpus(tmp_path)
  whole = arrays(batches_of(sources), 0, 40)
  for first in (1, 9, 33):
    assert_same(arrays(batches_of(sources), first, 5), whole[first : first + 5])


def test_a_later_start_reads_from_the_noted_place(tmp_path):
  sources = write_corpus(tmp_path)
  path = str(tmp_path / "places")
  whole = arrays(batches_of(sources, ChunkPlaces(path, "key")), 0, 40)
  resumed = batches_of(sources, ChunkPlaces(path, "key"))
  read = []
  sentences = TextFile.sentences

  class Watched(TextFile):
    def sentences(self, first_document=0):
      for row in sentences(self, first_document):
        read.append(row)
        yield row

  resumed._stream._sources = [Watched(source.path) for source in sources]
  assert_same(arrays(resumed, 36, 1), whole[36:37])
  all_sentences = sum(len(list(source.sentences())) for source in sources)
  assert 0 < len(read) < 2 * all_sentences  # 36 steps read 3 epochs


def test_an_epoch_holds_every_block_once_with_masks_of_its_own(tmp_path):
  sources = write_corpus(tmp_path)
  blocks = list(masked_sequences(stream_of(sources), _MASKER))
  total = len(blocks)
  rows = itertools.chain.from_iterable(
    zip(b["input_ids"], b["masked_positions"], b["masked_ids"], strict=True)
    for b in arrays(batches_of(sources), 0, -(-2 * total // 4))
  )
  originals, masks = [], []
  for ids, positions, targets in itertools.islice(rows, 2 * total):
    original = ids.copy()
    count = int((positions > 0).sum())
    original[positions[:count]] = targets[:count]
    originals.append(original[original > 0].tolist())
    masks.append(positions.tolist())
  expected = sorted(masked.original_ids.tolist() for masked in blocks)
  assert sorted(originals[:total]) == sorted(originals[total:]) == expected
  assert originals[:total] != originals[total:]  # shuffled anew
  first = dict(zip(map(str, originals[:total]), masks[:total], strict=True))
  second = dict(zip(map(str, originals[total:]), masks[total:], strict=True))
  assert sum(first[text] != second[text] for text in first) > total / 4


def test_shapes_are_static(tmp_path):
  spec = batches_of(write_corpus(tmp_path)).dataset(0).element_spec
  assert spec["input_ids"] == tf.TensorSpec([4, _LENGTH], tf.int32)
  assert spec["sbo_lefts"] == tf.TensorSpec([4, _TARGETS], tf.int32)


def test_what_ended_the_reading_is_kept(tmp_path):
  path = tmp_path / "a.jsonl"
  path.write_text('{"text": "ak al"}\nno json\n')
  batches = batches_of([TextFile(str(path), text_field="text")])
  with pytest.raises(tf.errors.OpError) as raised:
    arrays(batches, 0, 1)
  cause = batches.cause_of(raised.value)
  assert isinstance(cause, ValueError) and "a.jsonl, line 2" in str(cause)


def test_evaluation_reads_everything_once_with_fixed_masks(tmp_path):
  sources = write_corpus(tmp_path)
  making = PretrainingInput(VOCABULARY, True, _LENGTH, _OPTIONS)
  first, second = (
    list(making.evaluation_batches(sources, 4)) for _ in range(2)
  )
  assert_same(first, second)
  total = len(list(masked_sequences(stream_of(sources), _MASKER)))
  sizes = [len(batch["input_ids"]) for batch in first]
  assert sum(sizes) == total
  assert sizes[:-1] == [4] * (len(sizes) - 1)
