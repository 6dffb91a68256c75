"""TFLite metadata: descriptions for the runtimes and tools that read a model.

The metadata is a FlatBuffer (TensorFlow Lite's metadata schema, identifier
M001) in a buffer of the model. It is written field by field, so that no package
but flatbuffers is needed:

    field numbers of the tables, in the order of the schema
    ModelMetadata       name 0, description 1, version 2, subgraph_metadata 3,
                        author 4, license 5, associated_files 6,
                        min_parser_version 7
    SubGraphMetadata    name 0, input_tensor_metadata 2,
                        output_tensor_metadata 3, input_process_units 5
    TensorMetadata      name 0, description 1, dimension_names 2, content 3
    Content             content_properties: type 0, table 1
    ProcessUnit         options: type 0, table 1
    BertTokenizerOptions  vocab_file 0
    AssociatedFile      name 0, description 1, type 2
"""

import json

import flatbuffers
from tensorflow.lite.python import schema_py_generated as schema

from bert_span.presets.span_config import CONFIG_FILE
from bert_span.tflite import file as tflite_file

BUFFER_NAME = "TFLITE_METADATA"
_IDENTIFIER = b"M001"
# The first parser that knows BertTokenizerOptions.
_MIN_PARSER_VERSION = "1.1.0"
# Numbers of union members and enum values.
_FEATURE_PROPERTIES = 1
_BERT_TOKENIZER_OPTIONS = 4
_VOCABULARY_FILE = 5

_DESCRIPTIONS = {
  "ids": "Ids of the WordPieces of [CLS] question [SEP] passage [SEP], then 0.",
  "mask": "1 for WordPieces, 0 for padding.",
  "segment_ids": "1 for the passage and the [SEP] after it, otherwise 0.",
}


class _Byte(int):
  """A field of one byte: an enum value, or the type of a union."""


def with_metadata(content, info, vocabulary, config, logits_guide):
  """Adds metadata, vocab.txt and span_config.json to the bytes of a file.

  `info` is a `ModelInfo`, `config` the dict of span_config.json, to which the
  fingerprint is added; logits_guide describes the outputs by name.
  """
  model = tflite_file.parse(content)
  data, entry = schema.BufferT(), schema.MetadataT()
  data.data = list(_metadata(model, info, _DESCRIPTIONS | logits_guide))
  entry.name, entry.buffer = BUFFER_NAME, len(model.buffers)
  model.buffers.append(data)
  model.metadata = [*(model.metadata or []), entry]
  packed = tflite_file.pack(model)
  about_file = {**config["tflite"], **tflite_file.fingerprint(packed)}
  lines = "".join(f"{token}\n" for token in vocabulary)
  files = {
    tflite_file.VOCABULARY_FILE: lines.encode("utf-8"),
    CONFIG_FILE: json.dumps(
      {**config, "tflite": about_file}, indent=2
    ).encode(),
  }
  return tflite_file.with_files(packed, files)


def _metadata(model, info, descriptions):
  """The bytes of the metadata of a `ModelT`; tables are dicts of fields."""
  graph = model.subgraphs[0]
  content = {0: _Byte(_FEATURE_PROPERTIES), 1: {}}

  def tensors(indices):
    names = [graph.tensors[index].name.decode() for index in indices]
    return [{0: name, 1: descriptions[name], 3: content} for name in names]

  vocabulary = {
    0: tflite_file.VOCABULARY_FILE,
    1: "WordPieces, one a line; the line number from 0 is the id.",
    2: _Byte(_VOCABULARY_FILE),
  }
  config = {
    0: CONFIG_FILE,
    1: "How text is divided into windows and answers are chosen, as JSON.",
  }
  subgraph = {
    0: info.name,
    2: tensors(graph.inputs),
    3: tensors(graph.outputs),
    5: [{0: _Byte(_BERT_TOKENIZER_OPTIONS), 1: {0: [vocabulary]}}],
  }
  root = {
    0: info.name,
    1: info.description,
    2: info.version,
    3: [subgraph],
    4: info.author,
    5: info.license,
    6: [config],
    7: _MIN_PARSER_VERSION,
  }
  builder = flatbuffers.Builder(1024)
  builder.Finish(_write(builder, root), _IDENTIFIER)
  return bytes(builder.Output())


def _write(builder, value):
  """Writes a str, list or table after its parts, and returns its offset."""
  if isinstance(value, str):
    return builder.CreateString(value)
  if isinstance(value, list):
    offsets = [_write(builder, item) for item in value]
    builder.StartVector(4, len(offsets), 4)  # bytes an offset, count, alignment
    for offset in reversed(offsets):
      builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()
  parts = {
    field: _write(builder, part)
    for field, part in value.items()
    if not isinstance(part, _Byte)
  }
  builder.StartObject(max(value, default=-1) + 1)
  for field, part in value.items():
    if isinstance(part, _Byte):
      builder.PrependUint8Slot(field, part, 0)
    else:
      builder.PrependUOffsetTRelativeSlot(field, parts[field], 0)
  return builder.EndObject()
