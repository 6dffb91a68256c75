"""Running text in its formats, and its sentences."""

import dataclasses
import gzip
import re

import pytest
import tensorflow as tf

from bert_span.pretraining.options import TextLocation
from bert_span.pretraining.text_sources import (
  TextFile,
  find_sources,
  split_sentences,
)
from bert_span.storage.files import read_json

# Form, text field, text, its sentences with the numbers of their documents.
_FORMATS = [
  (
    *("sentences", None),
    "one a\none b\n\n\n  \ntwo a\r\n\nthree a\nthree b\n",
    [(0, "one a"), (0, "one b"), (1, "two a"), (2, "three a"), (2, "three b")],
  ),
  (
    *("documents", None),
    "He came. She left.\n\nNobody knew why\n",
    [(0, "He came."), (0, "She left."), (2, "Nobody knew why")],
  ),
  (
    *("sentences", "body"),
    '{"body": "A mill. A river."}\n{"body": "", "id": 3}\n{"body": "End"}\n',
    [(0, "A mill."), (0, "A river."), (2, "End")],
  ),
]


def write(path, text):
  path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
  return str(path)


@pytest.mark.parametrize(("form", "field", "text", "rows"), _FORMATS)
def test_every_format_gives_numbered_sentences(
  tmp_path, form, field, text, rows
):
  """Compressed and remote text too."""
  write(tmp_path / "a.txt", text)
  write(tmp_path / "a.txt.gz", gzip.compress(text.encode("utf-8")))
  for path in ("{}/a.txt", "{}/a.txt.gz", "file://{}/a.txt.gz"):
    source = TextFile(path.format(tmp_path), form, field)
    for first in range(4):
      expected = [row for row in rows if row[0] >= first]
      assert list(source.sentences(first)) == expected


def test_bad_utf_8_is_replaced_with_one_warning(tmp_path, capsys):
  text = b"black\ncaf\xe9 au lait\nth\xe9\n"
  source = TextFile(write(tmp_path / "a.txt", text))
  sentences = [sentence for _, sentence in source.sentences()]
  assert sentences == ["black", "caf\ufffd au lait", "th\ufffd"]
  (message,) = capsys.readouterr().err.splitlines()
  assert "a.txt, line 2" in message and "0xe9" in message


def test_a_damaged_compressed_file_is_named(tmp_path):
  packed = gzip.compress(b"A mill. A river.\n" * 100)
  altered = packed[:10] + b"\xff" * 20 + packed[30:]
  for damaged in (packed[: len(packed) // 2], altered, b"not compressed"):
    source = TextFile(write(tmp_path / "a.txt.gz", damaged))
    with pytest.raises(ValueError, match=r"a\.txt\.gz"):
      list(source.sentences())


def test_a_bad_json_line_is_named(tmp_path):
  for line in ("no json", '{"body": "x"}', "[1]", '{"text": 7}'):
    text = '{"text": "fine"}\n' + line + "\n"
    source = TextFile(write(tmp_path / "a.jsonl", text), text_field="text")
    with pytest.raises(ValueError, match=r"a\.jsonl, line 2.* text_field"):
      list(source.sentences())


@pytest.mark.large
def test_a_data_set_of_tfds_is_read_shard_by_shard(tmp_path):
  import tensorflow_datasets as tfds

  rows = {"text": [f"Document {i}. It ends." for i in range(6)]}
  tfds.dataset_builders.store_as_tfds_dataset(
    name="running_text",
    version="1.0.0",
    data_dir=str(tmp_path),
    features=tfds.features.FeaturesDict({"text": tfds.features.Text()}),
    split_datasets={"train": tf.data.Dataset.from_tensor_slices(rows)},
    download_config=tfds.download.DownloadConfig(num_shards=2),
  )
  location = TextLocation(dataset="running_text", data_dir=str(tmp_path))
  shards = find_sources(location)
  first, second = (list(shard.sentences()) for shard in shards)
  read = sorted(text for _, text in first + second if text != "It ends.")
  assert read == [text.partition(" It")[0] for text in rows["text"]]
  assert list(shards[0].sentences(1)) == first[2:]
  for change, message in (
    ({"dataset_split": "dev"}, "no split 'dev'"),
    ({"dataset": "no_such_text"}, r"dataset='no_such_text'.* data_dir"),
    ({"text_field": "body"}, "no feature 'body'"),
  ):
    with pytest.raises(ValueError, match=message):
      list(find_sources(dataclasses.replace(location, **change))[0].sentences())


@pytest.mark.parametrize(
  "marked",
  [
    'It grew 3.5 % at 5 p.m. on Monday. |(It did.) |"Why?" |Nobody knew.',
    "One line\n|and another\r\n\n |and a third",
    "我来了。|他走了！|你呢？|“好。”|他说",
    "École à Paris. |Ça va? été comme hiver. |Étienne dort.",
    "no end",
  ],
)
def test_sentences(marked):
  expected = [sentence.strip() for sentence in marked.split("|")]
  assert split_sentences(marked.replace("|", "")) == expected
  assert split_sentences("") == split_sentences(" \n\t ") == []


@pytest.mark.large
def test_nothing_but_white_space_is_lost(shared_data):
  articles = read_json(shared_data / "squad1_dev_half.json")["data"]
  contexts = [p["context"] for a in articles[:20] for p in a["paragraphs"]]
  for context in contexts:
    joined = "".join(split_sentences(context))
    assert re.sub(r"\s", "", joined) == re.sub(r"\s", "", context)
  assert sum(len(split_sentences(c)) for c in contexts) > 3 * len(contexts)
