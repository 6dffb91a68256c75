"""The program bert_span.run as users run it."""

import functools
import json
import subprocess
import sys

import pytest
from programs import run_program

pytestmark = pytest.mark.large  # Every run loads TensorFlow.

inspect_windows = functools.partial(run_program, "bert_span.inspect_windows")
_WINDOW_FLAGS = (
  "--max_seq_length=64",
  "--doc_stride=16",
  "--max_query_length=12",
)


@pytest.fixture
def small_files(tmp_path):
  """Flags that name a file of two questions and a tiny vocabulary."""
  qas = [
    {
      "id": 7,
      "question": "who",
      "answers": [
        {"text": "Ada", "answer_start": 4},
        {"text": "came", "answer_start": 8},
      ],
    },
    {
      "id": "lost",
      "question": "who",
      "answers": [{"text": "Bob", "answer_start": 0}],
    },
  ]
  paragraph = {"context": "Yes Ada came", "qas": qas}
  (tmp_path / "input.json").write_text(
    json.dumps({"version": "1.1", "data": [{"paragraphs": [paragraph]}]})
  )
  (tmp_path / "vocab.txt").write_text(
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\nwho\nada\ncame\n"
  )
  return (
    f"--input_file={tmp_path / 'input.json'}",
    f"--vocab_file={tmp_path / 'vocab.txt'}",
  )


def _expected_row(feature):
  """A row of features_<c>_first200_full.jsonl.gz in the program's terms."""
  length = feature["input_mask_len"]
  is_max = {int(k): v for k, v in feature["token_is_max_context"].items()}
  return {
    "qas_id": feature["qas_id"],
    "doc_span_index": feature["doc_span_index"],
    "input_ids": feature["input_ids"][:length],
    "segment_ids": feature["segment_ids"][:length],
    "start_position": feature["start_position"],
    "end_position": feature["end_position"],
    "max_context": [int(is_max.get(i, False)) for i in range(length)],
  }


def test_rows_equal_the_originals_features(
  edge_cases_folder, uncased_vocab_file, read_json, tmp_path
):
  output = tmp_path / "windows.jsonl"
  result = inspect_windows(
    f"--input_file={edge_cases_folder / 'edge.json'}",
    f"--vocab_file={uncased_vocab_file}",
    f"--output_file={output}",
    *_WINDOW_FLAGS,
  )
  assert result.returncode == 0, result.stderr
  assert result.stdout == ""
  rows = [json.loads(line) for line in output.read_text().splitlines()]
  golden = read_json(edge_cases_folder / "features_h.jsonl.gz")
  assert [(row["qas_id"], row["doc_span_index"]) for row in rows] == [
    (feature["qas_id"], feature["doc_span_index"]) for feature in golden
  ]
  full = read_json(edge_cases_folder / "features_h_first200_full.jsonl.gz")
  for row, feature in zip(rows, full, strict=False):  # the first 200
    spans = row.pop("token_char_spans")
    assert row == _expected_row(feature)
    held = [position for position, span in enumerate(spans) if span]
    assert held == sorted(map(int, feature["token_to_orig_map"]))


def test_training_rows_hold_the_first_answer_and_notices_go_to_stderr(
  small_files,
):
  result = inspect_windows(*small_files, "--is_training")
  assert result.returncode == 0, result.stderr
  (line,) = result.stdout.splitlines()
  assert json.loads(line) == {
    "qas_id": "7",
    "doc_span_index": 0,
    "input_ids": [2, 4, 3, 1, 5, 6, 3],
    "segment_ids": [0, 0, 0, 1, 1, 1, 1],
    "start_position": 4,
    "end_position": 4,
    "token_char_spans": [None, None, None, [0, 3], [4, 7], [8, 12], None],
    "max_context": [0, 0, 0, 1, 1, 1, 0],
  }
  assert "1 question was left out of training" in result.stderr
  assert "'lost'" in result.stderr


def test_a_version_2_flag_that_does_not_fit_the_file_is_one_line(
  small_files, tmp_path
):
  output = tmp_path / "windows.jsonl"
  result = inspect_windows(
    *small_files,
    "--is_training",
    "--version_2_with_negative",
    f"--output_file={output}",
  )
  assert result.returncode == 1
  assert "Traceback" not in result.stderr
  assert result.stderr.splitlines()[-1].startswith("inspect_windows: ")
  assert "--version_2_with_negative with a SQuAD 1.1 file" in result.stderr
  assert not output.exists()


@pytest.mark.parametrize(
  ("flags", "message"),
  [
    (["--vocab_file=v"], "--input_file is required"),
    (["--input_file=i"], "--vocab_file is required"),
    (["--input_file=i", "--vocab_file=v", "--output_file="], "--output_file"),
    (["--input_file=i", "--vocab_file=v", "stray"], "unknown arguments stray"),
  ],
)
def test_a_bad_flag_ends_in_one_line(flags, message):
  result = inspect_windows(*flags)
  assert result.returncode == 1
  assert result.stdout == ""
  (line,) = result.stderr.splitlines()
  assert line.startswith("inspect_windows: ")
  assert message in line


def test_a_reader_that_stops_early_is_no_error(repository, small_files):
  command = [sys.executable, "-m", "bert_span.inspect_windows", *small_files]
  process = subprocess.Popen(
    command, cwd=repository, stdout=subprocess.PIPE, stderr=subprocess.PIPE
  )
  process.stdout.close()  # as `| head` after its last line
  errors = process.stderr.read().decode()
  process.stderr.close()
  assert process.wait(timeout=120) == 0, errors
  assert "BrokenPipe" not in errors


def test_bio_labels_are_those_of_every_annotator(small_files):
  flags = (*small_files, *_WINDOW_FLAGS, "--is_training", "--head=bio")
  run = inspect_windows(*flags)
  assert run.returncode == 0, run.stderr
  (row,) = [json.loads(line) for line in run.stdout.splitlines()]
  assert row["qas_id"] == "7"
  assert "start_position" not in row
  # [CLS] who [SEP] yes ada came [SEP]
  none, half, outside = None, [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]
  assert row["tag_labels"] == [none, none, none, outside, half, half, none]
  run = inspect_windows(*flags, "--annotator_labels=first")
  (row,) = [json.loads(line) for line in run.stdout.splitlines()]
  begin = [1.0, 0.0, 0.0]
  assert row["tag_labels"][3:6] == [outside, begin, outside]
