"""The job of inspect_windows: the rows of windows."""

import json

import pytest

from bert_span.inspect_windows import InspectWindowsOptions
from bert_span.jobs.inspect_windows import inspect_windows
from tests.support.squad import spans, squad_content


@pytest.fixture
def small_files(tmp_path):
  """A file of two questions and a tiny vocabulary, as options."""
  squad = squad_content(
    "Yes Ada came",
    {"id": 7, "question": "who", "answers": spans(("Ada", 4), ("came", 8))},
    {"id": "lost", "question": "who", "answers": spans(("Bob", 0))},
    version="1.1",
  )
  input_file, vocab_file = tmp_path / "input.json", tmp_path / "vocab.txt"
  input_file.write_text(json.dumps(squad))
  vocab_file.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nwho\nada\ncame\n")
  return {"input_file": input_file, "vocab_file": vocab_file}


@pytest.mark.usefixtures("eager")
def test_without_training_every_question_has_rows_without_labels(
  small_files, tmp_path
):
  output = tmp_path / "windows.jsonl"
  inspect_windows(InspectWindowsOptions(**small_files, output_file=output))
  rows = map(json.loads, output.read_text().splitlines())
  found = [(row["qas_id"], row["start_position"]) for row in rows]
  assert found == [("7", None), ("lost", None)]


@pytest.mark.usefixtures("eager")
def test_training_rows_hold_the_first_answer_and_findings_go_to_stderr(
  small_files, capsys
):
  inspect_windows(InspectWindowsOptions(**small_files, is_training=True))
  printed = capsys.readouterr()
  (line,) = printed.out.splitlines()
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
  assert "1 question: " in printed.err and "'lost'" in printed.err


@pytest.mark.usefixtures("eager")
def test_bio_labels_are_those_of_every_annotator(small_files, capsys):
  half, outside, begin = [0.5, 0.0, 0.5], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]
  for annotators, tags in {
    "soft": [outside, half, half],
    "first": [outside, begin, outside],
  }.items():
    options = InspectWindowsOptions(
      **small_files, head="bio", is_training=True, annotator_labels=annotators
    )
    inspect_windows(options)
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    # [CLS] who [SEP] yes ada came [SEP]
    assert row["tag_labels"] == [None, None, None, *tags, None]
