"""Batches of masked text: reproducible, and found again."""

import numpy as np
import pytest
import tensorflow as tf
from corpus import write_corpus
from pretraining_runs import LENGTH, MAKING

from bert_span.pretraining.masking import batch_keys
from bert_span.pretraining.text_sources import TextFile


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
  return write_corpus(tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="module")
def whole(sources):
  """The first 40 batches."""
  return arrays(MAKING.training_batches(sources, 4), 0, 40)


def arrays(batches, first_step, count):
  dataset = batches.dataset(first_step).take(count)
  return list(dataset.as_numpy_iterator())


def assert_same(left, right):
  assert len(left) == len(right)
  for a, b in zip(left, right, strict=True):
    for key in batch_keys("masking"):
      np.testing.assert_array_equal(a[key], b[key])


def test_a_later_start_gives_the_same_batches(sources, whole):
  for first in (1, 9, 33):
    again = arrays(MAKING.training_batches(sources, 4), first, 5)
    assert_same(again, whole[first : first + 5])


def test_a_later_start_reads_from_the_noted_place(sources, whole, tmp_path):
  path = str(tmp_path / "places")
  assert_same(arrays(MAKING.training_batches(sources, 4, path), 0, 40), whole)
  read = []

  class Watched(TextFile):
    def sentences(self, first_document=0):
      for row in super().sentences(first_document):
        read.append(row)
        yield row

  watched = [Watched(source.path) for source in sources]
  resumed = MAKING.training_batches(watched, 4, path)
  # Training reads the first batches, for their lengths, before it goes on.
  assert_same(arrays(resumed, 0, 1), whole[:1])
  assert_same(arrays(resumed, 36, 1), whole[36:37])
  all_sentences = sum(len(list(source.sentences())) for source in sources)
  assert 0 < len(read) <= 2 * all_sentences  # 36 steps read 3 epochs


def test_an_epoch_holds_every_block_once_with_masks_of_its_own(sources, whole):
  blocks = list(MAKING.sequences(sources))
  total = len(blocks)
  columns = (
    np.concatenate([batch[name] for batch in whole])[: 2 * total]
    for name in ("input_ids", "masked_positions", "masked_ids")
  )
  originals, masks = [], []
  for ids, positions, targets in zip(*columns, strict=True):
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


def test_shapes_are_static(sources):
  spec = MAKING.training_batches(sources, 4).dataset(0).element_spec
  assert spec["input_ids"] == tf.TensorSpec([4, LENGTH], tf.int32)
  assert spec["sbo_lefts"] == tf.TensorSpec([4, 2], tf.int32)


def test_what_ended_the_reading_is_kept(tmp_path):
  path = tmp_path / "a.jsonl"
  path.write_text('{"text": "ak al"}\nno json\n')
  source = TextFile(str(path), text_field="text")
  batches = MAKING.training_batches([source], 4)
  with pytest.raises(tf.errors.OpError) as raised:
    arrays(batches, 0, 1)
  cause = batches.cause_of(raised.value)
  assert isinstance(cause, ValueError) and "a.jsonl, line 2" in str(cause)


def test_evaluation_reads_everything_once_with_fixed_masks(sources):
  first, second = (
    list(MAKING.evaluation_batches(sources, 4)) for _ in range(2)
  )
  assert_same(first, second)
  sizes = [len(batch["input_ids"]) for batch in first]
  assert sum(sizes) == len(list(MAKING.sequences(sources)))
  assert sizes[:-1] == [4] * (len(sizes) - 1)
