"""The job of lint_squad: its report, its result and what it writes."""

import importlib.resources
import json
import re

import pytest

from bert_span.jobs.lint_squad import lint_squad
from bert_span.lint_squad import LintSquadOptions
from bert_span.squad.reader import read_squad
from tests.support.models import shared_model
from tests.support.squad import spans, squad_content

_VOCABULARY = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nwho\nada\ncame\n?\n"


def _write(folder, *questions):
  """Writes questions about "Yes Ada came" to a file; returns its path."""
  path = folder / "ada.json"
  path.write_text(json.dumps(squad_content("Yes Ada came", *questions)))
  return str(path)


def _lint(path, **options):
  return lint_squad(LintSquadOptions(file=path, **options))


def _question(qas_id, answer_start=4, question="Who came?"):
  answers = spans(("Ada", answer_start))
  return {"id": qas_id, "question": question, "answers": answers}


def test_a_warning_fails_only_when_strict_and_an_error_always(tmp_path, capsys):
  path = _write(tmp_path, _question("q1", answer_start=3))
  assert _lint(path)
  assert not _lint(path, strict=True)
  text = capsys.readouterr().out
  assert text.count("WARNING: 1 answer: ") == 2
  assert "without a vocabulary" in text
  questions = (_question("q1", question="X?"), _question("q2", 3, "Y?"))
  path = _write(tmp_path, _question("q1"), *questions)
  assert not _lint(path)
  text = capsys.readouterr().out
  assert "ERROR: 1 question: " in text and "WARNING: 1 answer: " in text


def test_damage_is_reported_and_not_repaired(tmp_path, capsys):
  path = tmp_path / "cut.json"
  path.write_text('{"data": [')
  assert not _lint(path)
  assert "1 error," in capsys.readouterr().out
  assert not _lint(path, json=True, fix=True)
  printed = capsys.readouterr()
  assert "no copy" in printed.err
  assert json.loads(printed.out)["counts"]["error"] == 1
  assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("eager")
def test_fix_writes_a_copy_that_passes_and_json_says_all(tmp_path, capsys):
  path = _write(tmp_path, _question(7, answer_start=3))
  (tmp_path / "vocab.txt").write_text(_VOCABULARY)
  vocab_file = str(tmp_path / "vocab.txt")
  settings = {"vocab_file": vocab_file, "max_seq_length": 128}
  # "Yes" is [UNK]: 1 of 6 WordPieces, which cannot be repaired.
  assert not _lint(path, json=True, fix=True, strict=True, **settings)
  value = json.loads(capsys.readouterr().out)
  assert [finding["kind"] for finding in value["findings"]] == [
    *("answer_moved", "many_unknown_words", "integer_id")
  ]
  assert value["repair"] == {
    "output_file": str(tmp_path / "ada.fixed.json"),
    "log_file": str(tmp_path / "ada.fixed.json.changes.jsonl"),
    "changes": 2,
  }
  assert value["settings"]["vocabulary"] == vocab_file
  log = (tmp_path / "ada.fixed.json.changes.jsonl").read_text().splitlines()
  assert len(log) == 2
  _lint(path, **settings)
  text = capsys.readouterr().out
  lines = [" ".join(line.split()) for line in text.splitlines()]
  assert "question, windows 1 1.0 1 1 1 1 1" in lines
  assert _lint(tmp_path / "ada.fixed.json", strict=True)
  assert "0 errors, 0 warnings" in capsys.readouterr().out


@pytest.mark.large
@pytest.mark.usefixtures("eager")
def test_what_is_given_replaces_what_a_model_has_saved(tmp_path, capsys):
  path, model = _write(tmp_path, _question("q1")), shared_model()
  for given, found in (
    ({}, (32, 30)),
    ({"max_seq_length": 24, "max_answer_length": 5}, (24, 5)),
  ):
    assert _lint(path, preset=model, json=True, **given)
    settings = json.loads(capsys.readouterr().out)["settings"]
    names = ("max_seq_length", "max_answer_length")
    assert tuple(settings[name] for name in names) == found
    assert settings["max_query_length"] == 8


@pytest.mark.usefixtures("eager")
def test_a_model_of_a_hub_gives_its_vocabulary(tmp_path, hub_model, capsys):
  path = _write(tmp_path, _question("q1"))
  assert _lint(path, preset=hub_model, json=True)
  value = json.loads(capsys.readouterr().out)
  assert value["settings"]["vocabulary"] == hub_model
  # "ada" is no word of it: one [UNK].
  assert value["figures"]["wordpieces"]["answer"]["max"] == 1


@pytest.mark.parametrize("split", ["train", "dev"])
def test_the_sample_of_the_package_has_nothing_to_correct(split, capsys):
  sample = importlib.resources.files("bert_span") / "sample"
  path = str(sample / f"{split}.json")
  assert _lint(path, json=True, strict=True)
  findings = json.loads(capsys.readouterr().out)["findings"]
  kinds = {finding["kind"] for finding in findings}
  assert kinds <= {"unanswerable", "several_answers"}
  for example in read_squad(path).examples:
    for answer in example.answers:
      start, text = answer.char_start, answer.text
      around = example.context[max(start - 1, 0) : start + len(text) + 1]
      assert re.fullmatch(rf"\W?{re.escape(text)}\W?", around), around
