"""Running text in its formats, and its sentences."""

import dataclasses
import gzip
import json
import re

import pytest

from bert_span.pretraining.options import TextLocation
from bert_span.pretraining.text_sources import (
  TextFile,
  find_sources,
  sources_of_worker,
  split_sentences,
)

_PLAIN = "one a\none b\n\n\n  \ntwo a\r\n\nthree a\nthree b\n"
_ROWS = [(0, "one a"), (0, "one b"), (1, "two a"), (2, "three a")]
_ROWS.append((2, "three b"))


def write(path, text):
  path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
  return str(path)


def test_a_sentence_a_line_and_a_blank_line_between_documents(tmp_path):
  """Compressed and remote text too."""
  write(tmp_path / "a.txt", _PLAIN)
  write(tmp_path / "a.txt.gz", gzip.compress(_PLAIN.encode("utf-8")))
  for path in ("{}/a.txt", "{}/a.txt.gz", "file://{}/a.txt.gz"):
    source = TextFile(path.format(tmp_path))
    assert list(source.sentences()) == _ROWS
    assert list(source.sentences(first_document=1)) == _ROWS[2:]
    assert list(source.sentences(first_document=3)) == []


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


def test_a_document_a_line_is_split_into_sentences(tmp_path):
  text = "He came. She left.\n\nNobody knew why\n"
  source = TextFile(write(tmp_path / "a.txt", text), "documents")
  expected = [(0, "He came."), (0, "She left."), (2, "Nobody knew why")]
  assert list(source.sentences()) == expected
  assert list(source.sentences(1)) == expected[2:]


def test_json_lines_give_documents(tmp_path):
  rows = [{"text": "A mill. A river."}, {"text": "", "id": 3}, {"text": "End"}]
  text = "".join(json.dumps(row) + "\n" for row in rows)
  source = TextFile(write(tmp_path / "a.jsonl", text), text_field="text")
  expected = [(0, "A mill."), (0, "A river."), (2, "End")]
  assert list(source.sentences()) == expected


def test_a_bad_json_line_is_named(tmp_path):
  for line in ("no json", '{"body": "x"}', "[1]", '{"text": 7}'):
    text = '{"text": "fine"}\n' + line + "\n"
    source = TextFile(write(tmp_path / "a.jsonl", text), text_field="text")
    with pytest.raises(ValueError, match=r"a\.jsonl, line 2.*--text_field"):
      list(source.sentences())


def test_globs_and_commas_name_files(tmp_path):
  for name in ("b.txt", "a.txt", "c.md"):
    write(tmp_path / name, "x")
  files = f"{tmp_path}/c.md, {tmp_path}/*.txt,{tmp_path}/a.*"
  files = find_sources(TextLocation(files))
  assert [file.path.rpartition("/")[2] for file in files] == [
    *("c.md", "a.txt", "b.txt")
  ]


def test_workers_share_the_files(tmp_path):
  files = [TextFile(str(i)) for i in range(5)]
  shares = [sources_of_worker(files, 2, worker) for worker in (0, 1)]
  assert shares == [files[0::2], files[1::2]]
  with pytest.raises(ValueError, match="6 workers cannot share 5 files"):
    sources_of_worker(files, 6, 0)


@pytest.mark.large
def test_a_data_set_of_tfds_is_read_shard_by_shard(tmp_path):
  import tensorflow_datasets as tfds

  texts = [f"Document {i}. It ends." for i in range(6)]

  class RunningText(tfds.core.GeneratorBasedBuilder):
    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
      return tfds.core.DatasetInfo(
        builder=self,
        features=tfds.features.FeaturesDict({"text": tfds.features.Text()}),
      )

    def _split_generators(self, unused_manager):
      return {"train": ((i, {"text": text}) for i, text in enumerate(texts))}

    def _generate_examples(self):
      raise NotImplementedError

  builder = RunningText(data_dir=str(tmp_path))
  builder.download_and_prepare(
    download_config=tfds.download.DownloadConfig(num_shards=2)
  )
  location = TextLocation(dataset="running_text", data_dir=str(tmp_path))
  shards = find_sources(location)
  assert len(shards) == 2
  rows = [row for shard in shards for row in shard.sentences()]
  read = sorted(text for _, text in rows if text != "It ends.")
  assert read == [text.partition(" It")[0] for text in texts]
  first = list(shards[0].sentences())
  assert list(shards[0].sentences(1)) == first[2:]
  with pytest.raises(ValueError, match="no split 'dev'"):
    find_sources(dataclasses.replace(location, split="dev"))
  with pytest.raises(ValueError, match=r"'no_such_text'.*--dataset"):
    find_sources(dataclasses.replace(location, dataset="no_such_text"))
  shards = find_sources(dataclasses.replace(location, text_field="body"))
  with pytest.raises(ValueError, match="no feature 'body'"):
    list(shards[0].sentences())


@pytest.mark.parametrize(
  ("document", "sentences"),
  [
    (
      'It grew 3.5 % at 5 p.m. on Monday. (It did.) "Why?" Nobody knew.',
      [
        *("It grew 3.5 % at 5 p.m. on Monday.", "(It did.)", '"Why?"'),
        "Nobody knew.",
      ],
    ),
    (
      "One line\nand another\r\n\n and a third",
      ["One line", "and another", "and a third"],
    ),
    (
      "我来了。他走了！你呢？“好。”他说",
      ["我来了。", "他走了！", "你呢？", "“好。”", "他说"],
    ),
    (
      "École à Paris. Ça va? été comme hiver. Étienne dort.",
      ["École à Paris.", "Ça va? été comme hiver.", "Étienne dort."],
    ),
    ("", []),
    (" \n\t ", []),
    ("no end", ["no end"]),
  ],
)
def test_sentences(document, sentences):
  assert split_sentences(document) == sentences


def test_nothing_but_white_space_is_lost(shared_data, read_json):
  articles = read_json(shared_data / "squad1_dev_half.json")["data"]
  contexts = [p["context"] for a in articles[:20] for p in a["paragraphs"]]
  for context in contexts:
    joined = "".join(split_sentences(context))
    assert re.sub(r"\s", "", joined) == re.sub(r"\s", "", context)
  assert sum(len(split_sentences(c)) for c in contexts) > 3 * len(contexts)
