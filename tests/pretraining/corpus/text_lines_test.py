"""Lines of text files: decoding, decompression and what is told of damage."""

import gzip

import pytest

from bert_span.pretraining.corpus.text_lines import text_lines


def test_bad_utf_8_is_replaced_with_one_warning(tmp_path, caplog):
  text = b"black\ncaf\xe9 au lait\nth\xe9\n"
  (tmp_path / "a.txt").write_bytes(text)
  lines = list(text_lines(str(tmp_path / "a.txt")))
  assert lines == ["black\n", "caf\ufffd au lait\n", "th\ufffd\n"]
  (message,) = caplog.messages
  assert "a.txt, line 2: not UTF-8 (byte 0xe9)" in message


@pytest.mark.parametrize(
  "damaged",
  [
    lambda packed: packed[: len(packed) // 2],
    lambda packed: packed[:10] + b"\xff" * 20 + packed[30:],
    lambda packed: b"not compressed",
  ],
  ids=["cut off", "altered", "not compressed"],
)
def test_a_damaged_compressed_file_is_named(tmp_path, damaged):
  packed = damaged(gzip.compress(b"A mill. A river.\n" * 100))
  (tmp_path / "a.txt.gz").write_bytes(packed)
  with pytest.raises(ValueError, match=r"a\.txt\.gz is not a whole gzip"):
    list(text_lines(str(tmp_path / "a.txt.gz")))
