"""Batches of masked text: reproducible, and found again."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span.pretraining.text_sources import TextFile
from tests.support.training import PRETRAINING_INPUT, arrays, rows, write_corpus


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
  return write_corpus(tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="module")
def whole(sources):
  """The first 40 batches."""
  return arrays(PRETRAINING_INPUT.training_batches(sources, 4), 0, 40)


def test_a_later_start_reads_from_the_noted_place(sources, whole, tmp_path):
  for first in (1, 33):  # Without notes it gives the same batches.
    again = arrays(PRETRAINING_INPUT.training_batches(sources, 4), first, 5)
    assert rows(again) == rows(whole[first : first + 5])
  path = str(tmp_path / "places")
  noting = PRETRAINING_INPUT.training_batches(sources, 4, path)
  spec = noting.dataset(0).element_spec
  assert spec["input_ids"] == tf.TensorSpec([4, 12], tf.int32)
  assert spec["sbo_lefts"] == tf.TensorSpec([4, 2], tf.int32)
  assert rows(arrays(noting, 0, 40)) == rows(whole)
  read = []

  class Watched(TextFile):
    def sentences(self, first_document=0):
      for row in super().sentences(first_document):
        read.append(row)
        yield row

  watched = [Watched(source.path) for source in sources]
  resumed = PRETRAINING_INPUT.training_batches(watched, 4, path)
  # Training reads the first batches, for their lengths, before it goes on.
  assert rows(arrays(resumed, 0, 1)) == rows(whole[:1])
  assert rows(arrays(resumed, 36, 1)) == rows(whole[36:37])
  all_sentences = sum(len(list(source.sentences())) for source in sources)
  assert 0 < len(read) <= 2 * all_sentences  # 36 steps read 3 epochs


def test_an_epoch_holds_every_block_once_with_masks_of_its_own(sources, whole):
  blocks = list(PRETRAINING_INPUT.sequences(sources))
  total = len(blocks)
  originals, masks = [], []
  for batch in whole:
    for row in range(4):
      positions = batch["masked_positions"][row]
      count = np.count_nonzero(positions)
      original = batch["input_ids"][row].copy()
      original[positions[:count]] = batch["masked_ids"][row, :count]
      originals.append(original[original > 0].tolist())
      masks.append(positions.tolist())
  first, second = originals[:total], originals[total : 2 * total]
  expected = sorted(masked.original_ids.tolist() for masked in blocks)
  assert sorted(first) == sorted(second) == expected
  assert first != second  # shuffled anew
  mask_of = dict(zip(map(str, second), masks[total:], strict=False))
  changed = [mask_of[str(text)] != masks[i] for i, text in enumerate(first)]
  assert sum(changed) > total / 4


def test_what_ended_the_reading_is_kept(tmp_path):
  path = tmp_path / "a.jsonl"
  path.write_text('{"text": "ak al"}\nno json\n')
  source = TextFile(str(path), text_field="text")
  batches = PRETRAINING_INPUT.training_batches([source], 4)
  with pytest.raises(tf.errors.OpError) as raised:
    arrays(batches, 0, 1)
  cause = batches.cause_of(raised.value)
  assert isinstance(cause, ValueError) and "a.jsonl, line 2" in str(cause)


def test_evaluation_reads_everything_once_with_fixed_masks(sources):
  first, second = (
    list(PRETRAINING_INPUT.evaluation_batches(sources, 4)) for _ in range(2)
  )
  assert rows(first) == rows(second)
  sizes = [len(batch["input_ids"]) for batch in first]
  assert sum(sizes) == len(list(PRETRAINING_INPUT.sequences(sources)))
  assert sizes[:-1] == [4] * (len(sizes) - 1)
