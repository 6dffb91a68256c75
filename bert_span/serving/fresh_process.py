"""Asks a SavedModel in a process that knows nothing but TensorFlow.

A program of its own, run by its path: what it imports is all that a server
has. It reads a request file and writes a reply file, both JSON:

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
  ops = _ops(os.path.join(request["saved_model"], "saved_model.pb"))
  # Before tensorflow_text is imported TensorFlow knows its own ops only.
  custom_ops = [op for op in ops if op_def_registry.get(op) is None]
  import tensorflow_text  # noqa: F401 -- registers its ops

  answer = tf.saved_model.load(request["saved_model"]).signatures[
    "serving_default"
  ]
  answers = [_answers(answer, batch) for batch in request["batches"]]
  reply = {"answers": answers, "ops": ops, "custom_ops": custom_ops}
  with open(reply_path, "w", encoding="utf-8") as file:
    json.dump(reply, file)


def _ops(path):
  """Names of all ops in the graph and its functions, sorted."""
  saved_model = saved_model_pb2.SavedModel()
  with open(path, "rb") as file:
    saved_model.ParseFromString(file.read())
  ops = set()
  for meta_graph in saved_model.meta_graphs:
    graph = meta_graph.graph_def
    ops.update(node.op for node in graph.node)
    for function in graph.library.function:
      ops.update(node.op for node in function.node_def)
    ops -= {function.signature.name for function in graph.library.function}
  return sorted(ops)


def _answers(answer, batch):
  """The columns of a batch's answers, as lists."""
  columns = answer(
    **{name: tf.constant(texts, tf.string) for name, texts in batch.items()}
  )
  return {name: _as_lists(values) for name, values in columns.items()}


def _as_lists(values):
  if values.dtype != tf.string:
    return values.numpy().tolist()
  flat = [text.decode("utf-8") for text in tf.reshape(values, [-1]).numpy()]
  if values.shape.rank == 1:
    return flat
  width = values.shape[1]
  return [flat[i : i + width] for i in range(0, len(flat), width)]


if __name__ == "__main__":
  main(*sys.argv[1:])
