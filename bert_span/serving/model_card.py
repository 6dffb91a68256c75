"""The model card of a SavedModel: model_card.json and README.md."""

import dataclasses
import json

import tensorflow as tf

from bert_span.modeling.encoder import encoder_config
from bert_span.presets.provenance import package_versions, training_run
from bert_span.serving import signatures
from bert_span.serving.fresh_process import meta_graph
from bert_span.serving.version_folder import extra_path
from bert_span.storage.atomic_file import (
  write_json_atomically,
  write_text_atomically,
)


def write_model_card(
  directory, name, extractor, steps, dtype, verified, source
):
  """Writes model_card.json and README.md, see `export_saved_model`."""
  backbone = extractor.backbone
  preprocessor = extractor.preprocessor
  card = {
    "name": name,
    "signatures": _signatures(directory, extractor),
    "options": {
      "head": extractor.head_name,
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
      "vocabulary": encoder_config(backbone).vocabulary_size,
      "parameters": backbone.count_params(),
    },
    "training": training_run(source) if source else {},
    "versions": package_versions(),
    "verification": {
      "questions compared with the model": verified.num_questions,
      "answers that differed": 0,
      "largest difference of a score": verified.largest_difference,
    },
    "text_ops": verified.text_ops,
    "ops": verified.ops,
  }
  write_json_atomically(extra_path(directory, "model_card.json"), card)
  write_text_atomically(extra_path(directory, "README.md"), _markdown(card))


def _signatures(directory, extractor):
  """Describes the signatures of a SavedModel by the table of its columns."""
  answers = {c.name: c.description for c in extractor.columns.served}
  outputs = {
    signatures.SERVING_DEFAULT: answers,
    signatures.LOGITS: extractor.logits_descriptions,
  }

  def described(tensors, descriptions):
    return {
      name: {
        "dtype": tf.as_dtype(tensors[name].dtype).name,
        # -1: any
        "shape": [dim.size for dim in tensors[name].tensor_shape.dim],
        "description": description,
      }
      for name, description in descriptions.items()
    }

  return {
    name: {
      "method": signature.method_name,
      "inputs": described(signature.inputs, signatures.INPUTS[name]),
      "outputs": described(signature.outputs, outputs[name]),
    }
    for name, signature in sorted(meta_graph(directory).signature_def.items())
    if name in signatures.INPUTS
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
  for name in ("options", "encoder", "versions", "verification"):
    parts += [f"## {name.capitalize()}", _table(["", ""], card[name].items())]
  parts.append("## Training")
  if not card["training"]:
    parts.append("Unknown: there is no file about it beside the model.")
  for name, values in card["training"].items():
    if isinstance(values, dict):
      text = _table(["", ""], values.items())
    else:
      text = "\n".join(f"    {line}" for line in values)
    parts += [f"### {name}", text]
  parts += ["## Ops", ", ".join(card["ops"])]
  return "\n\n".join(filter(None, parts)) + "\n"


def _table(titles, rows):
  """A Markdown table."""

  def cell(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return text.replace("|", "\\|").replace("\n", " ")

  lines = [titles, ["---"] * len(titles), *rows]
  return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)
