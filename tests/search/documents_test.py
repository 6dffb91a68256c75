"""Documents and the passages they are cut into."""

import json

import pytest

from bert_span.search.documents import Passage, cut_passages, read_passages


def test_a_passage_ends_with_the_paragraph_that_is_long_enough():
  long = "x" * 1_000
  text = f"\n One.\n\n{long}\n \n\n Three.\n"
  passages = list(cut_passages("a.txt", text))
  assert passages == [
    Passage("a.txt", 2, f"One.\n\n{long}"),
    Passage("a.txt", text.index("Three"), "Three."),
  ]
  for empty in ("", " \n\n "):
    assert list(cut_passages("a.txt", empty)) == []


def test_kinds_of_documents(tmp_path):
  (tmp_path / "notes").mkdir()
  (tmp_path / "notes" / "a.md").write_text("# A mill\n\nIt stood.", "utf-8")
  (tmp_path / "b.html").write_text(
    "<title>B</title><script>no()</script><p>One <b>tide</b>.</p><p>Two",
    "utf-8",
  )
  lines = [json.dumps({"body": text}) for text in ("first", "second")]
  (tmp_path / "c.jsonl").write_text("\n".join([*lines, ""]), "utf-8")
  found = read_passages(str(tmp_path / "**"), text_field="body")
  shown = [(p.document.removeprefix(f"{tmp_path}/"), p.text) for p in found]
  assert [(name, text.split()) for name, text in shown] == [
    ("b.html", ["B", "One", "tide.", "Two"]),
    ("c.jsonl:1", ["first"]),
    ("c.jsonl:2", ["second"]),
    ("notes/a.md", ["#", "A", "mill", "It", "stood."]),
  ]


@pytest.mark.parametrize(
  ("name", "content", "named"),
  [
    ("a.pdf", "x", "a.pdf"),
    ("a.jsonl", '{"text": "x"}\n{"text": 1}', "line 2"),
    ("a.jsonl", "x", "line 1"),
    ("a.txt", "\x00", "a.txt"),
    ("a.txt", "", "a.txt"),
  ],
)
def test_other_files_are_refused_by_name(tmp_path, name, content, named):
  (tmp_path / name).write_text(content, "utf-8")
  with pytest.raises(ValueError, match=named):
    read_passages(str(tmp_path / "*"))
  with pytest.raises(ValueError, match="nothing"):
    read_passages(str(tmp_path / "nothing*"))
