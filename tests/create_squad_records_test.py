"""create_squad_records as a user runs it, and run_squad on its records.

data/training_records_test.py compares records with what they are made of.
"""

import json

import pytest
from programs import refusal, succeeds, succeeds_here
from squad_runs import squad_flags


def _command(squad_folder, output_dir, *flags):
  return (
    "bert_span.create_squad_records",
    f"--vocab_file={squad_folder}/vocab.txt",
    f"--train_file={squad_folder}/v1.json",
    f"--output_dir={output_dir}",
    *("--max_seq_length=32", "--doc_stride=8", "--max_query_length=12"),
    *("--num_shards=2", *flags),
  )


@pytest.fixture(scope="module")
def records(squad_folder, tmp_path_factory):
  """Records of v1.json, and what the program printed."""
  path = tmp_path_factory.mktemp("records")
  run = succeeds(*_command(squad_folder, path))
  return path, run.stderr


@pytest.mark.large
def test_stale_records_are_refused(squad_folder, records, tmp_path):
  path, printed = records
  assert len(list(path.glob("train-*-of-00002.tf_record"))) == 2
  assert f"listed in {path}/train.tf_record.json" in printed
  changed = tmp_path / "changed.json"
  text = (squad_folder / "v1.json").read_text()
  changed.write_text(text.replace("built", "raised"))
  flags = ("--do_train", f"--train_file={changed}", f"--train_records={path}")
  flags = squad_flags(squad_folder, tmp_path / "out", *flags)
  message = refusal("bert_span.run_squad", *flags)
  assert "train_file_sha256" in message
  assert "create_squad_records" in message


@pytest.mark.large
def test_a_dry_run_reads_the_records_and_writes_nothing(
  squad_folder, records, tmp_path
):
  path, _ = records
  flags = ("--dry_run", "--do_train", "--do_predict", "--length_buckets=8")
  flags = (*flags, f"--train_records={path}")
  flags = squad_flags(squad_folder, tmp_path / "out", *flags)
  run = succeeds_here("bert_span.run_squad", *flags)
  assert not (tmp_path / "out").exists()
  shards = json.loads((path / "train.tf_record.json").read_text())["shards"]
  num_windows = sum(shard["records"] for shard in shards)
  for part in (
    *("1 layers", f"Windows: {num_windows} of 8 questions", "longest 21"),
    *("multiples of 8", "Steps: 40 of 4 windows", "Then 8 questions"),
  ):
    assert part in run.stdout
