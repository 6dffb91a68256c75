"""assets.extra of a SavedModel: its model card, and warm-up requests."""

import dataclasses
import importlib.metadata
import importlib.util
import json
import os

import tensorflow as tf

import bert_span
from bert_span.modeling.encoder import encoder_config
from bert_span.presets.model_card import is_written_here
from bert_span.presets.span_config import MODEL_CARD, find_model_file
from bert_span.serving import signatures
from bert_span.serving.fresh_process import meta_graph
from bert_span.storage.atomic_file import (
  write_json_atomically,
  write_text_atomically,
)
from bert_span.storage.files import read_bytes, read_json
from bert_span.storage.log import log_line

_PACKAGES = ("tensorflow", "tensorflow-text", "keras", "keras-hub")
_TRAINING_FILES = {
  "card": MODEL_CARD,
  "metadata": "metadata.json",
  "options": "training_options.json",
  "flags": "run.flags",
  "scores": "eval_results.json",
}
_INPUTS = {
  signatures.SERVING_DEFAULT: {
    "question": "the question",
    "context": "the passage, of any length; bytes that are not UTF-8 count as "
    "U+FFFD, one character",
  },
  signatures.LOGITS: {
    "input_ids": "vocabulary ids: [CLS] question [SEP] window [SEP]",
    "input_mask": "1 for WordPieces, 0 for padding",
    "segment_ids": "0 up to the first [SEP], 1 after it",
  },
}


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
  write_json_atomically(_path(directory, "model_card.json"), card)
  write_text_atomically(_path(directory, "README.md"), _markdown(card))


def package_versions():
  """The versions of this package and of those that an export depends on."""
  return {
    "bert_span": bert_span.__version__,
    **{package: importlib.metadata.version(package) for package in _PACKAGES},
  }


def training_run(model):
  """The contents of the files about the training of a model, by their keys."""
  folders = [model]  # and output_dir, if it is run_squad's output_dir/model
  if os.path.basename(os.path.normpath(model)) == "model":
    folders.append(os.path.dirname(os.path.abspath(model)))
  run = {}
  for key, name in _TRAINING_FILES.items():
    paths = (find_model_file(folder, name) for folder in folders)
    path = next((p for p in paths if p and not is_written_here(p)), None)
    if path and name.endswith(".json"):
      run[key] = read_json(path)
    elif path:
      run[key] = read_bytes(path).decode("utf-8-sig", "replace").splitlines()
  return run


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
      "inputs": described(signature.inputs, _INPUTS[name]),
      "outputs": described(signature.outputs, outputs[name]),
    }
    for name, signature in sorted(meta_graph(directory).signature_def.items())
    if name in _INPUTS
  }


def check_warmup(is_wanted):
  """Whether an export writes warm-up requests; logs why it does not.

  tensorflow-serving-api defines their format. None writes them if it is
  installed, True requires it, False writes none.
  """
  if is_wanted is False:
    return False
  if importlib.util.find_spec("tensorflow_serving"):
    return True
  need = "need tensorflow-serving-api: `pip install 'bert_span[serving]'`"
  if is_wanted:
    raise ValueError(
      f"--warmup: the requests {need}, or leave them out with --nowarmup."
    )
  log_line(f"Without warm-up requests, which {need}.")
  return False


def write_warmup_requests(directory, model_name, batches, max_seq_length):
  """Writes requests that TensorFlow Serving replays while it loads a version.

  The first request to a graph is slow: kernels are chosen, memory is allocated.
  So no client waits for that. Each batch, a list of (question, context), asks
  both signatures.
  """
  # Only those who write requests need the package.
  from tensorflow_serving.apis import prediction_log_pb2

  logs = []
  for batch in batches:
    questions, contexts = zip(*batch, strict=True)
    rows = tf.ones([len(batch), max_seq_length], tf.int32)
    inputs = {
      signatures.SERVING_DEFAULT: {"question": questions, "context": contexts},
      signatures.LOGITS: dict.fromkeys(_INPUTS[signatures.LOGITS], rows),
    }
    for signature, columns in inputs.items():
      logs.append(prediction_log_pb2.PredictionLog())
      request = logs[-1].predict_log.request
      request.model_spec.name = model_name
      request.model_spec.signature_name = signature
      for name, values in columns.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(values))
  path = _path(directory, "tf_serving_warmup_requests")
  with tf.io.TFRecordWriter(path) as writer:
    for log in logs:
      writer.write(log.SerializeToString())


def _path(directory, name):
  """The path of a file in assets.extra, which is made."""
  folder = os.path.join(directory, "assets.extra")
  os.makedirs(folder, exist_ok=True)
  return os.path.join(folder, name)


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
