"""Reading the files of vocabularies."""

import json

import pytest

from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import BytePairs, ModernBertPairs
from tests.support.hub import tokenizer_json


def test_the_line_number_is_the_id(tmp_path):
  path = tmp_path / "vocab.txt"
  # Only a newline ends a line.
  path.write_bytes("[UNK] \r\n\t[CLS]\r\n[SEP]\né\na\u2028b".encode())
  tokens = ["[UNK]", "[CLS]", "[SEP]", "é", "a\u2028b"]
  assert load_vocabulary(str(path)) == tokens


def test_a_file_that_is_not_a_vocabulary_is_named(tmp_path):
  path = tmp_path / "vocab.txt"
  with pytest.raises(ValueError, match=r"vocab\.txt .*vocab_file"):
    load_vocabulary(str(path))
  for content, message in (
    (b"[UNK]\n\xff\xfe\n", r"vocab\.txt: not UTF-8"),
    (b"a", r"vocab\.txt lacks \[UNK\], \[CLS\], \[SEP\]"),
    (b"[UNK]\n[CLS]\n[SEP]\na\nb\na\n", r"vocab\.txt .*'a'"),
  ):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
      load_vocabulary(str(path))


def test_byte_pairs_are_read_from_both_kinds_of_files(tmp_path):
  ids = {"a": 0, "b": 1, "ab": 2}
  (tmp_path / "vocab.json").write_text(json.dumps(ids))
  with pytest.raises(ValueError, match=r"merges\.txt"):
    load_vocabulary(str(tmp_path / "vocab.json"))
  (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n")
  expected = BytePairs(["a", "b", "ab"], ["a b"])
  assert load_vocabulary(str(tmp_path / "vocab.json")) == expected
  path = tmp_path / "tokenizer.json"
  for merge in ("a b", ["a", "b"]):  # of older and newer files
    values = tokenizer_json("BPE", vocab=ids, merges=[merge])
    path.write_text(json.dumps(values))
    assert load_vocabulary(str(path)) == expected
  values["pre_tokenizer"]["add_prefix_space"] = True
  path.write_text(json.dumps(values))
  with pytest.raises(ValueError, match=r"tokenizer\.json.*add_prefix_space"):
    load_vocabulary(str(path))


def test_the_normalizer_says_whose_byte_pairs_they_are(tmp_path):
  path = tmp_path / "tokenizer.json"
  for kind, expected in (
    ("BPE", BytePairs),
    ("BPE after NFC", ModernBertPairs),
  ):
    ids = {"[CLS]": 0, "[SEP]": 1, "a": 2, "b": 3, "ab": 4}
    values = tokenizer_json(kind, vocab=ids, merges=["a b"])
    path.write_text(json.dumps(values))
    assert load_vocabulary(str(path)) == expected([*ids], ["a b"])
    assert type(load_vocabulary(str(path))) is expected


def test_files_of_windows_give_the_same_vocabulary(tmp_path):
  (tmp_path / "vocab.json").write_text('{"a": 0,\r\n"b": 1, "ab": 2}\r\n')
  (tmp_path / "merges.txt").write_bytes(b"#version: 0.2\r\na b\r\n\r\n")
  expected = BytePairs(["a", "b", "ab"], ["a b"])
  assert load_vocabulary(str(tmp_path / "vocab.json")) == expected
  path = tmp_path / "vocab.txt"
  path.write_bytes(b"\xef\xbb\xbf[UNK]\r\n[CLS]\r\n[SEP]\r\na\r\n")
  assert load_vocabulary(str(path)) == ["[UNK]", "[CLS]", "[SEP]", "a"]


def test_tokens_that_no_line_holds_keep_their_rows(tmp_path):
  # transformers gives two equal lines of a vocab.txt the id of the last.
  names = ["[UNK]", "[CLS]", "[SEP]", *"abcdefghij"]
  names += [" a", "b\n", "c d", "\ud800", ""]
  ids = {token: i + (i > 3) for i, token in enumerate(names)}
  path = tmp_path / "tokenizer.json"
  path.write_text(json.dumps(tokenizer_json("WordPiece", vocab=ids)))
  tokens = load_vocabulary(str(path))
  assert tokens[3:6] == ["a", "[blank 4]", "b"]
  assert tokens[-5:-3] == ["[blank 14]", "[blank 15]"]
  assert tokens[-3:] == ["c d", "[blank 17]", "[blank 18]"]
  (tmp_path / "vocab.txt").write_text("\n".join(tokens) + "\n")
  assert load_vocabulary(str(tmp_path / "vocab.txt")) == tokens
  # Not a gap, but another file.
  ids["[CLS]"] = 1000
  path.write_text(json.dumps(tokenizer_json("WordPiece", vocab=ids)))
  with pytest.raises(ValueError, match=r"tokenizer\.json: its vocabulary"):
    load_vocabulary(str(path))


@pytest.mark.parametrize("token", ["a" * 1_000_000, "##" + "é" * 129])
def test_a_token_that_cannot_be_looked_for_is_refused(tmp_path, token):
  ids = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, token: 4}
  path = tmp_path / "vocab.txt"
  path.write_text("\n".join(ids))
  as_json = tmp_path / "tokenizer.json"
  as_json.write_text(json.dumps(tokenizer_json("WordPiece", vocab=ids)))
  for file in (path, as_json):
    with pytest.raises(ValueError, match=f"{file.name}: .*256 bytes") as error:
      load_vocabulary(str(file))
    assert len(str(error.value)) < 500


def test_a_file_that_is_not_of_byte_pairs_is_named(tmp_path):
  model = {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
  path = tmp_path / "tokenizer.json"
  for change in (
    *({"added_tokens": [1]}, {"added_tokens": [{"content": "<s>"}]}),
    *({"vocab": ["a"]}, {"vocab": {"a": 0, "b": 0, "ab": 1}}),
    *({"merges": [1]}, {"merges": ["ab"]}, {"merges": [["a", "b", "ab"]]}),
  ):
    values = tokenizer_json("BPE", **(model | change)) | change
    path.write_text(json.dumps(values))
    with pytest.raises(ValueError, match=r"tokenizer\.json: "):
      load_vocabulary(str(path))


def test_blank_tokens_but_the_last_get_a_name(tmp_path):
  path = tmp_path / "vocab.txt"
  path.write_text("[UNK]\n[CLS]\n\n[SEP]\n \n\u3000\na\n")
  tokens = ["[UNK]", "[CLS]", "[blank 2]", "[SEP]", "[blank 4]", "", "a"]
  assert load_vocabulary(str(path)) == tokens
  tokenizer = WordPieceTokenizer(tokens)
  assert tokenizer(["a [blank 2] \u3000a"]).ids.to_list()[0][0] == 6
