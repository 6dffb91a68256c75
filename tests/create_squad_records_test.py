"""create_squad_records as a user runs it, and run_squad on its records.

data/training_records_test.py compares records with what they are made of.
"""

import pytest
from programs import refusal, succeeds, succeeds_here
from squad_runs import read, squad_flags

_MANIFEST = "train.tf_record.json"


@pytest.mark.large
def test_a_dry_run_reads_the_records_and_stale_ones_are_refused(
  squad_folder, tmp_path
):
  path, out = tmp_path / "records", tmp_path / "out"
  run = succeeds(
    *("bert_span.create_squad_records", f"--output_dir={path}"),
    f"--vocab_file={squad_folder}/vocab.txt",
    f"--train_file={squad_folder}/v1.json",
    *("--max_seq_length=32", "--doc_stride=8", "--max_query_length=12"),
    "--num_shards=2",
  )
  assert len(list(path.glob("train-*-of-00002.tf_record"))) == 2
  assert f"listed in {path}/train.tf_record.json" in run.stderr
  flags = ("--dry_run", "--do_train", "--do_predict", "--length_buckets=8")
  flags = squad_flags(squad_folder, out, f"--train_records={path}", *flags)
  run = succeeds_here("bert_span.run_squad", *flags)
  num_windows = sum(s["records"] for s in read(path / _MANIFEST)["shards"])
  for part in (
    f"Windows: {num_windows} of 8 questions",
    "Steps: 40 of 4 windows",
    "4 windows of 24 WordPieces",
    "Then 8 questions",
  ):
    assert part in run.stdout
  changed = tmp_path / "changed.json"
  text = (squad_folder / "v1.json").read_text()
  changed.write_text(text.replace("built", "raised"))
  flags = ("--do_train", f"--train_file={changed}", f"--train_records={path}")
  flags = squad_flags(squad_folder, out, *flags)
  message = refusal("bert_span.run_squad", *flags)
  assert "train_file_sha256" in message
  assert "create_squad_records" in message
  assert not out.exists()
