"""Questions of both kinds of files, and records that cannot be read."""

import json

import pytest

from bert_span.beam.question_files import (
  BadRecord,
  QuestionFile,
  RecordLocation,
  find_question_files,
  read_questions,
)
from bert_span.squad.example import SquadExample

_ROWS = [
  {"id": "a", "question": "Who?", "context": "Anna built the café."},
  {"id": "b", "question": "When?", "context": "In 1895. 🙂"},
]


def write(path, rows, **options):
  """Writes rows in the format of the path's ending."""
  if path.suffix == ".jsonl":
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
  else:
    pyarrow = pytest.importorskip("pyarrow", reason="comes with Beam")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(rows), path, **options)


def read(path, questions=()):
  (file,) = find_question_files(str(path))
  return list(read_questions(file, questions))


def check_bad(records, *parts):
  """Checks that each record is bad, and that its reason has a part."""
  for record, part in zip(records, parts, strict=True):
    assert isinstance(record, BadRecord)
    assert part in record.reason


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_both_formats_give_the_same_questions(tmp_path, ending):
  path = tmp_path / f"questions.{ending}"
  write(path, _ROWS)
  numbered = [(record.location.number, record.example) for record in read(path)]
  examples = [SquadExample(*row.values()) for row in _ROWS]
  assert numbered == list(enumerate(examples, 1))
  # The same questions about every passage.
  write(path, [{"id": "p", "context": "Anna."}])
  (one,) = read(path, ["Who?"])
  assert (one.example.qas_id, one.example.question) == ("p", "Who?")
  two = read(path, ["Who?", "When?"])
  places = [(r.example.qas_id, r.location.question) for r in two]
  assert places == [("p#0", 0), ("p#1", 1)]


def test_bad_lines_are_located_and_the_others_are_read(tmp_path):
  path = tmp_path / "a.jsonl"
  lines = [
    *(b'{"id": 7, "question": "q", "context": "c"}', b"{", b""),
    *(b'{"id": "x", "question": "q"}', b'{"id": "x", "context": "c"}'),
    b'{"id": "", "question": "q", "context": "c"}',
    b'{"id": "x", "question": 3, "context": "c"}',
    *(b"[1]", b'{"id": "\xff"}', b""),
  ]
  path.write_bytes(b"\n".join(lines))
  good, *bad = read(path)
  assert good.example == SquadExample("7", "q", "c")
  assert [record.location.number for record in bad] == [2, *range(4, 10)]
  fields = ("'context'", "'question'", "'id'", "'question'")
  check_bad(bad, "JSON", *fields, "object", "UTF-8")
  assert (bad[0].content, bad[1].qas_id) == ("{", "x")


def test_bytes_are_read_as_utf_8_and_a_cut_off_file_is_one_bad_record(tmp_path):
  path = tmp_path / "a.parquet"
  binary = {name: text.encode() for name, text in _ROWS[0].items()}
  write(path, [binary, {**binary, "context": b"\xff"}])
  good, bad = read(path)
  assert good.example == SquadExample(*_ROWS[0].values())
  check_bad([bad], "'context' is not UTF-8")
  path.write_bytes(path.read_bytes()[:-4])
  (bad,) = read(path)
  assert bad.location == RecordLocation(str(path), 1)
  check_bad([bad], "Damaged")


def test_a_damaged_page_of_a_parquet_file_costs_its_row_group(tmp_path):
  from pyarrow import parquet

  path = tmp_path / "a.parquet"
  rows = [{**_ROWS[0], "id": f"q{i}"} for i in range(9)]
  options = {"use_dictionary": False, "write_page_checksum": True}
  write(path, rows, row_group_size=3, **options)
  column = parquet.ParquetFile(path).metadata.row_group(1).column(2)
  content = bytearray(path.read_bytes())
  end = column.data_page_offset + column.total_compressed_size
  content[end - 9 : end - 3] = b"\xff" * 6
  path.write_bytes(content)
  *_, third, bad, seventh, _, _ = read(path)
  check_bad([bad], "the rows 4 to 6")
  numbers = [record.location.number for record in (third, bad, seventh)]
  assert numbers == [3, 4, 7]
  assert seventh.example.qas_id == "q6"


def test_files_are_found_once_and_other_formats_are_refused(tmp_path):
  for name in ("b.jsonl", "a.jsonl", "c.csv", "d.json", "e.tfrecord"):
    (tmp_path / name).touch()
  files = find_question_files(f"{tmp_path}/*.jsonl,{tmp_path}/a.jsonl")
  paths = (f"{tmp_path}/a.jsonl", f"{tmp_path}/b.jsonl")
  assert files == [QuestionFile(path, "jsonl") for path in paths]
  for path in map(str, tmp_path.glob("[cde].*")):
    assert find_question_files(path, "jsonl")[0].format == "jsonl"
    for format in (None, "squad", "tfrecord"):
      with pytest.raises(ValueError, match="Convert") as caught:
        find_question_files(path, format)
      received = repr(format or path[path.rindex(".") :])
      for part in (path, " input_format", received):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", ["id", "question", "context"])
def test_half_a_character_costs_its_record_only(tmp_path, name):
  path = tmp_path / "a.jsonl"
  values = [{**_ROWS[0], name: "a \ud800"}, {"id": "\udc00"}, {"\ud800": 1}]
  write(path, [*values, _ROWS[1]])
  *bad, good = read(path)
  assert good.example.qas_id == "b"
  check_bad(bad, name, "'id'", "'id'")
  for record in bad:  # As Beam passes them on.
    for text in (record.reason, record.content, record.qas_id):
      text.encode("utf-8")
  # The program's own questions, too.
  check_bad(read(path, ["Who \udcff?"])[-1:], "'question'")
