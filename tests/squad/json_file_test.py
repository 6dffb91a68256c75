import pytest
from programs import run_python

from bert_span.squad.json_file import load_squad_json

_SQUAD = (
  '{"data": [{"paragraphs": [{"context": "Bees.", "qas": [{"id": "q1", '
  '"question": "Who?"}]}]}]}'
)


@pytest.mark.parametrize(
  ("content", "words"),
  [
    (b"", ["is empty", "Download it again"]),
    (b" \n", ["is empty"]),
    (b"hello", ["not JSON", "line 1, column 1"]),
    (b'{"data": [}', ["not JSON", "line 1, column 11"]),
    (b'{"data": [', ["ends in the middle"]),
    (b'{"data": [{"title": "Be', ["ends in the middle"]),
    (b'{"data": "\xff"}', ["not UTF-8", "0xff at offset 10", "iconv"]),
    ('{"data": []}'.encode("utf-16"), ["not UTF-8", "iconv -f UTF-16"]),
    (
      '{"data": []}'.encode("utf-16-le"),
      ["not UTF-8", "zero byte at offset 1"],
    ),
    (
      '{"data": []}'.encode("utf-32-be"),
      ["not UTF-8", "zero byte at offset 0"],
    ),
    (b"\x1f\x8b\x08rest", ["gzip", "gunzip"]),
    (b"<!DOCTYPE html>", ["HTML", "Download the raw file"]),
    (b"version https://git-lfs.github.com/spec/v1", ["git lfs pull"]),
    (b'{"id": 1}\n{"id": 2}\n', ["JSON Lines", '{"data": [...]}']),
    (b'[{"id": 1}]', ["bare list of 1", '{"data":']),
    (b"null", ["JSON NoneType", '{"data":']),
    (b'{"rows": []}', ["'data' is missing", "keys: 'rows'"]),
    (b"{}", ["'data' is missing", "keys: none"]),
    (b'{"data": {"a": 1}}', ["'data' must be a list", "received dict"]),
    (b"[" * 100_000, ["not JSON"]),
    (b'{"data": [1], "data": []}', ["'data' more than once", "Join or remove"]),
    (
      b'{"data": [{"qas": [1], "zz": 1, "qas": []}, {"a": 1, "a": 2}]}',
      ["'qas' more than once", "{'qas': [], 'zz': 1}", "like that: 2"],
    ),
    (b'{"data": ' + b"9" * 5000 + b"}", ["bees.json"]),
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
  path.write_text(_SQUAD)
  assert load_squad_json(f"file://{path}") == load_squad_json(path)
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
