"""What is in a TFLite file: ops, tensor names, and the files packed behind it.

A TFLite file is a FlatBuffer. Files that belong to it (the vocabulary) follow
as a ZIP archive, which every ZIP program finds from the file's end.
"""

import collections
import hashlib
import io
import os
import zipfile

import flatbuffers
from tensorflow.lite.python import schema_py_generated as schema

from bert_span.presets import span_config

SUFFIX = ".tflite"
VOCABULARY_FILE = "vocab.txt"
_IDENTIFIER = b"TFL3"
# A date that never changes, so that equal models give equal files.
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
# A model whose variables were not frozen reads them from here.
_VARIABLE_OPS = (
  *("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"),
)
_OP_NAMES = {
  value: name
  for name, value in vars(schema.BuiltinOperator).items()
  if isinstance(value, int)
}


def is_tflite(path):
  """Whether a path names a TFLite file, by its ending."""
  return os.fspath(path).endswith(SUFFIX)


def parse(content):
  """The FlatBuffer as Python objects.

  Args:
    content: bytes of a TFLite file.

  Returns:
    `schema.ModelT` of TensorFlow's own schema.

  Raises:
    ValueError: the bytes are no TFLite file.
  """
  if content[4:8] != _IDENTIFIER:
    raise ValueError(
      "This is no TFLite file: bytes 4 to 8 are not TFL3. Received: "
      f"{bytes(content[4:8])!r}."
    )
  return schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(content, 0))


def pack(model):
  """The bytes of a `schema.ModelT`."""
  builder = flatbuffers.Builder(1024)
  builder.Finish(model.Pack(builder), _IDENTIFIER)
  return bytes(builder.Output())


def op_counts(model):
  """How often each op stands in the model.

  Args:
    model: `schema.ModelT`.

  Returns:
    Dict of name to count, by name; custom ops as "CUSTOM:Name".
  """
  counts = collections.Counter(
    _op_name(model.operatorCodes[operator.opcodeIndex])
    for graph in model.subgraphs
    for operator in graph.operators
  )
  return dict(sorted(counts.items()))


def check_ops(counts, custom_ops=()):
  """Refuses ops that a runtime with TFLite's builtin ops cannot run.

  Args:
    counts: dict of `op_counts`.
    custom_ops: names of the custom ops that may be there.

  Raises:
    ValueError: the model reads resource variables, or has other custom ops.
  """
  variables = [name for name in _VARIABLE_OPS if name in counts]
  if variables:
    raise ValueError(
      f"The TFLite file reads resource variables ({', '.join(variables)}): its "
      "weights are not in it, and it would answer NaN."
    )
  allowed = {f"CUSTOM:{name}" for name in custom_ops}
  custom = [
    name
    for name in counts
    if name.startswith("CUSTOM:") and name not in allowed
  ]
  if custom:
    raise ValueError(
      f"The TFLite file needs the ops {', '.join(custom)}, which are no "
      "builtin ops of TFLite."
    )


def with_signature_names(content):
  """Gives the tensors of the signature the names that the signature has.

  Args:
    content: bytes of a TFLite file with one signature.

  Returns:
    bytes; a runtime that knows no signatures finds the tensors by name.
  """
  model = parse(content)
  (signature,) = model.signatureDefs
  tensors = model.subgraphs[signature.subgraphIndex].tensors
  for entry in (*signature.inputs, *signature.outputs):
    tensors[entry.tensorIndex].name = entry.name
  return pack(model)


def with_files(content, files):
  """Packs files behind a TFLite file.

  Args:
    content: bytes of a TFLite file without an archive.
    files: dict of name to bytes.

  Returns:
    bytes.
  """
  stream = io.BytesIO(content)
  with zipfile.ZipFile(stream, "a") as archive:
    for name, data in files.items():
      # Not compressed, as the Task Library wants it.
      archive.writestr(zipfile.ZipInfo(name, _ZIP_DATE), data)
  return stream.getvalue()


def read_files(path):
  """The files packed behind a TFLite file.

  Args:
    path: local path.

  Returns:
    Dict of name to bytes; empty where there are none.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is no TFLite file, or a packed file is damaged.
  """
  with open(path, "rb") as file:
    if file.read(8)[4:] != _IDENTIFIER:
      raise ValueError(
        f"{path} is no TFLite file: bytes 4 to 8 are not TFL3. Export the "
        "model again with export.export_tflite."
      )
  if not zipfile.is_zipfile(path):
    return {}
  try:
    with zipfile.ZipFile(path) as archive:
      return {name: archive.read(name) for name in archive.namelist()}
  except zipfile.BadZipFile as error:
    raise ValueError(
      f"{path}: the files behind the model are damaged: {error}. Copy the file "
      "again, or export the model again."
    ) from error


def read_span_config(path):
  """What a TFLite file says about text and answers.

  Args:
    path: local path.

  Returns:
    Dict of span_config.json, with the key "tflite" for the file's own length
    and quantization.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is no TFLite file of this package.
  """
  files = read_files(path)
  missing = {span_config.CONFIG_FILE, VOCABULARY_FILE} - set(files)
  if missing:
    raise ValueError(
      f"{path} has no {' and no '.join(sorted(missing))} behind the model, so "
      "its text cannot be cut into tokens. Export the model with "
      "export.export_tflite."
    )
  name = f"{path}, {span_config.CONFIG_FILE}"
  text = files[span_config.CONFIG_FILE].decode("utf-8", "replace")
  config = span_config.parse_span_config(text, name)
  if not isinstance(config.get("tflite"), dict):
    raise ValueError(
      f'{name}: "tflite" is missing. Export the model with '
      "export.export_tflite."
    )
  return config


def has_tokenizer(config):
  """Whether a file takes strings, with tokenizer and windows inside.

  Args:
    config: dict of `read_span_config`.
  """
  # Files of older versions do not say: they have none.
  return bool(config["tflite"].get("with_tokenizer", False))


def fingerprint(content):
  """What tells whether a model is still the one that was written.

  Args:
    content: bytes of a TFLite file without an archive.

  Returns:
    Dict of model_bytes, their number, and model_sha256.
  """
  return {
    "model_bytes": len(content),
    "model_sha256": hashlib.sha256(content).hexdigest(),
  }


def check_unchanged(path, config):
  """Refuses a damaged model, which would end the process: runtimes trust it.

  Args:
    path: local path of a TFLite file.
    config: dict of `read_span_config`.

  Raises:
    ValueError: the model is not the one that was written.
  """
  written = config["tflite"]
  with open(path, "rb") as file:
    found = fingerprint(file.read(written["model_bytes"]))
  if found["model_sha256"] != written["model_sha256"]:
    raise ValueError(
      f"{path} is damaged: its model is not the one that was exported. Copy "
      "the file again, or export the model again."
    )


def _op_name(code):
  if code.builtinCode == schema.BuiltinOperator.CUSTOM:
    name = code.customCode
    return f"CUSTOM:{name.decode() if isinstance(name, bytes) else name}"
  # Files of old converters have the number in the old field only.
  return _OP_NAMES[max(code.builtinCode, code.deprecatedBuiltinCode)]
