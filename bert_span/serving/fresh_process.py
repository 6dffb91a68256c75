"""Asks a SavedModel in a process that imports TensorFlow and its ops only.

verification.py runs it as a script: standard input has the arguments of
`answer_batches` in JSON, the last line of standard output is the result.
"""

import itertools
import json
import os
import sys

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import op_def_registry


def answer_batches(saved_model, batches):
  """Answers batches, lists of {"question": [..], "context": [..]}.

  Returns {"answers": [{"answer": [..], ..}, ..], "ops": [..],
  "custom_ops": [..]}: the names of all ops, also in functions, and those of
  tensorflow-text.
  """
  graph = meta_graph(saved_model).graph_def
  functions = graph.library.function
  nodes = itertools.chain(graph.node, *(f.node_def for f in functions))
  ops = sorted({n.op for n in nodes} - {f.signature.name for f in functions})
  # tensorflow_text is not imported yet, so TensorFlow lacks its ops.
  custom_ops = [op for op in ops if op_def_registry.get(op) is None]
  import tensorflow_text  # noqa: F401 -- registers its ops

  model = tf.saved_model.load(saved_model)
  serve = model.signatures["serving_default"]
  answers = []
  for batch in batches:
    columns = serve(**{n: tf.constant(x, tf.string) for n, x in batch.items()})
    answers.append({name: x.numpy().tolist() for name, x in columns.items()})
  return {"answers": answers, "ops": ops, "custom_ops": custom_ops}


def meta_graph(directory):
  """Returns the only meta graph of a SavedModel."""
  with open(os.path.join(directory, "saved_model.pb"), "rb") as file:
    saved_model = saved_model_pb2.SavedModel.FromString(file.read())
  (graph,) = saved_model.meta_graphs
  return graph


if __name__ == "__main__":
  reply = answer_batches(**json.load(sys.stdin))
  print(json.dumps(reply, default=bytes.decode))
