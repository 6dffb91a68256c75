"""The card of an exported model: what it is, and what a server needs."""

import dataclasses
import importlib.metadata
import json
import os

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

import bert_span
from bert_span.serving import signatures
from bert_span.serving.version_folder import EXTRA_FOLDER
from bert_span.storage.atomic_file import (
  write_json_atomically,
  write_text_atomically,
)
from bert_span.storage.files import read_bytes, read_json

_PACKAGES = ("tensorflow", "tensorflow-text", "keras", "keras-hub")
_MODEL_DIRECTORY = "model"  # run_squad's, in its --output_dir
_EXAMPLE = "serialized tf.Example with the bytes features question and context"
_INPUTS = {
  signatures.SERVING_DEFAULT: {
    "question": "the question; without a WordPiece it gets no answer",
    "context": "the passage, of any length; bytes that are not UTF-8 count as "
    "U+FFFD, one character",
  },
  signatures.LOGITS: {
    "input_ids": "vocabulary ids: [CLS] question [SEP] window [SEP]",
    "input_mask": "1 for WordPieces, 0 for padding",
    "segment_ids": "0 up to the first [SEP], 1 after it",
  },
  signatures.EXAMPLES: {"examples": _EXAMPLE},
  signatures.CLASSIFY: {"inputs": _EXAMPLE},
}


def make_model_card(directory, name, extractor, steps, dtype, verified, source):
  """The card as a dict of JSON values, see `export_saved_model`."""
  backbone = extractor.model.backbone
  preprocessor = extractor.preprocessor
  return {
    "name": name,
    "signatures": signatures_of(directory, extractor.head.served),
    "options": {
      "head": extractor.head.name,
      **dataclasses.asdict(extractor.window_options),
      **dataclasses.asdict(extractor.decoder_options),
      **dataclasses.asdict(steps),
      "do_lower_case": preprocessor.tokenizer.do_lower_case,
      "fixed_length": preprocessor.sliding_windows.pad_to_max,
      "dtype": dtype,
    },
    "encoder": {
      "layers": backbone.num_layers,
      "heads": backbone.num_heads,
      "hidden": backbone.hidden_dim,
      "vocabulary": backbone.vocabulary_size,
      "parameters": backbone.count_params(),
    },
    "training": training_run(source) if source else {},
    "versions": {
      "bert_span": bert_span.__version__,
      **{package: importlib.metadata.version(package) for package in _PACKAGES},
    },
    "verification": {
      "questions compared with the model": verified.num_questions,
      "answers that differed": 0,
      "largest difference of a score": verified.largest_difference,
    },
    "text_ops": list(verified.text_ops),
    "ops": list(verified.ops),
  }


def training_run(model):
  """The contents of the files about a model's training, a dict.

  Args:
    model: model directory; if it is run_squad's output_dir/model, files in
      output_dir count as well.
  """
  folders = [model]
  if os.path.basename(os.path.normpath(model)) == _MODEL_DIRECTORY:
    folders.append(os.path.dirname(os.path.abspath(model)))
  names = {
    "metadata": "metadata.json",
    "options": "training_options.json",
    "flags": "run.flags",
    "scores": "eval_results.json",
  }
  run = {}
  for key, name in names.items():
    paths = [os.path.join(folder, name) for folder in folders]
    path = next(filter(tf.io.gfile.exists, paths), None)
    if path and name.endswith(".json"):
      run[key] = read_json(path)
    elif path:
      run[key] = read_bytes(path).decode("utf-8").splitlines()
  return run


def signatures_of(directory, served):
  """The signatures of a SavedModel, described by `ServedAnswers` of its head.

  Returns:
    Dict of name to dict of method, inputs and outputs; each of these a dict of
    name to dict of dtype, shape (-1: any) and description.
  """
  outputs = {
    signatures.SERVING_DEFAULT: served.guide,
    signatures.LOGITS: served.logits_guide,
    signatures.EXAMPLES: served.guide,
    signatures.CLASSIFY: served.classes_guide,
  }
  with open(os.path.join(directory, "saved_model.pb"), "rb") as file:
    saved_model = saved_model_pb2.SavedModel.FromString(file.read())
  (meta_graph,) = saved_model.meta_graphs
  return {
    name: {
      "method": signature.method_name,
      "inputs": _tensors(signature.inputs, _INPUTS[name]),
      "outputs": _tensors(signature.outputs, outputs[name]),
    }
    for name, signature in sorted(meta_graph.signature_def.items())
    if name in _INPUTS
  }


def write_model_card(directory, card):
  """Writes README.md and model_card.json into a SavedModel's assets.extra."""
  folder = os.path.join(directory, EXTRA_FOLDER)
  os.makedirs(folder, exist_ok=True)
  write_json_atomically(os.path.join(folder, "model_card.json"), card)
  write_text_atomically(os.path.join(folder, "README.md"), _markdown(card))


def _tensors(tensors, descriptions):
  return {
    name: {
      "dtype": tf.as_dtype(tensors[name].dtype).name,
      "shape": [dim.size for dim in tensors[name].tensor_shape.dim],
      "description": description,
    }
    for name, description in descriptions.items()
  }


def _markdown(card):
  parts = [
    f"# {card['name']}",
    "BERT span extraction, exported by bert_span for TensorFlow Serving. It "
    "takes a question and a passage and gives the characters of the answer: "
    "one span, or several with a bio head (here: "
    f"{card['options']['head']}).",
    "## What the server must have",
    "Besides TensorFlow's own ops the graph needs these of tensorflow-text: "
    f"{', '.join(card['text_ops'])}. In Python, import tensorflow_text before "
    "the model is loaded.",
  ]
  for name, signature in card["signatures"].items():
    parts += [f"## Signature {name}", f"Method {signature['method']}."]
    for title in ("inputs", "outputs"):
      rows = [(key, *t.values()) for key, t in signature[title].items()]
      parts.append(_table([title, "type", "shape", ""], rows))
  for title in ("options", "encoder"):
    parts += [f"## {title.capitalize()}", _table(["", ""], card[title].items())]
  parts.append("## Training")
  for name, values in card["training"].items():
    if isinstance(values, dict):
      text = _table(["", ""], values.items())
    else:
      text = "\n".join(f"    {line}" for line in values)
    parts += [f"### {name}", text]
  if not card["training"]:
    parts.append("Unknown: there is no file about it beside the model.")
  for title in ("versions", "verification"):
    parts += [f"## {title.capitalize()}", _table(["", ""], card[title].items())]
  parts += ["## Ops", ", ".join(card["ops"])]
  return "\n\n".join(parts) + "\n"


def _table(titles, rows):
  """A Markdown table."""
  lines = [titles, ["---"] * len(titles), *rows]
  return "\n".join(
    "| " + " | ".join(_cell(value) for value in line) + " |" for line in lines
  )


def _cell(value):
  text = value if isinstance(value, str) else json.dumps(value)
  return text.replace("|", "\\|").replace("\n", " ")
