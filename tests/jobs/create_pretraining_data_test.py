"""The job of create_pretraining_data: text as masked records."""

import json

import pytest
import tensorflow as tf

from bert_span.create_pretraining_data import CreatePretrainingDataOptions
from bert_span.jobs.create_pretraining_data import create_pretraining_data
from tests.support.squad import write_encoder_files
from tests.support.training import VOCABULARY

# Fourteen WordPieces: with [CLS] and [SEP] a sequence of 16.
_SENTENCE = " ".join(VOCABULARY[5:19])


@pytest.fixture
def create(tmp_path):
  """A function that masks three files; returns the ids of each output."""
  write_encoder_files(tmp_path, VOCABULARY)
  for number in range(3):
    sentences = [_SENTENCE] * (number + 1)  # one, two and three sequences
    (tmp_path / f"{number}.txt").write_text("\n".join(sentences))

  def create(*names, **options):
    paths = [str(tmp_path / name) for name in names]
    create_pretraining_data(
      CreatePretrainingDataOptions(
        input_file=tmp_path / "[012].txt",
        vocab_file=tmp_path / "vocab.txt",
        output_file=tuple(paths),
        max_seq_length=16,
        **options,
      )
    )
    return list(map(_input_ids, paths))

  return create


def _input_ids(path):
  """The masked ids of a file of records, and the number beside it."""
  kind = "GZIP" if path.endswith(".gz") else ""
  rows = []
  for record in tf.data.TFRecordDataset(path, kind):
    features = tf.train.Example.FromString(record.numpy()).features.feature
    rows.append(tuple(features["input_ids"].int64_list.value))
  with open(f"{path}.json") as file:
    assert json.load(file)["records"] == len(rows)
  return rows


def test_every_file_gets_its_part_of_all_copies(create, tmp_path, capsys):
  plain, packed = create("a.tfrecord", "b.tfrecord.gz", dupe_factor=2)
  assert (len(plain), len(packed)) == (6, 6)
  assert len({*plain, *packed}) > 6  # The copies are masked anew.
  # 15 % of 14 WordPieces are 2.1: three of them.
  line = capsys.readouterr().err.splitlines()[-1]
  for words in ("12 sequences", "max_seq_length=16", "max_predictions=3"):
    assert words in line
  assert str(tmp_path / "b.tfrecord.gz") in line


def test_workers_share_the_files(create):
  numbers = [
    len(
      *create(f"{worker}.tfrecord", dupe_factor=1, worker=worker, num_workers=3)
    )
    for worker in range(3)
  ]
  assert sorted(numbers) == [1, 2, 3]
