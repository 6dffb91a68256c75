"""What serve does: runs a server on this machine."""

import functools
import os
import sys
import typing

import tensorflow as tf

from bert_span.client.predict_api import SERVING_DEFAULT
from bert_span.extractors.loading import load_extractor
from bert_span.serving import local_server
from bert_span.serving.signatures import ServedModel
from bert_span.tflite import file as tflite_file

if typing.TYPE_CHECKING:
  from bert_span.serve import ServeOptions


def serve(options: "ServeOptions"):
  """Serves a model or a .tflite file, with its page, until stopped."""
  if options.web:
    load = functools.partial(_file_app, options.tflite, options.litert)
    note = "The file runs in the browser; nothing runs here."
  else:
    load = functools.partial(_model_app, options)
    note = "For this machine only; use TensorFlow Serving in production."
  host = f"[{options.host}]" if ":" in options.host else options.host

  def announce(port):
    text = f"Open http://{host}:{port}/ and end with Ctrl+C.\n{note}"
    print(text, file=sys.stderr, flush=True)

  local_server.serve(load, options, announce)


def _model_app(options):
  """Returns the app of a model and its demo page."""
  extractor = load_extractor(options, dtype=options.dtype)
  steps = local_server.StoppableSteps()
  served = ServedModel(extractor, on_windows=steps)
  # The first run allocates memory: so no request takes longer than others.
  served.functions[SERVING_DEFAULT](
    question=tf.constant(["Who?"]), context=tf.constant(["Anna."])
  )
  return local_server.model_app(served, extractor.preprocessor, options, steps)


def _file_app(tflite, packages):
  """Returns the app of the page that runs a .tflite file by LiteRT.js."""
  config = tflite_file.read_packed_config(tflite)
  if config["tflite"].get("dynamic_length"):
    raise ValueError(
      f"{tflite}: LiteRT.js cannot run a file that was exported with "
      "dynamic_length. Export it without."
    )
  for package in ("core", "wasm-utils"):
    if not os.path.isdir(os.path.join(packages, package)):
      raise ValueError(
        f"litert={packages} has no {package} of LiteRT.js. Install it with "
        "npm install @litertjs/core."
      )
  return local_server.file_app(tflite, packages)
