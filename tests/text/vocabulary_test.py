"""Reading a vocab.txt."""

import pytest

from bert_span.text.vocabulary import (
  check_vocabulary,
  load_vocabulary,
  vocabulary_sha256,
)


def _write(tmp_path, data):
  path = tmp_path / "vocab.txt"
  path.write_bytes(data)
  return str(path)


def test_the_line_number_is_the_id(tmp_path):
  path = _write(tmp_path, "[UNK]\n[CLS]\n[SEP]\né\n##s\n".encode())
  assert load_vocabulary(path) == ["[UNK]", "[CLS]", "[SEP]", "é", "##s"]


def test_lines_are_stripped_and_may_end_as_on_windows(tmp_path):
  path = _write(tmp_path, b"[UNK] \r\n\t[CLS]\r\n[SEP]")
  assert load_vocabulary(path) == ["[UNK]", "[CLS]", "[SEP]"]


def test_an_unusual_line_separator_is_a_token_and_ends_no_line(tmp_path):
  path = _write(tmp_path, "[UNK]\n[CLS]\n[SEP]\na\u2028b\nc".encode())
  assert load_vocabulary(path)[3:] == ["a\u2028b", "c"]


def test_a_missing_file_is_named_with_the_flag(tmp_path):
  path = str(tmp_path / "none.txt")
  with pytest.raises(ValueError, match=r"none\.txt does not exist.*--vocab_fi"):
    load_vocabulary(path)


def test_a_file_that_is_no_text_is_named(tmp_path):
  path = _write(tmp_path, b"[UNK]\n\xff\xfe\n")
  with pytest.raises(ValueError, match=r"vocab\.txt is not UTF-8"):
    load_vocabulary(path)


def test_missing_special_tokens_are_listed(tmp_path):
  path = _write(tmp_path, b"[UNK]\na\n")
  with pytest.raises(ValueError, match=r"vocab\.txt lacks \[CLS\], \[SEP\]"):
    load_vocabulary(path)


def test_an_empty_file_is_refused(tmp_path):
  with pytest.raises(ValueError, match=r"lacks \[UNK\], \[CLS\], \[SEP\]"):
    load_vocabulary(_write(tmp_path, b""))


def test_a_token_that_stands_twice_is_named():
  tokens = ["[UNK]", "[CLS]", "[SEP]", "a", "b", "a"]
  with pytest.raises(ValueError, match="'a' more than once"):
    check_vocabulary(tokens)


def test_the_goldens_vocabulary_has_the_ids_of_bert(goldens):
  tokens = load_vocabulary(str(goldens / "tiny_ckpt" / "vocab.txt"))
  assert len(tokens) == 30522
  assert tokens.index("[CLS]") == 101
  assert tokens.index("the") == 1996


def test_the_digest_is_that_of_the_tokens_a_line_each():
  # printf 'a\nb' | sha256sum
  assert vocabulary_sha256(["a", "b"]) == (
    "7e18f737311b2dc3b2f269dd78396b0351f14fb66efa879f768cb23181883c78"
  )
  assert vocabulary_sha256(["b", "a"]) != vocabulary_sha256(["a", "b"])
