"""TFLite metadata: what a model tells the runtimes and tools that read it.

The metadata is a FlatBuffer of its own (TensorFlow Lite's metadata schema,
identifier M001) in a buffer of the model. It is written here field by field,
so that no package beside flatbuffers is needed:

    field numbers of the tables, as the schema orders them
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

import dataclasses
import json
from typing import Any, NamedTuple

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
_UNKNOWN_FILE, _VOCABULARY_FILE = 0, 5

_DESCRIPTIONS = {
  "ids": "Ids of the WordPieces of [CLS] question [SEP] passage [SEP], then 0.",
  "mask": "1 where there is a WordPiece, 0 on padding.",
  "segment_ids": "1 on the passage and the [SEP] behind it, else 0.",
  "question": "The question, UTF-8.",
  "context": "The passage, UTF-8.",
  "byte_start": "Where the answer begins in the passage, in bytes.",
  "byte_end": "Behind its last byte; 0, as byte_start, for no answer.",
  "score": "What answers are compared by: start logit + end logit, or the mean "
  "of their probabilities.",
  "probability": "Of the answer, among those of the n-best list.",
  "null_odds": "Score of no answer - score of the best span; 1e6 where no span "
  "is possible.",
  "is_answerable": "Whether the answer is a span.",
  "n_best_count": "Entries of the n-best list; behind them is padding.",
  "n_best_byte_start": "As byte_start, of each entry, the best one first.",
  "n_best_byte_end": "As byte_end, of each entry.",
  "n_best_start_logit": "Of each entry's first token, or of [CLS].",
  "n_best_end_logit": "Of each entry's last token, or of [CLS].",
  "n_best_score": "As score, of each entry.",
  "n_best_probability": "As probability, of each entry.",
}


@dataclasses.dataclass(frozen=True)
class ModelInfo:
  """What the metadata says about the model as a whole.

  Attributes:
    name, description, version, author, license: text.
  """

  name: str
  description: str
  version: str
  author: str = ""
  license: str = ""


class _Byte(NamedTuple):
  """A field of one byte: an enum value or the type of a union."""

  value: int


class _Table(NamedTuple):
  """A table: its field numbers with str, list, `_Byte` or `_Table`."""

  fields: dict[int, Any]


def with_metadata(
  content, info, vocabulary, config, has_tokenizer=False, logits_guide=None
):
  """Adds metadata, vocab.txt and span_config.json to a TFLite file.

  Args:
    content: bytes of a TFLite file without them.
    info: `ModelInfo`.
    vocabulary: list of tokens, the index is the id.
    config: dict of span_config.json with the key "tflite"; the model's bytes
      and their hash are added to what stands there.
    has_tokenizer: whether the graph itself cuts text into tokens; else the
      metadata tells its reader to do so with vocab.txt.
    logits_guide: dict of the head's logits to what they are, see
      `ServedAnswers`.

  Returns:
    bytes.
  """
  model = tflite_file.parse(content)
  data = schema.BufferT()
  data.data = list(
    _metadata(model, info, has_tokenizer, _DESCRIPTIONS | (logits_guide or {}))
  )
  entry = schema.MetadataT()
  entry.name, entry.buffer = BUFFER_NAME, len(model.buffers)
  model.buffers.append(data)
  model.metadata = [*(model.metadata or []), entry]
  packed = tflite_file.pack(model)
  config = {
    **config,
    "tflite": {**config["tflite"], **tflite_file.fingerprint(packed)},
  }
  lines = "".join(f"{token}\n" for token in vocabulary)
  files = {
    tflite_file.VOCABULARY_FILE: lines.encode("utf-8"),
    CONFIG_FILE: json.dumps(config, indent=2).encode("utf-8"),
  }
  return tflite_file.with_files(packed, files)


def _metadata(model, info, has_tokenizer, descriptions):
  """The bytes of the metadata of a `schema.ModelT`."""
  graph = model.subgraphs[0]
  vocabulary = _associated_file(
    tflite_file.VOCABULARY_FILE,
    "WordPieces, one a line; the line number from 0 is the id.",
    _VOCABULARY_FILE,
  )
  process_units = []
  if not has_tokenizer:
    options = _Table({0: [vocabulary]})
    process_units = [_Table({0: _Byte(_BERT_TOKENIZER_OPTIONS), 1: options})]
  subgraph = {
    0: info.name,
    2: [_tensor(graph.tensors[index], descriptions) for index in graph.inputs],
    3: [_tensor(graph.tensors[index], descriptions) for index in graph.outputs],
    **({5: process_units} if process_units else {}),
  }
  files = [
    *([vocabulary] if has_tokenizer else []),
    _associated_file(
      CONFIG_FILE,
      "How text is cut into windows and answers are chosen, as JSON.",
      _UNKNOWN_FILE,
    ),
  ]
  root = _Table(
    {
      0: info.name,
      1: info.description,
      2: info.version,
      3: [_Table(subgraph)],
      4: info.author,
      5: info.license,
      6: files,
      7: _MIN_PARSER_VERSION,
    }
  )
  builder = flatbuffers.Builder(1024)
  builder.Finish(_write(builder, root), _IDENTIFIER)
  return bytes(builder.Output())


def _tensor(tensor, descriptions):
  """The TensorMetadata of a tensor of the model."""
  name = tensor.name.decode() if isinstance(tensor.name, bytes) else tensor.name
  content = _Table({0: _Byte(_FEATURE_PROPERTIES), 1: _Table({})})
  return _Table({0: name, 1: descriptions[name], 3: content})


def _associated_file(name, description, kind):
  return _Table({0: name, 1: description, 2: _Byte(kind)})


def _write(builder, value):
  """Writes a value, parts first, and returns its offset."""
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
    for field, part in value.fields.items()
    if not isinstance(part, _Byte)
  }
  builder.StartObject(max(value.fields, default=-1) + 1)
  for field, part in value.fields.items():
    if isinstance(part, _Byte):
      builder.PrependUint8Slot(field, part.value, 0)
    else:
      builder.PrependUOffsetTRelativeSlot(field, parts[field], 0)
  return builder.EndObject()
