"""Distillation: training a student on the outputs of trained teachers.

    loss = (1 - w) loss(labels, logits) + w T^2 loss(soft labels, logits / T)

The soft labels of a window are softmax(teacher logits / T), averaged over all
teachers. For a span head they are distributions over positions, and the loss is
-sum_i t_i log p_i instead of -log p of the one right position; for a B/I/O head
they are distributions over B, I and O. T^2 keeps the size of the gradient.

Source: Hinton, Vinyals and Dean, "Distilling the Knowledge in a Neural Network"
(2015).
"""

import dataclasses
import os

import numpy as np
import tensorflow as tf
import tqdm
from safetensors import SafetensorError
from safetensors import numpy as safetensors_numpy

from bert_span.answers.window_logits import NO_LOGIT
from bert_span.presets.encoder_source import arrays_sha256
from bert_span.storage.files import make_folder, read_bytes
from bert_span.storage.tensor_files import write_tensors

SOFT_LABELS_FILE = "soft_labels.safetensors"
_KEY = "key"
# WordPieces that a teacher reads at once.
_WORDPIECES = 4096


def check_teachers(extractor, teachers):
  """Refuses teachers, a dict by name, unlike the `SpanExtractor` to train."""

  def properties(one):
    tokenizer = one.preprocessor.tokenizer
    return {
      "head (--head)": one.head_name,
      "vocabulary (start from an encoder with it)": tokenizer.vocabulary,
      "case (--do_lower_case)": tokenizer.do_lower_case,
      "window options (--max_seq_length, --doc_stride, --max_query_length)": (
        dataclasses.asdict(one.window_options)
      ),
    }

  for name, teacher in teachers.items():
    others = properties(teacher)
    for what, own in properties(extractor).items():
      if own != others[what]:
        values = "" if isinstance(own, list) else f": {others[what]}, not {own}"
        raise ValueError(
          f"The teacher {name} differs in its {what}{values}. Soft labels are "
          "of the same tokens and windows: train with what the teacher has."
        )


def with_soft_labels(windows, teachers, temperature, path):
  """`PackedWindows` with the soft labels of a list of `SpanExtractor`.

  A continued run reads them from the file `path`.
  """
  key = repr((windows.digest(), teachers_digest(teachers), temperature))
  key = np.frombuffer(key.encode("utf-8"), np.uint8)
  soft = _read(path, key)
  if soft is None:
    soft = _soft_labels(windows, teachers, temperature)
    make_folder(os.path.dirname(path))
    write_tensors(path, {**soft, _KEY: key})
  return dataclasses.replace(windows, labels=windows.labels | soft)


def distillation_loss_fn(extractor, loss, temperature, weight):
  """The `loss_fn` of windows with soft labels, see the module."""

  def window_losses(model, batch):
    inputs, labels = extractor.preprocessor.inputs_and_labels(batch)
    logits = model(inputs, training=True)
    hard = soft = 0.0
    for name, shape in extractor.logits.items():
      soft_labels = batch[f"soft_{name}"]
      soft_labels = soft_labels if shape else soft_labels[..., 0]
      hard += loss.call(labels[name], logits[name])
      soft += loss.call(soft_labels, logits[name] / temperature)
    return (1 - weight) * hard + weight * temperature**2 * soft

  return window_losses


def teachers_digest(teachers):
  """SHA-256 of the weights of each of some extractors."""
  return [arrays_sha256(teacher.weights) for teacher in teachers]


def _read(path, key):
  """The soft labels of a file, a dict; None if they have another key."""
  if not tf.io.gfile.exists(path):
    return None
  try:
    tensors = safetensors_numpy.load(read_bytes(path))
    return tensors if np.array_equal(tensors.pop(_KEY), key) else None
  except (SafetensorError, KeyError) as error:
    raise ValueError(
      f"{path} is damaged ({error}). Delete it: the run makes it again."
    ) from error


def _soft_labels(windows, teachers, temperature):
  """Dict of soft labels, float32 [all tokens, values]."""
  count, lengths = len(windows.token_ids), windows.lengths
  sums = {
    f"soft_{name}": np.zeros([count, *(shape or (1,))])
    for name, shape in teachers[0].logits.items()
  }
  shown = {"desc": "Running the teachers", "unit": "WordPiece"}
  total = len(teachers) * count
  with tqdm.tqdm(**shown, total=total, unit_scale=True, disable=None) as bar:
    for teacher in teachers:
      order = np.argsort(lengths, kind="stable")[::-1]  # the longest first
      while len(order):
        rows = order[: max(_WORDPIECES // int(lengths[order[0]]), 1)]
        order = order[len(rows) :]
        tokens, probabilities = _outputs(windows, rows, teacher, temperature)
        for name, values in probabilities.items():
          sums[f"soft_{name}"][tokens] += values
        bar.update(len(tokens))
  return {n: (x / len(teachers)).astype(np.float32) for n, x in sums.items()}


def _outputs(windows, rows, teacher, temperature):
  """Indices of the windows' tokens, and their probabilities by name."""
  length = int(windows.lengths[rows[0]])
  batch = windows.batch(rows, length)
  names = ("input_ids", "input_mask", "segment_ids")
  logits = teacher.graph.encode(*(tf.constant(batch[n]) for n in names))
  is_real = batch["input_mask"] == 1
  # Tags are of the passage: after segment 0 and before the last [SEP].
  is_last = ~np.pad(is_real, [[0, 0], [0, 1]])[:, 1:]
  is_passage = (batch["segment_ids"] == 1) & ~is_last
  tokens = windows.row_splits[rows, np.newaxis] + np.arange(length)
  probabilities = {}
  outputs = teacher.logits.items()
  for (name, shape), values in zip(outputs, logits, strict=True):
    values = values / temperature
    if shape:  # [windows, length, tags]
      values = tf.nn.softmax(values).numpy() * is_passage[:, :, np.newaxis]
    else:  # [windows, length]
      values = tf.nn.softmax(tf.where(is_real, values, NO_LOGIT))
      values = values.numpy()[:, :, np.newaxis]
    probabilities[name] = values[is_real]
  return tokens[is_real], probabilities
