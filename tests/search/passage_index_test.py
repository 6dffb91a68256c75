"""Documents, their passages, and those found for a question."""

import json
import os

import pytest

from bert_span.search.documents import (
  DocumentPassage,
  cut_passages,
  read_passages,
)
from bert_span.search.passage_index import PassageIndex, words
from tests.support.models import QUESTION, shared_extractor

_TEXTS = [
  "A bridge fell into the river.",
  "The mill was built by Anna in 1895.",
  "The cafe near the mill was built in 1903.",
]


def test_passages_with_more_words_of_the_question_come_first():
  index = PassageIndex(_TEXTS)
  assert index.search(QUESTION, 2) == [1, 2]
  # Those without a word of it are not found.
  assert index.search("bridge", 3) == [0]
  assert index.search("zebra", 3) == []
  with pytest.raises(ValueError, match="no word"):
    PassageIndex(["", " ."])


def test_a_stored_index_is_read_while_its_texts_are_the_same(
  tmp_path, monkeypatch
):
  folder = tmp_path / "index"
  PassageIndex(_TEXTS, folder)
  monkeypatch.setattr("bm25s.BM25.index", None)  # Making one would fail.
  assert PassageIndex(_TEXTS, folder).search("bridge", 1) == [0]
  monkeypatch.undo()
  assert PassageIndex(_TEXTS[1:], folder).search("cafe", 1) == [1]


def test_a_damaged_index_is_made_again(tmp_path, capsys):
  folder = tmp_path / "index"
  PassageIndex(_TEXTS, folder)
  (path,) = folder.glob("data*")
  content = bytearray(path.read_bytes())
  content[-1] ^= 1
  path.write_bytes(content)
  assert PassageIndex(_TEXTS, folder).search("bridge", 1) == [0]
  assert "damaged" in capsys.readouterr().err
  assert path.read_bytes() != content
  # Of the texts joined, only the lengths differ.
  assert PassageIndex(["a\0b", "c"], folder).search("c", 2) == [1]
  assert PassageIndex(["a", "b\0c"], folder).search("c", 2) == [1]
  assert PassageIndex(["a", "b c"], folder).search("a", 2) == [0]


def test_words_are_those_of_each_script():
  assert words("The 7 Mills_of Café") == ["the", "7", "mills", "of", "café"]
  assert words("Cafe\u0301") == words("CAFÉ") == ["café"]
  assert words("1926年建成。") == ["1926", "年建", "建成"]
  assert words("水") == ["水"]
  assert words("बिजली की") == ["बिजली", "की"]
  assert words("?!") == []
  index = PassageIndex(["桥在1895年倒塌。", "磨坊由安娜建造。", "..."])
  assert index.search("谁建造了磨坊?", 3) == [1]
  assert index.search("?", 3) == []


def test_an_index_does_not_replace_a_folder_of_something_else(tmp_path):
  index = tmp_path / "index"
  PassageIndex(_TEXTS, index)
  (index / "thesis.txt").write_text("two years")
  with pytest.raises(ValueError, match=r"thesis\.txt"):
    PassageIndex(_TEXTS[1:], index)
  assert (index / "thesis.txt").read_text() == "two years"
  for path in index.iterdir():
    path.unlink()
  index.rmdir()
  (tmp_path / "note.txt").write_text("keep", "utf-8")
  with pytest.raises(ValueError, match=tmp_path.name):
    PassageIndex(_TEXTS, tmp_path)
  assert (tmp_path / "note.txt").read_text("utf-8") == "keep"


@pytest.mark.parametrize(
  "name", ["thesis.txt", "thesis.index.html", "corpus.index.json"]
)
@pytest.mark.parametrize("is_listed", [False, True])
def test_only_the_files_that_bm25s_writes_are_those_of_an_index(
  tmp_path, name, is_listed
):
  index = tmp_path / "index"
  PassageIndex(_TEXTS, index)
  (index / name).write_text("two years")
  if is_listed:
    stored = json.loads((index / "texts.json").read_text())
    stored["files"][name] = "0f"
    (index / "texts.json").write_text(json.dumps(stored))
  with pytest.raises(ValueError, match=name):
    PassageIndex(_TEXTS[1:], index)
  assert (index / name).read_text() == "two years"


def test_a_folder_or_a_list_of_other_texts_under_such_a_name_stays(tmp_path):
  folder = tmp_path / "index/data.csc.index.npy"
  PassageIndex(_TEXTS, folder.parent)
  folder.unlink()
  folder.mkdir()
  (folder / "thesis.txt").write_text("two years")
  other = tmp_path / "other/texts.json"
  other.parent.mkdir()
  other.write_text('{"files": {}, "chapter": "two years"}')
  for path in (folder / "thesis.txt", other):
    with pytest.raises(ValueError, match="holds other files"):
      PassageIndex(_TEXTS[1:], tmp_path / path.relative_to(tmp_path).parts[0])
    assert "two years" in path.read_text()


@pytest.mark.parametrize("files", [["a"], "a", 5, [{}]])
def test_a_list_of_files_that_is_no_object_is_refused(tmp_path, files):
  PassageIndex(_TEXTS, tmp_path)
  stored = json.loads((tmp_path / "texts.json").read_text()) | {"files": files}
  (tmp_path / "texts.json").write_text(json.dumps(stored))
  with pytest.raises(ValueError, match=r"texts\.json, files"):
    PassageIndex(_TEXTS, tmp_path)


def test_answers_are_ordered_by_their_margin_over_no_answer():
  extractor = shared_extractor()
  found = extractor.answer_over(QUESTION, _TEXTS)
  assert sorted(item.passage for item in found) == [0, 1, 2]
  for item in found:
    text = _TEXTS[item.passage]
    assert item.answer == extractor.answer(QUESTION, text)
  margins = [item.margin for item in found]
  assert margins == sorted(margins, reverse=True)
  (first,) = extractor.answer_over(QUESTION, _TEXTS, top_k=1)
  assert first == next(item for item in found if item.passage == 1)
  assert extractor.answer_over(QUESTION, _TEXTS[1]) == [
    first._replace(passage=0)
  ]
  for wrong in (None, b"text", iter(_TEXTS)):
    with pytest.raises(ValueError, match=r"contexts .*" + type(wrong).__name__):
      extractor.answer_over(QUESTION, wrong)


def test_a_passage_ends_with_the_paragraph_that_is_long_enough():
  long = "x" * 1_000
  text = f"\n One.\n\n{long}\n \n\n Three.\n"
  passages = list(cut_passages("a.txt", text))
  assert passages == [
    DocumentPassage("a.txt", 2, f"One.\n\n{long}"),
    DocumentPassage("a.txt", text.index("Three"), "Three."),
  ]
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
  with pytest.raises(ValueError, match=r"a\.html: .*nested too deep"):
    read_passages(str(path))


def test_a_file_above_the_limit_is_refused_by_name(tmp_path):
  (tmp_path / "a.txt").write_text("a mill", "utf-8")
  with pytest.raises(ValueError, match=r"a\.txt: larger than 5 bytes"):
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
