"""The job of beam_create_records, beside create_pretraining_data."""

import pytest
import tensorflow as tf

pytest.importorskip("apache_beam", reason="pip install -e '.[beam]'")

from bert_span.beam_create_records import BeamCreateRecordsOptions
from bert_span.create_pretraining_data import CreatePretrainingDataOptions
from bert_span.jobs.beam_create_records import beam_create_records
from bert_span.jobs.create_pretraining_data import create_pretraining_data


def _examples_in(path):
  """The records of a file; their bytes differ, as maps have no order."""
  dataset = tf.data.TFRecordDataset(str(path))
  return [tf.train.Example.FromString(r.numpy()) for r in dataset]


@pytest.mark.large
def test_shards_are_the_files_of_create_pretraining_data(
  squad_folder, tmp_path, capsys
):
  for number in range(3):
    text = f"The mill was built by Anna {number}.\n" * 9
    (tmp_path / f"{number}.txt").write_text(text)
  out, single = tmp_path / "out", str(tmp_path / "single.tfrecord")
  text = {
    "input_file": f"{tmp_path}/*.txt",
    "vocab_file": squad_folder / "vocab.txt",
    "max_seq_length": 16,
    "dupe_factor": 2,
  }
  options = BeamCreateRecordsOptions(
    records="pretraining", num_shards=2, output_dir=out, **text
  )
  beam_create_records(options)
  create_pretraining_data(
    CreatePretrainingDataOptions(
      output_file=(single,), num_workers=2, worker=1, **text
    )
  )
  expected = _examples_in(single)
  assert len(expected) > 2
  assert _examples_in(out / "masked-00001-of-00002.tfrecord") == expected
  # A run continues with the missing shards, and with the same options only.
  (out / "masked-00000-of-00002.tfrecord").unlink()
  capsys.readouterr()
  beam_create_records(options)
  assert "1 of 2 shards" in capsys.readouterr().err
  with pytest.raises(ValueError, match=r"seed was 12345, is now 5"):
    beam_create_records(options.replaced(seed=5))
