"""beam_create_records as a user runs it, beside create_pretraining_data."""

import pytest
import tensorflow as tf

from bert_span.create_pretraining_data import CreatePretrainingDataOptions
from bert_span.jobs.create_pretraining_data import create_pretraining_data
from tests.support.programs import error_line, run_here, succeeds

pytest.importorskip("apache_beam", reason="pip install -e '.[beam]'")


def _examples_in(path):
  """The records of a file; their bytes differ, as maps have no order."""
  dataset = tf.data.TFRecordDataset(str(path))
  return [tf.train.Example.FromString(r.numpy()) for r in dataset]


@pytest.mark.large
def test_shards_are_the_files_of_create_pretraining_data(
  squad_folder, tmp_path
):
  for number in range(3):
    text = f"The mill was built by Anna {number}.\n" * 9
    (tmp_path / f"{number}.txt").write_text(text)
  out = tmp_path / "out"
  command = (
    *("bert_span.beam_create_records", "pretraining"),
    f"--vocab_file={squad_folder}/vocab.txt",
    f"--input_file={tmp_path}/*.txt",
    *("--max_seq_length=16", "--dupe_factor=2", "--num_shards=2"),
    f"--output_dir={out}",
  )
  succeeds(*command)
  single = str(tmp_path / "single.tfrecord")
  create_pretraining_data(
    CreatePretrainingDataOptions(
      output_file=(single,),
      input_file=f"{tmp_path}/*.txt",
      vocab_file=squad_folder / "vocab.txt",
      max_seq_length=16,
      dupe_factor=2,
      num_workers=2,
      worker=1,
    )
  )
  expected = _examples_in(single)
  assert len(expected) > 2
  assert _examples_in(out / "masked-00001-of-00002.tfrecord") == expected
  # A run continues with the missing shards, and with the same options only.
  (out / "masked-00000-of-00002.tfrecord").unlink()
  assert "1 of 2 shards written" in run_here(*command).stderr
  other = run_here(*command, "--seed=5")
  assert "options.seed was 12345, is now 5" in error_line(other)
  unknown = run_here(*command, "--doc_stride=2")
  assert "unknown flags --doc_stride=2" in error_line(unknown)
