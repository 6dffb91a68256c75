"""Writes TFLite metadata: descriptions of a model for runtimes and tools.

The metadata is a FlatBuffer (TensorFlow Lite's metadata schema, identifier
M001) in a buffer of the model. It is written field by field, so that only the
package flatbuffers is needed. Tables are tuples of their first fields:

    ModelMetadata       name, description, version, subgraph_metadata, author,
                        license, associated_files, min_parser_version
    SubGraphMetadata    name, description, input_tensor_metadata,
                        output_tensor_metadata, associated_files,
                        input_process_units
    TensorMetadata      name, description, dimension_names, content
    Content             content_properties: type, table
    ProcessUnit         options: type, table
    BertTokenizerOptions  vocab_file
    AssociatedFile      name, description, type
"""

import json

import flatbuffers
from tensorflow.lite.python import schema_py_generated as schema

from bert_span.presets.span_config import CONFIG_FILE
from bert_span.text.vocabulary import (
  MODERNBERT_PAIRS,
  SENTENCE_PIECES,
  WORD_PIECES,
  vocabulary_kind,
)
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
  "ids": "Ids of the tokens of [CLS] question [SEP] passage [SEP], or of <s> "
  "question </s></s> passage </s> (RoBERTa and others), then padding.",
  "mask": "1 for tokens, 0 for padding.",
  "segment_ids": "1 for the passage and the [SEP] after it, otherwise 0.",
}


class _Byte(int):
  """A field of one byte: an enum value, or the type of a union."""


def with_metadata(content, info, vocabulary, config, logits_guide):
  """Adds metadata, vocabulary and span_config.json to the bytes of a file.

  `info` is a `ModelInfo`; `config` is the dict of span_config.json, which gets
  the fingerprint; logits_guide describes the outputs by name.
  """
  model = tflite_file.parse(content)
  files, about_vocabulary = tflite_file.vocabulary_files(vocabulary)
  data, entry = schema.BufferT(), schema.MetadataT()
  data.data = list(
    _metadata(model, info, _DESCRIPTIONS | logits_guide, vocabulary)
  )
  entry.name, entry.buffer = BUFFER_NAME, len(model.buffers)
  model.buffers.append(data)
  model.metadata = [*(model.metadata or []), entry]
  packed = tflite_file.pack(model)
  about_file = {**config["tflite"], **about_vocabulary}
  about_file |= tflite_file.fingerprint(packed)
  config = json.dumps({**config, "tflite": about_file}, indent=2)
  return tflite_file.with_files(packed, {**files, CONFIG_FILE: config.encode()})


def _metadata(model, info, descriptions, vocabulary):
  """Returns the bytes of a `ModelT`'s metadata."""
  graph = model.subgraphs[0]
  content = (_Byte(_FEATURE_PROPERTIES), ())

  def tensors(indices):
    names = [graph.tensors[index].name.decode() for index in indices]
    return [(name, descriptions[name], None, content) for name in names]

  units, files = (
    [],
    [
      (
        CONFIG_FILE,
        "How text is divided into windows and answers are chosen, as JSON.",
      )
    ],
  )
  kind = vocabulary_kind(vocabulary)
  if kind == SENTENCE_PIECES:
    files.append((tflite_file.PIECES_FILE, "The SentencePiece model."))
  elif kind == MODERNBERT_PAIRS:
    about = "The tokenizer, in the format of the tokenizers library."
    files.append((tflite_file.JSON_FILE, about))
  else:
    about = "Tokens, one a line; the line number from 0 is the id."
    tokens = (tflite_file.VOCABULARY_FILE, about, _Byte(_VOCABULARY_FILE))
    # The Task Library would give other ids to pieces and byte pairs.
    if kind == WORD_PIECES:
      units.append((_Byte(_BERT_TOKENIZER_OPTIONS), ([tokens],)))
    else:
      files.append(tokens)
  inputs, outputs = tensors(graph.inputs), tensors(graph.outputs)
  subgraph = (info.name, None, inputs, outputs, None, units)
  root = (
    *(info.name, info.description, info.version, [subgraph]),
    *(info.author, info.license, files, _MIN_PARSER_VERSION),
  )
  builder = flatbuffers.Builder(1024)
  builder.Finish(_write(builder, root), _IDENTIFIER)
  return bytes(builder.Output())


def _write(builder, value):
  """Writes a str, list or tuple after its items, and returns its offset."""
  if isinstance(value, str):
    return builder.CreateString(value)
  if isinstance(value, list):
    offsets = [_write(builder, item) for item in value]
    builder.StartVector(4, len(offsets), 4)  # bytes an offset, count, alignment
    for offset in reversed(offsets):
      builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()
  items = [
    item if isinstance(item, _Byte | None) else _write(builder, item)
    for item in value
  ]
  builder.StartObject(len(items))
  for field, item in enumerate(items):
    if isinstance(item, _Byte):
      builder.PrependUint8Slot(field, item, 0)
    elif item is not None:
      builder.PrependUOffsetTRelativeSlot(field, item, 0)
  return builder.EndObject()
