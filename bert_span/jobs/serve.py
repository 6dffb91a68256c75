"""What serve does: a server on one's own machine, and what it says."""

import os
import sys

import tensorflow as tf

from bert_span.client.predict_api import SERVING_DEFAULT
from bert_span.extractors.extractor import Extractor
from bert_span.serving import local_server
from bert_span.serving.signatures import ServedModel
from bert_span.tflite import file as tflite_file


def serve_model(model, server, **options):
  """Serves a model and the demo page, by `ServerOptions`, until stopped."""
  extractor = Extractor.from_preset(model, **options)
  steps = local_server.StoppableSteps()
  served = ServedModel(extractor, on_windows=steps)
  # Traced now, so that the first answer takes no longer than others.
  served.functions[SERVING_DEFAULT](
    question=tf.constant(["Who?"]), context=tf.constant(["Anna."])
  )
  app = local_server.model_app(served, extractor.preprocessor, server, steps)
  _serve(app, server, "For one machine; production wants TensorFlow Serving.")


def serve_file(tflite, packages, server):
  """Serves the page that runs a .tflite file, with the folder of LiteRT.js."""
  config = tflite_file.read_span_config(tflite)
  if config["tflite"].get("dynamic_length"):
    raise ValueError(
      f"{tflite}: LiteRT.js runs no file of --dynamic_length. Export it "
      "without."
    )
  for package in ("core", "wasm-utils"):
    if not os.path.isdir(os.path.join(packages, package)):
      raise ValueError(
        f"--litert={packages} has no {package} of LiteRT.js. Install it with "
        "npm install @litertjs/core."
      )
  app = local_server.file_app(tflite, packages)
  _serve(app, server, "The file runs in the browser; nothing runs here.")


def _serve(app, server, note):
  host = f"[{server.host}]" if ":" in server.host else server.host

  def announce(port):
    text = f"Open http://{host}:{port}/ and end with Ctrl+C.\n{note}"
    print(text, file=sys.stderr, flush=True)

  local_server.serve(app, server, announce)
