"""The metadata as the schema's field numbers give it back."""

import json

import flatbuffers
import pytest
from exported_tflite import exported_tflite, parsed
from flatbuffers.table import Table

from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD
from bert_span.tflite import file as tflite_file
from bert_span.tflite.metadata import BUFFER_NAME, with_metadata
from bert_span.tflite.options import ModelInfo

_OFFSET = flatbuffers.number_types.UOffsetTFlags


class _Reader:
  """Reads fields of a FlatBuffer table by their numbers."""

  def __init__(self, buffer, position):
    self.table = Table(buffer, position)

  def _offset(self, field):
    return self.table.Offset(4 + 2 * field)

  def text(self, field):
    return self.table.String(self._offset(field) + self.table.Pos).decode()

  def byte(self, field):
    return self.table.Get(
      flatbuffers.number_types.Uint8Flags, self._offset(field) + self.table.Pos
    )

  def child(self, field):
    at = self._offset(field) + self.table.Pos
    return _Reader(self.table.Bytes, self.table.Indirect(at))

  def children(self, field):
    offset = self._offset(field)
    if not offset:
      return []
    begin = self.table.Vector(offset)
    return [
      _Reader(self.table.Bytes, self.table.Indirect(begin + 4 * i))
      for i in range(self.table.VectorLen(offset))
    ]


def _root(path):
  model = parsed(path)
  (entry,) = [m for m in model.metadata if m.name == BUFFER_NAME.encode()]
  data = bytes(model.buffers[entry.buffer].data)
  assert data[4:8] == b"M001"
  position = flatbuffers.encode.Get(_OFFSET.packer_type, data, 0)
  return _Reader(data, position)


@pytest.mark.large
@pytest.mark.parametrize(
  ("head", "outputs"),
  [
    (SPAN_HEAD, {"start_logits", "end_logits"}),
    (BIO_HEAD, {"tag_logits"}),
  ],
)
def test_tensors_are_named_and_the_tokenizer_has_its_vocabulary(head, outputs):
  path, _ = exported_tflite(head, dynamic_length=head is BIO_HEAD)
  root = _root(path)
  assert root.text(0) == "bert_span"
  assert root.text(7) == "1.1.0"
  (graph,) = root.children(3)
  names = [tensor.text(0) for tensor in graph.children(2)]
  assert set(names) == {"ids", "mask", "segment_ids"}
  assert {tensor.text(0) for tensor in graph.children(3)} == outputs
  guide = head.served.logits_guide
  for tensor in graph.children(3):
    assert tensor.text(1) == guide[tensor.text(0)]
  (unit,) = graph.children(5)
  assert unit.byte(0) == 4  # BertTokenizerOptions
  (vocabulary,) = unit.child(1).children(0)
  assert (vocabulary.text(0), vocabulary.byte(2)) == ("vocab.txt", 5)
  assert [file.text(0) for file in root.children(6)] == ["span_config.json"]


@pytest.mark.large
def test_tensors_are_described_in_the_order_of_the_graph():
  """Older runtimes match metadata to tensors by position."""
  path, _ = exported_tflite()
  graph = parsed(path).subgraphs[0]
  (described,) = _root(path).children(3)
  for field, indices in ((2, graph.inputs), (3, graph.outputs)):
    assert [t.text(0) for t in described.children(field)] == [
      graph.tensors[index].name.decode() for index in indices
    ]


@pytest.mark.large
def test_model_information_and_files_are_packed(tmp_path):
  path, _ = exported_tflite()
  model = parsed(path)
  model.metadata = []
  info = ModelInfo("qa", "Finds answers.", "7", "The author", "Apache-2.0")
  other = tmp_path / "other.tflite"
  config = {"a": 1, "tflite": {"max_length": 8}}
  other.write_bytes(
    with_metadata(
      tflite_file.pack(model),
      info,
      ["[PAD]", "é"],
      config,
      output_guide=SPAN_HEAD.served.logits_guide,
    )
  )
  root = _root(other)
  assert [root.text(field) for field in (0, 1, 2, 4, 5)] == [
    *("qa", "Finds answers.", "7", "The author", "Apache-2.0")
  ]
  files = tflite_file.read_files(other)
  assert files["vocab.txt"] == "[PAD]\né\n".encode()
  written = json.loads(files["span_config.json"])
  assert (written["a"], written["tflite"]["max_length"]) == (1, 8)
  tflite_file.check_unchanged(other, written)
