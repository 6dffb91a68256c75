import json
import pathlib
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_span.squad.lint.linter import lint_squad_file
from bert_span.squad.lint.repair import (
  Change,
  repair_squad_file,
  repair_squad_text,
)

_TEXT = """{"version": 1.10, "note": "id: 7, \\"answer_start\\": 3", "data": [
  {"paragraphs": [{"qas": [
    {"answers": [{"text": "Zoë", "answer_start":  4, "score": 1e2},
                 {"answer_start": 0, "text": "Zoë"}],
     "question": "Who? 99", "id": 7, "extra": [1, -2, {"k\\u00e9y": 3}]}
  ], "context": "It is Zoë\\ud83d 12.", "numbers": [0.5, -1, 12]}],
  "title": "naïve"}]}
"""
_REPAIRED = (
  _TEXT.replace('"answer_start":  4', '"answer_start":  6')
  .replace('"answer_start": 0', '"answer_start": 6')
  .replace('"id": 7', '"id": "7"')
)
_WHERE = "data[0].paragraphs[0].qas[0]"
_CHANGES = [
  Change(f"{_WHERE}.id", "7", "integer_id", 7, "7"),
  Change(f"{_WHERE}.answers[0].answer_start", "7", "answer_moved", 4, 6),
  Change(f"{_WHERE}.answers[1].answer_start", "7", "answer_moved", 0, 6),
]


def test_only_the_wrong_numbers_are_replaced_in_the_text():
  assert _REPAIRED != _TEXT
  assert repair_squad_text(_TEXT) == (_REPAIRED, _CHANGES)


def test_a_repaired_text_is_repaired_no_further():
  assert repair_squad_text(_REPAIRED) == (_REPAIRED, [])


def test_a_byte_order_mark_and_line_ends_stay(tmp_path):
  path, copy = tmp_path / "a.json", tmp_path / "b.json"
  path.write_bytes(("\ufeff" + _TEXT.replace("\n", "\r\n")).encode())
  changes = repair_squad_file(path, copy, tmp_path / "log.jsonl")
  assert changes == _CHANGES
  expected = ("\ufeff" + _REPAIRED.replace("\n", "\r\n")).encode()
  assert copy.read_bytes() == expected


def test_the_log_has_a_line_a_change_and_the_file_itself_stays(tmp_path):
  path, copy, log = (tmp_path / name for name in ("a", "b", "log"))
  path.write_text(_TEXT, encoding="utf-8")
  repair_squad_file(path, copy, log)
  assert path.read_text(encoding="utf-8") == _TEXT
  assert [json.loads(line) for line in log.read_text().splitlines()] == [
    {
      "path": change.json_path,
      "question_id": "7",
      "kind": change.kind,
      "before": change.before,
      "after": change.after,
    }
    for change in _CHANGES
  ]


def test_a_file_may_be_repaired_in_place(tmp_path):
  path = tmp_path / "a.json"
  path.write_text(_TEXT, encoding="utf-8")
  repair_squad_file(path, path, tmp_path / "log.jsonl")
  assert path.read_text(encoding="utf-8") == _REPAIRED


@pytest.mark.parametrize(
  ("text", "start"),
  [("lost", 0), ("plan", 9), ("", 3), ("the plan", 0)],
)
def test_what_has_no_one_place_or_is_right_is_not_touched(text, start):
  answer = {"text": text, "answer_start": start}
  question = {"id": "q", "question": "?", "answers": [answer]}
  paragraph = {"context": "the plan and a plan", "qas": [question]}
  content = json.dumps({"data": [{"paragraphs": [paragraph]}]})
  assert repair_squad_text(content) == (content, [])


def test_of_a_key_that_stands_twice_the_one_that_counts_is_repaired():
  content = (
    '{"data": [{"paragraphs": [{"context": "a b", "qas": [{"id": "q", '
    '"question": "?", "answers": [{"text": "b", "answer_start": 0, '
    '"answer_start": 1}]}]}]}]}'
  )
  repaired, (change,) = repair_squad_text(content)
  assert repaired == content.replace('"answer_start": 1}', '"answer_start": 2}')
  assert (change.before, change.after) == (1, 2)


def test_a_second_lint_finds_nothing_of_what_was_repaired(
  shared_data, tmp_path
):
  copy = tmp_path / "fixed.json"
  path = shared_data / "covidqa_part.json"
  before = lint_squad_file(path)
  changes = repair_squad_file(path, copy, tmp_path / "log.jsonl")
  repairable = [f for f in before.findings if f.repair is not None]
  assert len(changes) == len(repairable) == 98
  after = lint_squad_file(copy)
  assert [f for f in before.findings if f.repair is None] == after.findings
  assert after.examples == before.examples
  # All else is equal: putting the old numbers back gives the file again.
  top = json.loads(copy.read_text(encoding="utf-8"))
  for change in changes:
    steps = change.json_path.replace("[", ".").replace("]", "").split(".")
    owner = top
    for step in steps[:-1]:
      owner = owner[int(step) if step.isdecimal() else step]
    assert owner[steps[-1]] == change.after
    owner[steps[-1]] = change.before
  assert top == json.loads(path.read_text(encoding="utf-8"))


_ANY_JSON = st.recursive(
  st.none()
  | st.booleans()
  | st.integers()
  | st.floats()
  | st.text(st.characters(exclude_categories=())),
  lambda inner: (
    st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
  ),
  max_leaves=6,
)


@st.composite
def _any_squad(draw):
  """JSON of SQuAD's form with any texts, offsets, ids and further keys."""
  context = draw(st.text("ab \\\"'é\ud83d🙂\n", max_size=12))
  questions = draw(
    st.lists(
      st.fixed_dictionaries(
        {
          "answers": st.lists(
            st.fixed_dictionaries(
              {
                "answer_start": st.integers(-3, 15),
                "text": st.text("ab é", max_size=2),
              },
              optional={"x": _ANY_JSON},
            ),
            max_size=3,
          ),
          "id": st.integers() | st.text(max_size=2),
          "question": st.text(max_size=2),
        },
        optional={"is_impossible": st.booleans(), "x": _ANY_JSON},
      ),
      min_size=1,
      max_size=3,
    )
  )
  paragraph = {"x": draw(_ANY_JSON), "qas": questions, "context": context}
  squad = {"x": draw(_ANY_JSON), "data": [{"paragraphs": [paragraph]}]}
  return json.dumps(squad, ensure_ascii=True)


@settings(max_examples=60, deadline=None)
@given(_any_squad())
def test_any_file_is_linted_and_its_repair_leaves_nothing_to_repair(content):
  with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "any.json")
    path.write_text(content)
    before = lint_squad_file(path)
    repaired, changes = repair_squad_text(content)
    path.write_text(repaired)
    after = lint_squad_file(path)
  assert len(changes) == sum(f.repair is not None for f in before.findings)
  assert not any(finding.repair is not None for finding in after.findings)
  assert after.examples == before.examples
