"""The program bert_span.run as users run it."""

import functools
import json

import pytest
from programs import run_program

lint_squad = functools.partial(run_program, "bert_span.lint_squad")
_VOCABULARY = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nwho\nada\ncame\n?\n"


@pytest.fixture
def squad_file(tmp_path):
  """A function that writes questions about "Yes Ada came" as a file."""

  def write(*questions):
    paragraph = {"context": "Yes Ada came", "qas": list(questions)}
    path = tmp_path / "ada.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    return path

  return write


def _question(qas_id, answer_start=4, question="Who came?"):
  answers = [{"text": "Ada", "answer_start": answer_start}]
  return {"id": qas_id, "question": question, "answers": answers}


def test_a_good_file_passes_with_its_figures(squad_file):
  result = lint_squad(squad_file(_question("q1")), "--strict")
  assert result.returncode == 0, result.stderr
  assert result.stderr == ""
  assert "0 errors, 0 warnings, 0 notes." in result.stdout
  assert "passage, characters" in result.stdout
  assert "Not checked without a vocabulary" in result.stdout


def test_a_warning_fails_only_when_strict(squad_file):
  path = squad_file(_question("q1", answer_start=3))
  result = lint_squad(path)
  assert result.returncode == 0
  assert "WARNING: 1 answer is not at its answer_start" in result.stdout
  assert lint_squad(path, "--strict").returncode == 1


def test_an_error_fails_and_the_rest_is_checked_all_the_same(squad_file):
  path = squad_file(
    _question("q1"), _question("q1", question="X?"), _question("q2", 3, "Y?")
  )
  result = lint_squad(path)
  assert result.returncode == 1
  assert "ERROR: 1 question has the id of an earlier one" in result.stdout
  assert "WARNING: 1 answer is not at its answer_start" in result.stdout


@pytest.mark.parametrize("form", ["--json", "--nojson"])
def test_damage_is_reported_in_the_form_asked_for(tmp_path, form):
  path = tmp_path / "cut.json"
  path.write_text('{"data": [')
  result = lint_squad(path, form, "--fix")
  assert result.returncode == 1
  assert result.stderr == "lint_squad: no copy was written.\n"
  assert "ends in the middle" in result.stdout
  assert not list(tmp_path.glob("*.fixed.json"))
  if form == "--json":
    assert json.loads(result.stdout)["counts"]["error"] == 1


@pytest.mark.parametrize(
  ("arguments", "message"),
  [
    ((), "Give the one FILE to check"),
    (("a.json", "b.json"), "Received: a.json b.json"),
    (("none.json",), "No such file or directory: 'none.json'"),
    (("a.json", "--preset=p", "--vocab_file=v"), "--vocab_file"),
    (("a.json", "--preset=p", "--do_lower_case"), "--do_lower_case"),
    (("a.json", "--output_file=b.json"), "--fix"),
  ],
)
def test_a_mistake_ends_in_one_line(arguments, message):
  result = lint_squad(*arguments)
  assert result.returncode == 1
  assert result.stdout == ""
  (line,) = result.stderr.splitlines()
  assert line.startswith("lint_squad: ")
  assert message in line


@pytest.mark.large  # Loads TensorFlow.
def test_fix_writes_a_copy_that_passes_and_json_says_all(squad_file, tmp_path):
  path = squad_file(_question(7, answer_start=3))
  (tmp_path / "vocab.txt").write_text(_VOCABULARY)
  flags = (f"--vocab_file={tmp_path / 'vocab.txt'}", "--json", "--strict")
  result = lint_squad(path, *flags, "--fix", "--max_seq_length=128")
  # "Yes" is [UNK]: 1 of 6 WordPieces, which no repair mends.
  assert result.returncode == 1, result.stderr
  value = json.loads(result.stdout)
  assert [finding["kind"] for finding in value["findings"]] == [
    *("answer_moved", "many_unknown_words", "integer_id")
  ]
  assert value["repair"] == {
    "output_file": str(tmp_path / "ada.fixed.json"),
    "log_file": str(tmp_path / "ada.fixed.changes.jsonl"),
    "changes": 2,
  }
  assert value["settings"]["max_seq_length"] == 128
  assert value["figures"]["windows_per_question"]["mean"] == 1.0
  assert value["figures"]["unknown"]["unknown_tokens"] == 1
  log = (tmp_path / "ada.fixed.changes.jsonl").read_text().splitlines()
  assert [json.loads(line)["kind"] for line in log] == [
    *("integer_id", "answer_moved")
  ]
  again = lint_squad(tmp_path / "ada.fixed.json", "--strict")
  assert again.returncode == 0, again.stdout
  assert "0 errors, 0 warnings, 0 notes." in again.stdout
