"""Damaged files: a result, or an error that says what to do."""

import json
import re

import hypothesis
import pytest
from damaged_json import damaged_files
from programs import run_program
from unicode_texts import REPRODUCIBLE

from bert_span.answers.files.prediction_reader import (
  read_na_probs,
  read_predictions,
)
from bert_span.jobs.evaluation import score_files
from bert_span.squad.reader import read_squad

_CONTEXT = "Yes Ada came é 🙂 by herself."
_MOVED = {"text": "Ada", "answer_start": 3}
_QUESTIONS = [
  {
    "id": "q1",
    "question": "who",
    "answers": [
      {"text": "Ada", "answer_start": 4},
      {"text": "🙂", "answer_start": 15},
    ],
    "is_impossible": False,
  },
  {"id": 3, "question": "?", "annotations": [[_MOVED], []]},
  {"id": "q2", "question": "when", "answers": [], "is_impossible": True},
]
_SQUAD = {
  "version": "v2.0",
  "data": [
    {
      "title": "Ada",
      "paragraphs": [{"context": _CONTEXT, "qas": _QUESTIONS}],
    },
    {"title": "None", "paragraphs": []},
  ],
}
_PREDICTIONS = {"q1": "Ada", "3": "Ada", "q2": ""}
_NA_PROBS = {"q1": -2.5, "3": 0, "q2": 3}
# What a remedy tells people to do.
_REMEDY = re.compile(
  r"\b(add|check|convert|correct|download|fill|give|join|mark|predict|put|"
  r"remove|rename|run|wrap|write)\b",
  re.IGNORECASE,
)


def _result_or_clear_error(read, *paths):
  """What read(*paths) returns; an error must name a file and end in a remedy.

  Any other exception, and a subclass such as UnicodeDecodeError, is a failure.
  """
  try:
    return read(*map(str, paths))
  except ValueError as error:
    assert type(error) is ValueError
    message = str(error)
  assert any(str(path) in message for path in paths)
  assert len(message) < 6000  # 10 errors, and no file's content
  first, *others = message.splitlines()
  assert others or _REMEDY.search(first[-200:]), message
  for line in others:
    assert line.startswith("  ")
    assert _REMEDY.search(line[-200:]) or line.startswith("  and "), line
  return None


@pytest.fixture(scope="module")
def write(tmp_path_factory):
  """A function that writes bytes as a file and returns its path."""
  folder = tmp_path_factory.mktemp("damaged")

  def write_file(name, content):
    (folder / name).write_bytes(content)
    return folder / name

  return write_file


@hypothesis.settings(REPRODUCIBLE, max_examples=750)
@hypothesis.given(content=damaged_files(_SQUAD))
def test_a_squad_file_is_read_or_refused_clearly(write, content):
  squad_file = _result_or_clear_error(read_squad, write("squad", content))
  if squad_file is None:
    return
  assert squad_file.examples
  assert all(line.isprintable() for line in squad_file.report.lines())
  for example in squad_file.examples:
    assert isinstance(example.qas_id, str)
    for answer in example.answers:
      if answer.char_start >= 0:
        assert example.context.startswith(answer.text, answer.char_start)


@pytest.mark.parametrize(
  ("read", "tree", "kind"),
  [
    (read_predictions, _PREDICTIONS, str),
    (read_na_probs, _NA_PROBS, (int, float)),
  ],
)
def test_a_prediction_file_is_read_or_refused_clearly(write, read, tree, kind):
  @hypothesis.settings(REPRODUCIBLE, max_examples=200)
  @hypothesis.given(content=damaged_files(tree))
  def check(content):
    values = _result_or_clear_error(read, write("predictions", content))
    for qas_id, value in (values or {}).items():
      assert isinstance(qas_id, str)
      assert isinstance(value, kind)

  check()


@hypothesis.settings(REPRODUCIBLE, max_examples=150)
@hypothesis.given(
  squad=damaged_files(_SQUAD),
  predictions=damaged_files(_PREDICTIONS),
  na_probs=damaged_files(_NA_PROBS),
)
def test_files_are_scored_or_refused_clearly(
  write, squad, predictions, na_probs
):
  paths = [
    write("squad.json", squad),
    write("predictions.json", predictions),
    write("na_probs.json", na_probs),
  ]
  scores = _result_or_clear_error(score_files, *paths)
  assert scores is None or 0 <= scores["f1"] <= 100


@pytest.mark.parametrize("depth", [*range(940, 1000, 2), 5_000])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_nesting_at_the_limit_of_recursion_is_no_crash(write, depth, brackets):
  opening = brackets[0] if brackets == "[]" else '{"a":'
  nested = opening * depth + "1" + brackets[1] * depth
  _result_or_clear_error(
    read_predictions, write("deep", f'{{"q": {nested}}}'.encode())
  )
  squad = json.dumps({**_SQUAD, "version": "VERSION"})
  _result_or_clear_error(
    read_squad, write("deep", squad.replace('"VERSION"', nested).encode())
  )


_DAMAGE = {
  "cut": json.dumps(_SQUAD).encode()[:-40],
  "empty": b"",
  "utf-16": json.dumps(_SQUAD).encode("utf-16"),
  "one byte": json.dumps(_SQUAD).encode().replace(b"who", b"w\xffo"),
  "type": json.dumps(_SQUAD).replace('"who"', "[7]").encode(),
  "key": json.dumps(_SQUAD).replace('"question": "who", ', "").encode(),
  "deep": b'{"data": ' + b"[" * 100_000,
  "twice": json.dumps(_SQUAD).replace('"q2"', '"q1"').encode(),
  "line break": json.dumps(_SQUAD).replace('"q2"', '"q\\n2"').encode(),
}


@pytest.mark.parametrize("damage", _DAMAGE)
def test_a_damaged_squad_file_is_refused_by_name(write, damage):
  squad = write("squad.json", _DAMAGE[damage])
  # Without a prediction of q2, which 2.0's metrics refuse.
  predictions = write("predictions.json", b'{"q1": "Ada"}')
  assert _result_or_clear_error(score_files, squad, predictions) is None


@pytest.mark.parametrize(
  "content",
  [b'{"q1": 7}', b'{"q1": "A', b"[]", b'{"q1": "\xff"}', b'{"a\\nb": null}'],
)
def test_damaged_predictions_are_refused_by_name(write, content):
  squad = write("squad.json", json.dumps(_SQUAD).encode())
  predictions = write("predictions.json", content)
  assert _result_or_clear_error(score_files, squad, predictions) is None


@pytest.mark.parametrize(
  ("program", "squad_flag", "flag", "content"),
  [
    ("evaluate", "predict_file", "predictions_file", b'{"q1": "Ada"}'),
    pytest.param(
      "inspect_windows",
      *("input_file", "vocab_file", b"[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n"),
      marks=pytest.mark.large,
    ),
  ],
)
def test_a_program_ends_in_one_line(write, program, squad_flag, flag, content):
  squad, other = write("squad.json", _DAMAGE["cut"]), write("other", content)
  result = run_program(
    f"bert_span.{program}", f"--{squad_flag}={squad}", f"--{flag}={other}"
  )
  assert result.returncode == 1
  assert result.stdout == ""
  assert "Traceback" not in result.stderr
  # TensorFlow's notes on processors may come before it.
  (line,) = re.findall(f"^{program}: .*", result.stderr, re.MULTILINE)
  assert result.stderr.endswith(f"{line}\n")
  assert str(squad) in line
