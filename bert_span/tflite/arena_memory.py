"""How much memory a TFLite file needs for what it computes on the way."""

import math

import numpy as np

from bert_span.tflite import file as tflite_file
from bert_span.tflite.runner import make_interpreter


def peak_arena_bytes(path, length):
  """Bytes of all tensors that are needed at one time, at their peak.

  The runtime lays tensors out in one arena, where a tensor's place is free
  again behind its last use; the arena cannot be smaller than this sum:

      op 0: a -> b     live: a, b
      op 1: b -> c     live: b, c
      op 2: c, b -> d  live: b, c, d  <- the peak, if all are of one size

  It is counted for TFLite's own kernels; delegates such as XNNPACK lay out
  what they take over by themselves. Constants are not in the arena.

  Args:
    path: local path of a TFLite file of one graph.
    length: WordPieces of the window, where the file takes any length.

  Returns:
    int.
  """
  interpreter = make_interpreter(path, plain_kernels=True)
  for detail in interpreter.get_input_details():
    interpreter.resize_tensor_input(detail["index"], [1, length])
  interpreter.allocate_tensors()
  for detail in interpreter.get_input_details():
    interpreter.set_tensor(detail["index"], np.zeros([1, length], np.int32))
  interpreter.invoke()
  return _peak_of_graphs(path, interpreter)


def text_peak_arena_bytes(path, question, context):
  """The same of a file of `convert_with_tokenizer`, for a question.

  A loop's graph is needed beside the one that runs it, so their peaks add up.
  Strings are not counted.

  Args:
    path: local path of the file.
    question, context: bytes, UTF-8.

  Returns:
    int.
  """
  interpreter = make_interpreter(path, plain_kernels=True, with_text_ops=True)
  run = interpreter.get_signature_runner()
  run(
    question=np.array([question], object), context=np.array([context], object)
  )
  return _peak_of_graphs(path, interpreter)


def _peak_of_graphs(path, interpreter):
  """The sum of the peaks of all graphs, by the sizes of the last run."""
  with open(path, "rb") as file:
    model = tflite_file.parse(file.read())
  return sum(
    _peak(graph, model.buffers, _tensor_bytes(interpreter, index))
    for index, graph in enumerate(model.subgraphs)
  )


def _peak(graph, buffers, sizes):
  """The peak of one graph, in bytes."""
  constant = {
    index
    for index, tensor in enumerate(graph.tensors)
    if buffers[tensor.buffer].data is not None
  }
  first, last = dict.fromkeys(graph.inputs, 0), {}
  for step, operator in enumerate(graph.operators):
    for index in operator.outputs:
      first.setdefault(index, step)
    for index in (*operator.inputs, *operator.outputs):
      last[index] = step
  last.update({index: len(graph.operators) for index in graph.outputs})
  changes = np.zeros(len(graph.operators) + 2, np.int64)
  for index, begin in first.items():
    if index not in constant:
      # What was never made, in a loop that was not run, has no size.
      changes[begin] += sizes.get(index, 0)
      changes[last.get(index, begin) + 1] -= sizes.get(index, 0)
  return int(np.cumsum(changes).max())


def _tensor_bytes(interpreter, graph):
  """Bytes of each tensor of a graph by index, as the last run left them."""
  return {
    detail["index"]: math.prod(map(int, detail["shape"]))
    * np.dtype(detail["dtype"]).itemsize
    for detail in interpreter.get_tensor_details(graph)
  }
