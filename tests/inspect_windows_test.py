"""inspect_windows: the job in this process, the flags as a command."""

import json

import pytest
from programs import succeeds
from squad_content import spans, squad_content

from bert_span.conformance_checks.golden_files import sample_goldens
from bert_span.data.bio_preprocessor import BioPreprocessor
from bert_span.jobs.inspect_windows import inspect_windows
from bert_span.text.options import WindowOptions


@pytest.fixture
def small_files(tmp_path):
  """Paths of a file of two questions and of a tiny vocabulary."""
  squad = squad_content(
    "Yes Ada came",
    {"id": 7, "question": "who", "answers": spans(("Ada", 4), ("came", 8))},
    {"id": "lost", "question": "who", "answers": spans(("Bob", 0))},
    version="1.1",
  )
  input_file, vocab_file = tmp_path / "input.json", tmp_path / "vocab.txt"
  input_file.write_text(json.dumps(squad))
  vocab_file.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nwho\nada\ncame\n")
  return str(input_file), str(vocab_file)


def _expected_row(feature):
  """A row of features_<c>_first200_full.jsonl.gz in the program's terms."""
  length, is_max = feature["input_mask_len"], feature["token_is_max_context"]
  same = ("qas_id", "doc_span_index", "start_position", "end_position")
  return {
    **{name: feature[name] for name in same},
    "input_ids": feature["input_ids"][:length],
    "segment_ids": feature["segment_ids"][:length],
    "max_context": [int(is_max.get(str(i), False)) for i in range(length)],
  }


def test_rows_equal_the_originals_features(tmp_path):
  goldens, output = sample_goldens(), tmp_path / "windows.jsonl"
  files = (goldens.path("edge.json"), goldens.vocab_file)
  options = WindowOptions(64, 16, 12)
  inspect_windows(*files, window_options=options, output_file=str(output))
  rows = [json.loads(line) for line in output.read_text().splitlines()]
  golden = goldens.read("features_h.jsonl.gz")
  assert [(row["qas_id"], row["doc_span_index"]) for row in rows] == [
    (feature["qas_id"], feature["doc_span_index"]) for feature in golden
  ]
  full = goldens.read("features_h_first200_full.jsonl.gz")
  for row, feature in zip(rows, full, strict=False):  # the first 200
    spans = row.pop("token_char_spans")
    assert row == _expected_row(feature)
    held = [position for position, span in enumerate(spans) if span]
    assert held == sorted(map(int, feature["token_to_orig_map"]))


@pytest.mark.large  # Loads TensorFlow.
def test_training_rows_hold_the_first_answer_and_findings_go_to_stderr(
  small_files,
):
  input_file, vocab_file = small_files
  result = succeeds(
    *("bert_span.inspect_windows", "--is_training"),
    *(f"--input_file={input_file}", f"--vocab_file={vocab_file}"),
  )
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
  assert "1 question: none of its answers" in result.stderr
  assert "'lost'" in result.stderr


def test_bio_labels_are_those_of_every_annotator(small_files, capsys):
  half, outside, begin = [0.5, 0.0, 0.5], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]
  for annotators, tags in {
    "soft": [outside, half, half],
    "first": [outside, begin, outside],
  }.items():
    inspect_windows(
      *small_files,
      preprocessor_class=BioPreprocessor,
      is_training=True,
      annotator_labels=annotators,
    )
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    # [CLS] who [SEP] yes ada came [SEP]
    assert row["tag_labels"] == [None, None, None, *tags, None]
