"""The metadata, read back by the field numbers of the schema."""

import json

import flatbuffers
import pytest
from flatbuffers.number_types import Uint8Flags, UOffsetTFlags
from flatbuffers.table import Table

from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.tflite import file as tflite_file
from bert_span.tflite.metadata import BUFFER_NAME, with_metadata
from bert_span.tflite.options import ModelInfo
from tests.support.models import (
  BYTE_PAIRS,
  exported_tflite,
  parsed,
  tiny_pieces,
)


class _Reader:
  """Reads fields of a FlatBuffer table by their numbers."""

  def __init__(self, buffer, position):
    self.table = Table(buffer, position)

  def _at(self, field):
    return self.table.Offset(4 + 2 * field) + self.table.Pos

  def text(self, field):
    return self.table.String(self._at(field)).decode()

  def byte(self, field):
    return self.table.Get(Uint8Flags, self._at(field))

  def child(self, field):
    return _Reader(self.table.Bytes, self.table.Indirect(self._at(field)))

  def children(self, field):
    offset = self.table.Offset(4 + 2 * field)
    begin = self.table.Vector(offset)
    return [
      _Reader(self.table.Bytes, self.table.Indirect(begin + 4 * i))
      for i in range(self.table.VectorLen(offset))
    ]


def _read_metadata(model):
  """The root table of the metadata in a `ModelT`."""
  (entry,) = [m for m in model.metadata if m.name == BUFFER_NAME.encode()]
  data = bytes(model.buffers[entry.buffer].data)
  assert data[4:8] == b"M001"
  position = flatbuffers.encode.Get(UOffsetTFlags.packer_type, data, 0)
  return _Reader(data, position)


@pytest.mark.large
def test_model_tensors_tokenizer_and_files_are_described(tmp_path):
  model = parsed(exported_tflite()[0])
  model.metadata = []
  info = ("qa", "Finds answers.", "7", "The author", "Apache-2.0")
  guide = SpanExtractor.logits_descriptions
  config = {"a": 1, "tflite": {"max_length": 8}}
  content = tflite_file.pack(model)
  path = tmp_path / "other.tflite"
  path.write_bytes(
    with_metadata(content, ModelInfo(*info), ["[PAD]", "é"], config, guide)
  )
  model = parsed(path)
  root = _read_metadata(model)
  assert [root.text(field) for field in (0, 1, 2, 4, 5, 7)] == [*info, "1.1.0"]
  (described,) = root.children(3)
  graph = model.subgraphs[0]
  # Older runtimes match metadata to tensors by position.
  for field, indices, names in (
    (2, graph.inputs, ["ids", "mask", "segment_ids"]),
    (3, graph.outputs, SpanExtractor.logits),
  ):
    described_names = [t.text(0) for t in described.children(field)]
    assert described_names == [graph.tensors[i].name.decode() for i in indices]
    assert set(described_names) == set(names)
  for tensor in described.children(3):
    assert tensor.text(1) == guide[tensor.text(0)]
  (unit,) = described.children(5)
  assert unit.byte(0) == 4  # BertTokenizerOptions
  (vocabulary,) = unit.child(1).children(0)
  assert (vocabulary.text(0), vocabulary.byte(2)) == ("vocab.txt", 5)
  assert [file.text(0) for file in root.children(6)] == ["span_config.json"]
  files = tflite_file.read_files(path)
  assert files["vocab.txt"] == "[PAD]\né\n".encode()
  written = json.loads(files["span_config.json"])
  assert (written["a"], written["tflite"]["max_length"]) == (1, 8)
  tflite_file.check_unchanged(path, written)


@pytest.mark.parametrize(
  ("vocabulary", "name"),
  [(BYTE_PAIRS, "vocab.txt"), (tiny_pieces("xlm-roberta"), "vocabulary.spm")],
)
def test_the_task_library_finds_no_tokenizer_but_word_pieces(
  vocabulary, name, tmp_path
):
  # It would give other tokens other ids, without an error.
  model = parsed(exported_tflite()[0])
  model.metadata = []
  guide = SpanExtractor.logits_descriptions
  path = tmp_path / "other.tflite"
  path.write_bytes(
    with_metadata(
      tflite_file.pack(model), ModelInfo(), vocabulary, {"tflite": {}}, guide
    )
  )
  root = _read_metadata(parsed(path))
  (described,) = root.children(3)
  assert described.children(5) == []
  names = [file.text(0) for file in root.children(6)]
  assert names == ["span_config.json", name]
