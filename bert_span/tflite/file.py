"""The contents of a TFLite file: ops, tensor names and packed files.

A TFLite file is a FlatBuffer. A ZIP archive with further files, such as the
vocabulary, follows it. ZIP programs read archives from the end of a file.
"""

import collections
import hashlib
import io
import json
import os
import zipfile

from tensorflow.lite.tools import flatbuffer_utils

from bert_span.options.fields import INT32_MAX
from bert_span.presets import span_config
from bert_span.presets.tokenizer_json import json_of_modernbert_pairs
from bert_span.presets.vocabulary_files import byte_pairs_of_json
from bert_span.storage.files import decode_utf8
from bert_span.storage.json_fields import FieldErrors
from bert_span.text.options import MAX_WINDOW
from bert_span.text.sentencepiece_model import (
  parse_model,
  sentence_pieces,
  steps_of,
)
from bert_span.text.vocabulary import (
  MODERNBERT_PAIRS,
  SENTENCE_PIECES,
  BytePairs,
  WordPieces,
  check_merges,
  split_vocabulary,
  vocabulary_kind,
)

VOCABULARY_FILE = "vocab.txt"
# Instead of vocab.txt: a SentencePiece model, or the tokenizer of ModernBERT.
PIECES_FILE, JSON_FILE = "vocabulary.spm", "tokenizer.json"
# A constant date, so that equal models give equal files.
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
_MAX_FILE_BYTES = 1 << 26  # of a vocabulary
# Ops of a model whose weights are not in the file.
_VARIABLE_OPS = ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE")
_CUSTOM = "CUSTOM:"
# Fields about the file in span_config.json, under "tflite", and the largest
# values of integers.
_FILE_FIELDS = {
  "max_length": int,
  "model_bytes": int,
  "model_sha256": str,
  "vocabulary_sha256": str,
  "dynamic_length": bool,
}
_MAXIMA = {"max_length": MAX_WINDOW, "model_bytes": INT32_MAX}
_EXPORT_AGAIN = "Export the model again with export_tflite.py."

# Bytes of a TFLite file to a `ModelT`, and back.
parse = flatbuffer_utils.convert_bytearray_to_object
pack = flatbuffer_utils.convert_object_to_bytearray


def is_tflite(path):
  """Returns whether a path has the suffix of a TFLite file."""
  return os.fspath(path).endswith(".tflite")


def op_counts(model):
  """Counts the ops of a `ModelT` by name; custom ops are "CUSTOM:Name"."""
  counts = collections.Counter()
  for graph in model.subgraphs:
    for operator in graph.operators:
      name = flatbuffer_utils.opcode_to_name(model, operator.opcodeIndex)
      if name == "CUSTOM":
        custom = model.operatorCodes[operator.opcodeIndex].customCode
        name = _CUSTOM + custom.decode()
      counts[name] += 1
  return dict(sorted(counts.items()))


def check_builtin_ops(counts):
  """Raises ValueError for resource variables and for custom ops."""
  variables = [name for name in _VARIABLE_OPS if name in counts]
  if variables:
    raise ValueError(
      f"The TFLite file reads resource variables ({', '.join(variables)}): its "
      "weights are not in the file, and it would return NaN."
    )
  custom = [name for name in counts if name.startswith(_CUSTOM)]
  if custom:
    raise ValueError(
      f"The TFLite file needs the ops {', '.join(custom)}, which are not "
      "builtin ops of TFLite."
    )


def with_signature_names(content):
  """Gives tensors their names in the signature, for older runtimes."""
  model = parse(content)
  (signature,) = model.signatureDefs
  tensors = model.subgraphs[signature.subgraphIndex].tensors
  for entry in (*signature.inputs, *signature.outputs):
    tensors[entry.tensorIndex].name = entry.name
  return pack(model)


