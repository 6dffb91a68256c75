"""Documents of a glob, cut into passages, and those that are skipped."""

import os

import pytest

from bert_span.search.documents import (
  DocumentPassage,
  cut_passages,
  read_passages,
)


def test_a_passage_ends_with_the_paragraph_that_is_long_enough():
  long = "x" * 1_000
  text = f"\n One.\n\n{long}\n \n\n Three.\n"
  passages = list(cut_passages("a.txt", text))
  assert passages == [
    DocumentPassage("a.txt", 2, f"One.\n\n{long}"),
    DocumentPassage("a.txt", text.index("Three"), "Three."),
  ]
  for length, count in ((999, 1), (1_000, 2)):
    text = f"{'x' * length}\n\nTwo."
    assert len(list(cut_passages("a.txt", text))) == count
  for empty in ("", " \n\n "):
    assert list(cut_passages("a.txt", empty)) == []


def test_kinds_of_documents(tmp_path):
  (tmp_path / "notes").mkdir()
  html = "<title>B</title><script>no()</script><p>One <b>tide</b>.</p><p>Two"
  for name, text in (
    ("notes/a.md", "# A mill\n\nIt stood."),
    ("b.html", html),
    ("c.jsonl", '{"body": "first"}\n{"body": "second"}\n'),
  ):
    (tmp_path / name).write_text(text, "utf-8")
  found = read_passages(str(tmp_path / "**"), text_field="body")
  shown = [(p.document.removeprefix(f"{tmp_path}/"), p.text) for p in found]
  assert [(name, text.split()) for name, text in shown] == [
    ("b.html", ["B", "One", "tide.", "Two"]),
    ("c.jsonl:1", ["first"]),
    ("c.jsonl:2", ["second"]),
    ("notes/a.md", ["#", "A", "mill", "It", "stood."]),
  ]


def test_each_real_file_is_read_once_through_links_and_cycles(tmp_path, capsys):
  (tmp_path / "notes/of").mkdir(parents=True)
  (tmp_path / "notes/of/a.md").write_text("A mill.", "utf-8")
  (tmp_path / "notes/b.md").symlink_to(tmp_path / "notes/of/a.md")
  for name in ("again", "once_more"):
    (tmp_path / "notes" / name).symlink_to(".")
  os.mkfifo(tmp_path / "notes/pipe.md")
  for pattern in ("notes/**/*.md", "**", "notes/**/of/**/*.md"):
    (passage,) = read_passages(str(tmp_path / pattern))
    assert passage.text == "A mill."
  (tmp_path / "notes").rename(tmp_path / "[1]*")
  for pattern in ("[1]*/of/a.md", "[1]*/**/*.md"):
    (passage,) = read_passages(str(tmp_path / pattern))
    assert passage.text == "A mill."
  assert "pipe.md" in capsys.readouterr().err


def test_any_html_is_read_in_linear_time_or_refused(tmp_path):
  path = tmp_path / "a.html"
  for html, text in (
    ("<ul>" + "<li>mill" * 16_000, ["mill"] * 16_000),
    ("<title>A</title>B<![foo[bar]]>C", ["A", "BC"]),
    ("a&#" + "9" * 5000 + ";<br>b<!-- c -->d", None),
    ("<p>a<script>b</script>c<p>d", ["ac", "d"]),
  ):
    path.write_text(html, "utf-8")
    found = " ".join(p.text for p in read_passages(str(path))).split()
    assert found == text or text is None
  path.write_text("<div>" * 5000 + "lost", "utf-8")
  with pytest.raises(ValueError, match=r"a\.html: .*deep"):
    read_passages(str(path))


def test_a_file_above_the_limit_is_refused_by_name(tmp_path):
  (tmp_path / "a.txt").write_text("a mill", "utf-8")
  with pytest.raises(ValueError, match=r"a\.txt: .* 5 bytes"):
    read_passages(str(tmp_path / "*"), max_bytes=5)


def test_odd_files_are_skipped_and_counted(tmp_path, capsys):
  (tmp_path / "mill.md").write_text("A mill.", "utf-8")
  (tmp_path / "lines.jsonl").write_text('{"text": "A pond."}\n{"text": 1}\n')
  for name, content in (
    ("b.txt", bytes(range(256))),
    ("latin1.txt", "Zoë".encode("latin-1")),
    ("utf16.md", "A mill.".encode("utf-16")),
    ("empty.txt", b""),
    ("large.txt", b"a mill " * 20),
    ("packed.md", b"\x1f\x8b\x08"),
    ("photo.png", b"\x89PNG"),
    ("deep.html", b"<div>" * 20 + b"<p>"),
    (os.fsdecode(b"caf\xe9.txt"), b""),
  ):
    (tmp_path / name).write_bytes(content)
  (tmp_path / "broken.md").symlink_to("nowhere")
  (tmp_path / "loop.md").symlink_to("loop.md")
  (tmp_path / "folder.txt").mkdir()
  found = read_passages(str(tmp_path / "**"), max_bytes=120)
  assert [p.text for p in found] == ["A pond.", "A mill."]
  error = capsys.readouterr().err
  assert "12 files or lines" in error and "b.txt: " in error


def test_other_files_are_refused_by_name(tmp_path):
  with pytest.raises(ValueError, match="nothing"):
    read_passages(str(tmp_path / "nothing*"))
  for name, content, named in (
    ("a.pdf", "x", "a.pdf"),
    ("a.jsonl", '{"text": 1}\n{"text": 1}', r"a\.jsonl:1"),
    ("a.jsonl", "x", r"a\.jsonl:1"),
    ("a.txt", "\x00", "a.txt"),
    ("b.txt", "", "b.txt"),
  ):
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(ValueError, match=named):
      read_passages(str(tmp_path / name))
