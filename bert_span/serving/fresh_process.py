"""Asks a SavedModel in a process that imports TensorFlow and its ops only.

verification.py runs it as a script, with a request file and a reply file in
JSON:

  request: {"saved_model": DIR, "batches": [{"question": [..], ..}, ..]}
  reply: {"answers": [{"answer": [..], ..}, ..], "ops": [..],
          "custom_ops": [..]}
"""

import json
import os
import sys

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import op_def_registry


def main(request_path, reply_path):
  """Reads the request, asks the model and writes the reply."""
  with open(request_path, encoding="utf-8") as file:
    request = json.load(file)
  ops = _ops(meta_graph(request["saved_model"]).graph_def)
  # Before tensorflow_text is imported TensorFlow knows its own ops only.
  custom_ops = [op for op in ops if op_def_registry.get(op) is None]
  import tensorflow_text  # noqa: F401 -- registers its ops

  model = tf.saved_model.load(request["saved_model"])
  serve = model.signatures["serving_default"]
  answers = []
  for batch in request["batches"]:
    columns = serve(**{n: tf.constant(x, tf.string) for n, x in batch.items()})
    answers.append({name: x.numpy().tolist() for name, x in columns.items()})
  reply = {"answers": answers, "ops": ops, "custom_ops": custom_ops}
  with open(reply_path, "w", encoding="utf-8") as file:
    json.dump(reply, file, default=bytes.decode)


def meta_graph(directory):
  """The meta graph of a SavedModel; it has one."""
  with open(os.path.join(directory, "saved_model.pb"), "rb") as file:
    saved_model = saved_model_pb2.SavedModel.FromString(file.read())
  (graph,) = saved_model.meta_graphs
  return graph


def _ops(graph):
  """Names of all ops in a graph and its functions, sorted."""
  functions = graph.library.function
  nodes = [*graph.node, *(n for f in functions for n in f.node_def)]
  return sorted({n.op for n in nodes} - {f.signature.name for f in functions})


if __name__ == "__main__":
  main(*sys.argv[1:])