def with_files(content, files):
  """Appends files, bytes by name, to a TFLite file without any."""
  stream = io.BytesIO(content)
  with zipfile.ZipFile(stream, "a") as archive:
    for name, data in files.items():
      # Not compressed: the Task Library requires it.
      archive.writestr(zipfile.ZipInfo(name, _ZIP_DATE), data)
  return stream.getvalue()


def read_files(path):
  """Returns the files that `with_files` appended, bytes by name."""
  with open(path, "rb") as file:
    identifier = file.read(8)[4:]
  if identifier != b"TFL3":
    raise ValueError(
      f"{path} is not a TFLite file: bytes 4 to 8 are not TFL3. Received: "
      f"{identifier}. {_EXPORT_AGAIN}"
    )
  files = {}
  for name in (span_config.CONFIG_FILE, VOCABULARY_FILE):
    try:
      with zipfile.ZipFile(path) as archive:
        if name == VOCABULARY_FILE:
          others = {PIECES_FILE, JSON_FILE} & {*archive.namelist()}
          name = min(others, default=name)
        entry = archive.getinfo(name)
        # A few compressed bytes may be gigabytes.
        if entry.compress_type != zipfile.ZIP_STORED:
          raise ValueError("it is compressed")
        if entry.file_size > _MAX_FILE_BYTES:
          raise ValueError(f"it has {entry.file_size:,} bytes")
        files[name] = archive.read(entry)
    except Exception as error:  # Damaged archives raise many types.
      raise ValueError(
        f"{path}: {name}, which follows the model, cannot be read: {error}. "
        f"Copy the file again. {_EXPORT_AGAIN}"
      ) from error
  return files


def read_packed_config(path):
  """Returns the span_config.json of a local TFLite file, a dict.

  Its "tflite" has the options of the file.
  """
  name = f"{path}, {span_config.CONFIG_FILE}"
  content = read_files(path)[span_config.CONFIG_FILE]
  config = span_config.parse_span_config(content, name)
  about_file = config.get("tflite")
  if not isinstance(about_file, dict):
    about_file = {}
  errors, place = FieldErrors(name), "tflite"
  for field, json_type in _FILE_FIELDS.items():
    value = errors.required(about_file, field, json_type, place)
    most = _MAXIMA.get(field)
    if value is not None and most and not 1 <= value <= most:
      errors.add(
        place, f"{field} must be from 1 to {most:,}, received {value}."
      )
  errors.optional(about_file, "family", str, place, None)
  merges = errors.optional(about_file, "merges", list, place, [])
  try:
    errors.raise_if_any()
    check_merges(merges, f"{name}, merges")
  except ValueError as error:
    raise ValueError(f"{error} {_EXPORT_AGAIN}") from error
  return config


def vocabulary_files(vocabulary):
  """Returns a dict of the vocabulary's file, and its fields for "tflite"."""
  about = {}
  whole, kind = vocabulary, vocabulary_kind(vocabulary)
  vocabulary, added = split_vocabulary(vocabulary)
  if added and kind != MODERNBERT_PAIRS:
    raise ValueError(
      f"A TFLite file cannot have added tokens, such as {added[0].content!r}: "
      "its runners do not find them in texts. Export a SavedModel."
    )
  if kind == SENTENCE_PIECES:
    steps = steps_of(parse_model(vocabulary.proto))
    if steps and vocabulary.family != "albert":
      raise ValueError(
        f"A TFLite file cannot have the normalizer of this tokenizer.json, "
        f"{steps}: its runners have only a SentencePiece model's. Export a "
        "SavedModel."
      )
    name, content = PIECES_FILE, vocabulary.proto
    about["family"] = vocabulary.family
  elif kind == MODERNBERT_PAIRS:
    # A file of its own, as other runners have no tokenizer for it.
    name = JSON_FILE
    content = json.dumps(json_of_modernbert_pairs(whole)).encode()
  elif isinstance(vocabulary, WordPieces):
    raise ValueError(
      "A TFLite file cannot have a tokenizer that keeps accents in lower-cased "
      "text or joins Chinese characters: its runners do not. Export a "
      "SavedModel."
    )
  else:
    if isinstance(vocabulary, BytePairs):
      vocabulary, about["merges"] = vocabulary
    name = VOCABULARY_FILE
    content = "".join(f"{token}\n" for token in vocabulary).encode()
  about["vocabulary_sha256"] = hashlib.sha256(content).hexdigest()
  return {name: content}, about


