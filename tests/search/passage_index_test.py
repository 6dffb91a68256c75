"""An index of passages: those it finds, and what its folder may hold."""

import json

import pytest

from bert_span.search.passage_index import PassageIndex, words
from tests.support.models import QUESTION

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
  for path, name in ((folder / "thesis.txt", folder.name), (other, other.name)):
    with pytest.raises(ValueError, match=rf"\({name}\)"):
      PassageIndex(_TEXTS[1:], tmp_path / path.relative_to(tmp_path).parts[0])
    assert "two years" in path.read_text()


@pytest.mark.parametrize("files", [["a"], "a", 5, [{}]])
def test_a_list_of_files_that_is_no_object_is_refused(tmp_path, files):
  PassageIndex(_TEXTS, tmp_path)
  stored = json.loads((tmp_path / "texts.json").read_text()) | {"files": files}
  (tmp_path / "texts.json").write_text(json.dumps(stored))
  with pytest.raises(ValueError, match=r"texts\.json, files"):
    PassageIndex(_TEXTS, tmp_path)
