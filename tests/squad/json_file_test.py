import json

import pytest
from programs import run_python

from bert_span.squad.json_file import load_squad_json, question_records
from bert_span.squad.reader import read_squad

_SQUAD = (
  '{"data": [{"paragraphs": [{"context": "Bees.", "qas": [{"id": "q1", '
  '"question": "Who?"}]}]}]}'
)


@pytest.mark.parametrize(
  ("content", "words"),
  [
    (b"", ["is empty"]),
    (b'[{"id": 1}]', ["bare list of 1", '{"data":']),
    (b"null", ["JSON NoneType", '{"data":']),
    (b'{"rows": []}', ["'data' is missing", "keys: 'rows'"]),
    (b"{}", ["'data' is missing", "keys: none"]),
    (b'{"data": {"a": 1}}', ["'data' must be a list", "received dict"]),
    (b'{"data": [1], "data": []}', ["'data' more than once", "Join or remove"]),
    (
      b'{"data": [{"qas": [1], "zz": 1, "qas": []}, {"a": 1, "a": 2}]}',
      ["'qas' more than once", "{'qas': [], 'zz': 1}", "like that: 2"],
    ),
  ],
)
def test_what_is_no_squad_file_is_named_for_what_it_is(
  tmp_path, content, words
):
  path = tmp_path / "bees.json"
  path.write_bytes(content)
  with pytest.raises(ValueError) as caught:
    load_squad_json(path)
  message = str(caught.value)
  assert message.startswith(f"{path}: ")
  for word in words:
    assert word in message


def test_an_absent_file_is_an_os_error_that_names_it(tmp_path):
  with pytest.raises(FileNotFoundError, match=r"none\.json"):
    load_squad_json(tmp_path / "none.json")


def test_a_path_with_a_scheme_goes_through_gfile(tmp_path):
  path = tmp_path / "bees.json"
  path.write_text("\ufeff" + _SQUAD)
  assert load_squad_json(f"file://{path}") == json.loads(_SQUAD)
  assert load_squad_json(path) == json.loads(_SQUAD)
  with pytest.raises(OSError, match=r"none\.json: cannot be read"):
    load_squad_json(f"file://{tmp_path}/none.json")


def test_plain_files_are_read_without_loading_tensorflow(tmp_path):
  path = tmp_path / "bees.json"
  path.write_text(_SQUAD)
  code = (
    "import sys; from bert_span.squad.reader import read_squad; "
    "read_squad(sys.argv[1]); print('tensorflow' in sys.modules)"
  )
  result = run_python("-c", code, path, check=True)
  assert result.stdout.strip() == "False"


def test_questions_come_with_their_places_in_the_readers_order(
  goldens, read_json
):
  first, second = {"id": 1}, {"id": 2}
  paragraphs = [{"qas": []}, {"qas": [first, second]}]
  one, two = question_records({"data": [{"paragraphs": paragraphs}]})
  assert one == ("data[0].paragraphs[1].qas[0]", paragraphs[1], first)
  assert two == ("data[0].paragraphs[1].qas[1]", paragraphs[1], second)
  path = goldens / "edge-v2.json"
  records = question_records(read_json(path))
  assert [record.question["id"] for record in records] == [
    example.qas_id for example in read_squad(path).examples
  ]
