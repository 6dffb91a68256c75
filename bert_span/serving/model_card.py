"""The card of an exported model: what it is, and what a server needs."""

import json
import os

import tensorflow as tf

from bert_span.serving import signature_guide
from bert_span.serving.version_folder import EXTRA_FOLDER
from bert_span.storage.atomic_file import (
  write_json_atomically,
  write_text_atomically,
)

JSON_FILE = "model_card.json"
TEXT_FILE = "README.md"
_SCORES_FILE = "eval_results.json"
_OPTIONS_FILE = "training_options.json"
_FLAGS_FILE = "run.flags"
_MODEL_DIRECTORY = "model"  # run_squad's, within its --output_dir


def training_run(model):
  """What stands beside a trained model about its training.

  Args:
    model: model directory; where it is run_squad's output_dir/model, the files
      in output_dir count as well.

  Returns:
    Dict with what is there of "metadata" (KerasHub's, in the model), "options"
    (training_options.json), "flags" (lines of run.flags) and "scores"
    (eval_results.json).
  """
  beside = [model]
  # A folder of another name may stand among strangers.
  if os.path.basename(os.path.normpath(model)) == _MODEL_DIRECTORY:
    beside.append(os.path.dirname(os.path.abspath(model)))
  run = {
    "metadata": _read_json([model], "metadata.json"),
    "options": _read_json(beside, _OPTIONS_FILE),
    "flags": (_read(beside, _FLAGS_FILE) or "").splitlines(),
    "scores": _read_json(beside, _SCORES_FILE),
  }
  return {name: value for name, value in run.items() if value}


def signatures_of(directory, output_guide):
  """The signatures of a SavedModel as TensorFlow Serving sees them.

  Args:
    directory: of the SavedModel.
    output_guide: descriptions of its outputs, see signature_guide.py.

  Returns:
    Dict of name to dict of method, inputs and outputs; each of these a dict of
    name to dict of dtype, shape (-1: any) and description.
  """
  from tensorflow.core.protobuf import saved_model_pb2

  saved_model = saved_model_pb2.SavedModel()
  with open(os.path.join(directory, "saved_model.pb"), "rb") as file:
    saved_model.ParseFromString(file.read())
  (meta_graph,) = saved_model.meta_graphs
  return {
    name: {
      "method": signature.method_name,
      "inputs": _tensors(signature.inputs, signature_guide.INPUTS[name]),
      "outputs": _tensors(signature.outputs, output_guide[name]),
    }
    for name, signature in sorted(meta_graph.signature_def.items())
    if name in signature_guide.INPUTS
  }


def write_model_card(directory, card):
  """Writes README.md and model_card.json into assets.extra.

  Args:
    directory: of the SavedModel.
    card: dict of name, signatures (see `signatures_of`), options, encoder,
      (see `training_run`), versions, text_ops, ops, verification.
  """
  folder = os.path.join(directory, EXTRA_FOLDER)
  os.makedirs(folder, exist_ok=True)
  write_json_atomically(os.path.join(folder, JSON_FILE), card)
  write_text_atomically(os.path.join(folder, TEXT_FILE), _text(card))


def _tensors(tensors, descriptions):
  """Dict of a signature's tensors, in the order of their descriptions."""
  return {
    name: {
      "dtype": tf.as_dtype(tensors[name].dtype).name,
      "shape": [dim.size for dim in tensors[name].tensor_shape.dim],
      "description": description,
    }
    for name, description in descriptions.items()
  }


def _text(card):
  """The card as Markdown."""
  parts = [
    f"# {card['name']}",
    "BERT span extraction, exported by bert_span for TensorFlow Serving: a "
    "question and a passage go in, the characters of the answer, one span or "
    f"several by the head (here {card['options']['head']}), come out.",
    "## What the server must have",
    "Beside TensorFlow's own ops the graph needs these of tensorflow-text: "
    f"{', '.join(card['text_ops'])}. In Python, import tensorflow_text before "
    "the model is loaded.",
    *(_signature_text(*item) for item in card["signatures"].items()),
    "## Options",
    _table(["option", "value"], card["options"].items()),
    "## Encoder",
    _table(["", ""], card["encoder"].items()),
    "## Training",
    _training_text(card["training"]),
    "## Versions",
    _table(["package", "version"], card["versions"].items()),
    "## Verification",
    _table(["", ""], card["verification"].items()),
    "## Ops",
    ", ".join(card["ops"]),
  ]
  return "\n\n".join(parts) + "\n"


def _signature_text(name, signature):
  tables = [
    _table(
      [title, "type", "shape", ""],
      [
        (key, tensor["dtype"], tensor["shape"], tensor["description"])
        for key, tensor in signature[title].items()
      ],
    )
    for title in ("inputs", "outputs")
  ]
  return "\n\n".join(
    [f"## Signature {name}", f"Method {signature['method']}.", *tables]
  )


def _training_text(training):
  if not training:
    return "Nothing is known: no file about it stands beside the model."
  parts = []
  for name, values in training.items():
    parts.append(f"### {name}")
    if isinstance(values, dict):
      parts.append(_table(["", ""], values.items()))
    else:
      parts.append("\n".join(f"    {line}" for line in values))
  return "\n\n".join(parts)


def _table(titles, rows):
  """A Markdown table."""
  lines = [titles, ["---"] * len(titles), *rows]
  return "\n".join(
    "| " + " | ".join(_cell(value) for value in line) + " |" for line in lines
  )


def _cell(value):
  text = value if isinstance(value, str) else json.dumps(value)
  return text.replace("|", "\\|").replace("\n", " ")


def _read_json(folders, name):
  text = _read(folders, name)
  if text is None:
    return None
  try:
    return json.loads(text)
  except ValueError as error:
    raise ValueError(
      f"{name} beside the model is not JSON: {error}. Remove it or restore it."
    ) from error


def _read(folders, name):
  """The text of a file in the first folder that has it, or None."""
  for folder in folders:
    path = os.path.join(folder, name)
    if tf.io.gfile.exists(path):
      with tf.io.gfile.GFile(path) as file:
        return file.read()
  return None
