"""beam_create_records as a user runs it, beside the programs it stands for."""

import pytest
import tensorflow as tf
from programs import error_line, run_program

from bert_span.data.training_records import MANIFEST_FILE, TrainingRecords
from bert_span.data.window_labels import SPAN_LABELS

pytest.importorskip("apache_beam", reason="pip install -e '.[beam]'")


def squad_flags(squad_folder):
  return (
    f"--vocab_file={squad_folder}/vocab.txt",
    f"--train_file={squad_folder}/v2.json",
    "--version_2_with_negative",
    "--max_seq_length=32",
    "--doc_stride=8",
    "--max_query_length=12",
  )


def examples_in(path):
  """The records of a file; their bytes differ, as maps have no order."""
  dataset = tf.data.TFRecordDataset(str(path))
  return [tf.train.Example.FromString(r.numpy()) for r in dataset]


def windows_of(directory):
  records = TrainingRecords(str(directory))
  return records.read(records._manifest["made_with"], SPAN_LABELS)


@pytest.mark.large
def test_squad_records_hold_the_windows_of_create_squad_records(
  squad_folder, tmp_path
):
  flags = squad_flags(squad_folder)
  one, other = tmp_path / "one", tmp_path / "other"
  program = run_program(
    "bert_span.create_squad_records", *flags, f"--output_dir={one}"
  )
  assert program.returncode == 0, program.stderr
  pipeline = run_program(
    "bert_span.beam_create_records",
    *("squad", *flags, f"--output_dir={other}", "--num_shards=3"),
    "--runner=DirectRunner",
  )
  assert pipeline.returncode == 0, pipeline.stderr
  assert "3 of 3 shards written" in pipeline.stderr
  expected, found = windows_of(one), windows_of(other)
  assert found.windows.digest() == expected.windows.digest()
  assert found.num_examples == expected.num_examples
  assert found.skipped == expected.skipped
  assert len(list(other.glob("train-*-of-00003.tf_record"))) == 3
  assert not list(other.glob("train-*.tf_record.json"))  # notes
  assert (other / MANIFEST_FILE).is_file()


@pytest.mark.large
def test_pretraining_records_are_those_of_create_pretraining_data(
  squad_folder, tmp_path
):
  for number in range(3):
    lines = [f"The mill was built by Anna {number}."] * 9
    (tmp_path / f"{number}.txt").write_text("\n".join(lines) + "\n")
  flags = (
    f"--vocab_file={squad_folder}/vocab.txt",
    f"--input_file={tmp_path}/*.txt",
    "--max_seq_length=16",
    "--dupe_factor=2",
  )
  out = tmp_path / "out"
  pipeline = run_program(
    "bert_span.beam_create_records",
    *("pretraining", *flags, f"--output_dir={out}", "--num_shards=2"),
  )
  assert pipeline.returncode == 0, pipeline.stderr
  single = tmp_path / "single.tfrecord"
  program = run_program(
    "bert_span.create_pretraining_data",
    *(*flags, f"--output_file={single}", "--num_workers=2", "--worker=1"),
  )
  assert program.returncode == 0, program.stderr
  expected = examples_in(single)
  assert len(expected) > 2
  assert examples_in(out / "masked-00001-of-00002.tfrecord") == expected
  # What stands there is not made again, and not continued otherwise.
  (out / "masked-00000-of-00002.tfrecord").unlink()
  again = run_program(
    "bert_span.beam_create_records",
    *("pretraining", *flags, f"--output_dir={out}", "--num_shards=2"),
  )
  assert "1 of 2 shards written" in again.stderr
  other = run_program(
    "bert_span.beam_create_records",
    *("pretraining", *flags, f"--output_dir={out}", "--num_shards=2"),
    "--seed=5",
  )
  assert "options.seed was 12345, is now 5" in error_line(other)


@pytest.mark.large
def test_a_squad_run_that_was_stopped_makes_the_other_shards_only(
  squad_folder, tmp_path
):
  from bert_span.beam.record_shards import SquadRecordShards
  from bert_span.text.options import WindowOptions
  from bert_span.text.vocabulary import load_vocabulary

  shards = SquadRecordShards(
    directory=str(tmp_path),
    count=2,
    train_file=str(squad_folder / "v2.json"),
    version_2=True,
    labels=SPAN_LABELS,
    vocabulary=tuple(load_vocabulary(str(squad_folder / "vocab.txt"))),
    do_lower_case=True,
    window_options=WindowOptions(32, 8, 12),
    annotator_labels="soft",
    drop_answerless=False,
  )
  shards.make(0)
  assert shards.is_done(0) and not shards.is_done(1)
  (first,) = tmp_path.glob("*.tf_record")
  written = first.stat().st_mtime_ns
  pipeline = run_program(
    "bert_span.beam_create_records",
    *("squad", *squad_flags(squad_folder), f"--output_dir={tmp_path}"),
    "--num_shards=2",
  )
  assert "1 of 2 shards written" in pipeline.stderr, pipeline.stderr
  assert first.stat().st_mtime_ns == written
  assert len(windows_of(tmp_path).windows) > 0


@pytest.mark.parametrize(
  ("flags", "message"),
  [
    ((), "Say what to make"),
    (("windows",), "Say what to make"),
    (("squad",), "--output_dir is required"),
    (("squad", "--output_dir=x"), "--vocab_file is required"),
    (("squad", "--output_dir=x", "--vocab_file=v"), "--train_file is required"),
    (
      ("pretraining", "--output_dir=x", "--vocab_file=v"),
      "--input_file or as --dataset",
    ),
    (
      ("squad", "--output_dir=x", "--vocab_file=v", "--dupe_factor=2"),
      "unknown flags --dupe_factor=2",
    ),
  ],
)
def test_flags_that_do_not_fit_end_in_one_line(flags, message):
  found = run_program("bert_span.beam_create_records", *flags)
  assert message in error_line(found)
