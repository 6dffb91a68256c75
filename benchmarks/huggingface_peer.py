"""Span answers in the way of transformers' guide, with the same weights.

The fast tokenizer makes overlapping windows, and a model computes their logits.
The answer is the best pair of the best starts and ends of each window that is a
span of the passage.

Source: transformers, question-answering task guide and example scripts.
"""

import functools
import multiprocessing
import os
import shutil
import statistics

import numpy as np

_NAMES = {
  "input_ids": "input_ids",
  "input_mask": "attention_mask",
  "segment_ids": "token_type_ids",
}
_WINDOWS_PER_STEP = 16  # as `StepOptions`


def write_onnx(directory):
  """Writes model.onnx into a directory of `save_huggingface`."""
  # With some versions, PyTorch's compiler crashes if TensorFlow is loaded.
  process = multiprocessing.get_context("spawn").Process(
    target=_export_onnx, args=(directory,)
  )
  process.start()
  process.join()
  if process.exitcode:
    raise RuntimeError(f"PyTorch wrote no ONNX file to {directory}.")


def _export_onnx(directory):
  import torch
  import transformers

  model = transformers.AutoModelForQuestionAnswering.from_pretrained(directory)
  batch = {
    name: torch.ones([2, 16], dtype=torch.long) for name in _NAMES.values()
  }
  axes = {0: "windows", 1: "length"}
  outputs = ["start_logits", "end_logits"]
  torch.onnx.export(
    model.eval(),
    (),
    _onnx_file(directory),
    kwargs=batch,
    input_names=list(batch),
    output_names=outputs,
    dynamic_axes=dict.fromkeys([*batch, *outputs], axes),
    dynamo=False,
  )


def write_int8(directory, quantized):
  """Copies a directory of `write_onnx`, with weights of 8 bits."""
  from onnxruntime import quantization

  shutil.copytree(directory, quantized)
  quantization.quantize_dynamic(_onnx_file(directory), _onnx_file(quantized))


def _onnx_file(directory):
  return os.path.join(directory, "model.onnx")


def onnxruntime_logits(directory):
  """Returns the model in ONNX Runtime, see `torch_logits`."""
  import onnxruntime

  session = onnxruntime.InferenceSession(
    _onnx_file(directory), providers=["CPUExecutionProvider"]
  )

  def logits(batch):
    return session.run(["start_logits", "end_logits"], dict(batch))

  return logits


def openvino_logits(directory):
  """Returns the model in OpenVINO, see `torch_logits`."""
  import openvino

  model = openvino.Core().compile_model(
    _onnx_file(directory),
    "CPU",
    {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"},
  )

  def logits(batch):
    output = model(dict(batch))
    return output["start_logits"], output["end_logits"]

  return logits


def torch_logits(directory):
  """Returns the model in PyTorch.

  Args:
    directory: of `save_huggingface`.

  Returns:
    A function from a dict of int64 arrays [windows, seq_length], with their
    names in transformers, to start_logits and end_logits of that shape.
  """
  import torch
  import transformers

  model = transformers.AutoModelForQuestionAnswering.from_pretrained(directory)
  model.eval()

  def logits(batch):
    with torch.inference_mode():
      output = model(**{k: torch.from_numpy(v) for k, v in batch.items()})
    return output.start_logits.numpy(), output.end_logits.numpy()

  return logits


def served_logits(directory):
  """Returns the signature `logits` of a SavedModel, see `torch_logits`."""
  import tensorflow as tf
  import tensorflow_text  # noqa: F401 -- registers its ops

  model = tf.saved_model.load(directory)

  def logits(batch):
    # This reference to `model` keeps its variables alive.
    output = model.signatures["logits"](
      **{
        name: tf.constant(batch[other].astype(np.int32))
        for name, other in _NAMES.items()
      }
    )
    return output["start_logits"].numpy(), output["end_logits"].numpy()

  return logits


def window_tokenizer(tokenizer, questions, max_seq_length, doc_stride):
  """Returns a fast tokenizer that makes windows of questions and contexts.

  It takes the overlap of windows instead of their step: the one that a question
  of the median length of `questions` needs.
  """
  lengths = [len(ids) for ids in tokenizer(questions)["input_ids"]]
  # The lengths include [CLS] and a [SEP], but not the last [SEP].
  room = max_seq_length - int(statistics.median(lengths)) - 1
  return functools.partial(
    tokenizer,
    truncation="only_second",
    max_length=max_seq_length,
    stride=max(room - doc_stride, 0),
    return_overflowing_tokens=True,
    return_offsets_mapping=True,
    return_tensors="np",
  )


class HuggingFaceAnswerer:
  """Answers questions with a function of logits.

  Args:
    directory: of the tokenizer.
    logits: see `torch_logits`.
    questions: list of str, see `window_tokenizer`.
    window_options: `WindowOptions`.
    decoder_options: `DecoderOptions`.
  """

  def __init__(
    self, directory, logits, questions, window_options, decoder_options
  ):
    import transformers

    self._windows_of = window_tokenizer(
      transformers.AutoTokenizer.from_pretrained(directory),
      questions,
      window_options.max_seq_length,
      window_options.doc_stride,
    )
    self._logits = logits
    self._options = decoder_options

  def answer(self, questions, contexts):
    """Returns a list of answers to the questions."""
    windows = self._windows_of(questions, contexts, padding=True)
    # RoBERTa has no segments.
    names = [name for name in _NAMES.values() if name in windows]
    parts = [
      self._logits({n: windows[n][i : i + _WINDOWS_PER_STEP] for n in names})
      for i in range(0, len(windows["input_ids"]), _WINDOWS_PER_STEP)
    ]
    starts, ends = (
      np.concatenate(logits) for logits in zip(*parts, strict=True)
    )
    best = [(-np.inf, "")] * len(questions)
    for window, example in enumerate(windows["overflow_to_sample_mapping"]):
      spans = self._spans(windows, window, starts[window], ends[window])
      for score, first, last in spans:
        if score > best[example][0]:
          best[example] = (score, contexts[example][first:last])
    return [text for _, text in best]

  def _spans(self, windows, window, start_logits, end_logits):
    """Yields (score, char_start, char_end) of a window's spans."""
    offsets = windows["offset_mapping"][window]
    in_passage = [i == 1 for i in windows.sequence_ids(window)]
    last_ones = slice(-1, -self._options.n_best_size - 1, -1)
    ends = np.argsort(end_logits)[last_ones].tolist()
    for start in np.argsort(start_logits)[last_ones].tolist():
      for end in ends:
        length = end - start + 1
        if not (in_passage[start] and in_passage[end]):
          continue
        if 0 < length <= self._options.max_answer_length:
          score = start_logits[start] + end_logits[end]
          yield score, offsets[start][0], offsets[end][1]