def read_vocabulary(path):
  """Reads the vocabulary in a TFLite file; ValueError if it was changed."""
  about_file = read_packed_config(path)["tflite"]
  files = read_files(path)
  (name,) = files.keys() - {span_config.CONFIG_FILE}
  content, source = files[name], f"{path}, {name}"
  if hashlib.sha256(content).hexdigest() != about_file["vocabulary_sha256"]:
    raise ValueError(
      f"{path} is damaged: its {name} is not the exported one. Copy the file "
      f"again. {_EXPORT_AGAIN}"
    )
  if name == PIECES_FILE:
    return sentence_pieces(content, about_file.get("family"), source)
  if name == JSON_FILE:
    return byte_pairs_of_json(json.loads(content), source)
  text = decode_utf8(content, f"{source}:", "utf-8")
  tokens, merges = text.removesuffix("\n").split("\n"), about_file.get("merges")
  return BytePairs(tokens, merges) if merges else tokens


def fingerprint(content):
  """Returns the size and the SHA-256 of a model, as fields of "tflite"."""
  sha256 = hashlib.sha256(content).hexdigest()
  return {"model_bytes": len(content), "model_sha256": sha256}


def check_unchanged(path, config):
  """Returns a model's bytes; ValueError if they are not those of its config.

  Runtimes do not check the file: a damaged one would end the process.
  """
  written = config["tflite"]
  with open(path, "rb") as file:
    content = file.read()[: written["model_bytes"]]
  if fingerprint(content)["model_sha256"] != written["model_sha256"]:
    raise ValueError(
      f"{path} is damaged: its model is not the exported one. Copy the file "
      f"again. {_EXPORT_AGAIN}"
    )
  return content


def check_tables(path, content, vocabulary, max_length):
  """Raises ValueError if a model lacks embeddings of tokens or positions."""
  model = parse(content)
  graph = model.subgraphs[0]
  (ids,) = (i for i in graph.inputs if graph.tensors[i].name == b"ids")
  tables = {"GATHER": [], "STRIDED_SLICE": []}
  for operator in graph.operators:
    name = flatbuffer_utils.opcode_to_name(model, operator.opcodeIndex)
    table = graph.tensors[operator.inputs[0]]
    reads_ids = name == "GATHER" and operator.inputs[1] == ids
    cuts = (
      name == "STRIDED_SLICE" and model.buffers[table.buffer].data is not None
    )
    if reads_ids or cuts:
      tables[name].append(tuple(table.shape))
  ((rows, width), *_) = tables["GATHER"]
  # Windows of any length read the first rows of a table of positions.
  cut = tables["STRIDED_SLICE"]
  positions = [shape[0] for shape in cut if shape[1:] == (width,)]
  # DeBERTa has distances of both signs, and fewer rows than positions.
  positions = [shape[0] // 2 for shape in cut if not shape[1:]] or positions
  others = {SENTENCE_PIECES: PIECES_FILE, MODERNBERT_PAIRS: JSON_FILE}
  name = others.get(vocabulary_kind(vocabulary), VOCABULARY_FILE)
  for field, needed, num_rows in (
    (name, len(getattr(vocabulary, "tokens", vocabulary)), rows),
    ("max_length", max_length, min(positions, default=max_length)),
  ):
    if needed > num_rows:
      raise ValueError(
        f"{path}: {field} must be at most {num_rows}, the number of embeddings "
        f"in the model. Received: {needed}. {_EXPORT_AGAIN}"
      )
