"""Masked text, shared by workers."""

import numpy as np
import pytest
from tiny_extractor import VOCABULARY

from bert_span.pretraining.corpus.masked_copies import masked_copies
from bert_span.pretraining.corpus.text_sources import find_text_files
from bert_span.pretraining.options import MaskingOptions


def masked(tmp_path, copies, num_workers=1, worker=0):
  return list(
    masked_copies(
      find_text_files(f"{tmp_path}/*.txt"),
      VOCABULARY,
      True,
      16,
      MaskingOptions(max_predictions=3),
      copies,
      num_workers,
      worker,
    )
  )


@pytest.fixture
def texts(tmp_path):
  words = [token for token in VOCABULARY if token.isalpha()]
  for number in range(2):
    line = " ".join([*words[number:], *words][:12])
    (tmp_path / f"{number}.txt").write_text(f"{line}\n" * 6)
  return tmp_path


def test_every_copy_is_masked_anew(texts):
  once, twice = masked(texts, 1), masked(texts, 2)
  assert len(twice) == 2 * len(once) > 4
  same = [
    np.array_equal(a.input_ids, b.input_ids)
    for a, b in zip(twice[: len(once)], twice[len(once) :], strict=True)
  ]
  assert not all(same)


def test_workers_share_the_files(texts):
  shares = [masked(texts, 1, 2, worker) for worker in range(2)]
  assert sum(map(len, shares)) == len(masked(texts, 1))


def test_more_workers_than_files_are_refused(texts):
  with pytest.raises(ValueError, match="3 workers cannot share 2 files"):
    masked(texts, 1, 3)
