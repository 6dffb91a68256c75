"""Converts a Keras model to the bytes of a TFLite file.

A tf.Module that has a Keras 3 model as an attribute is saved without the
variables of the model. The converter then writes, without an error, a file of
some kilobytes that reads uninitialized variables and returns NaN. Here the
module tracks the raw variables, and only a function refers to the model.
"""

import gc
import tempfile

import numpy as np
import tensorflow as tf

from bert_span.modeling.inference_encoder import (
  InferenceEncoder,
  InferenceModel,
)
from bert_span.presets.encoder_weights import flat_shape
from bert_span.tflite import file as tflite_file

INPUT_NAMES = ("ids", "mask", "segment_ids")
# The runtime of the Task Library needs it; the public API has no such option.
_ONE_SCALE_A_MATRIX = (
  "_experimental_disable_per_channel_quantization_for_dense_layers"
)
# Bytes of a weight by quantization. A FlatBuffer has signed 32-bit offsets.
_WEIGHT_BYTES = {"none": 4, "float16": 2, "dynamic": 1}
MOST_BYTES = 2**31 - 1
# The largest scale of a matrix has this many steps, so a step is below
# float32's rounding.
_STEPS = 1 << 24


def check_size(extractor, quantization):
  """Raises ValueError if a file of the model would exceed the format's 2 GB."""
  num_weights = extractor.count_params()
  sizes = {name: n * num_weights for name, n in _WEIGHT_BYTES.items()}
  if sizes[quantization] > MOST_BYTES:
    smaller = [repr(name) for name, n in sizes.items() if n <= MOST_BYTES]
    raise ValueError(
      f"quantization={quantization!r} would take {sizes[quantization]:,} bytes "
      f"for {num_weights:,} weights, and a TFLite file has at most "
      f"{MOST_BYTES:,}. "
      + (f"Use {' or '.join(smaller)}." if smaller else "Use a smaller model.")
    )


def convert_model(extractor, options):
  """Converts a `SpanExtractor` to a TFLite file by `TFLiteOptions`.

  The file has one signature, serving_default; tensors have the same names as in
  the signature. Inputs are ids, mask and segment_ids, int32 [1, seq_length];
  outputs are the logits, float32 [1, seq_length] or [1, seq_length, 3].
  Returns the bytes of the file, without metadata.
  """
  is_dynamic = options.quantization == "dynamic"
  with tempfile.TemporaryDirectory() as folder:
    _save_graph(extractor, options, folder)
    # Frees the rescaled copy of the weights: 1.4 of 8.5 GB of a BERT-large.
    gc.collect()
    converter = tf.lite.TFLiteConverter.from_saved_model(folder)
    # `check_builtin_ops` refuses a file with custom ops, and names them.
    converter.allow_custom_ops = True
    if options.quantization != "none":
      converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if options.quantization == "float16":
      converter.target_spec.supported_types = [tf.float16]
    setattr(converter, _ONE_SCALE_A_MATRIX, is_dynamic)
    return tflite_file.with_signature_names(converter.convert())


def _save_graph(extractor, options, folder):
  """Writes the graph to convert as a SavedModel."""
  is_dynamic = options.quantization == "dynamic"
  make_encoder = QuantizableEncoder if is_dynamic else PlainEncoder
  model = InferenceModel(extractor, make_encoder(extractor.backbone))
  length = extractor.window_options.max_seq_length
  shape = [1, None if options.dynamic_length else length]

  @tf.function(
    input_signature=[tf.TensorSpec(shape, tf.int32, n) for n in INPUT_NAMES],
    autograph=False,
  )
  def logits(ids, mask, segment_ids):
    return model(
      {"token_ids": ids, "padding_mask": mask, "segment_ids": segment_ids}
    )

  module = tf.Module()
  module.raw_variables = model.variables
  tf.saved_model.save(module, folder, logits.get_concrete_function())


class PlainEncoder(InferenceEncoder):
  """An encoder without casts of bits, which older runtimes lack."""

  def with_heads_swapped(self, table):
    return tf.transpose(table, [0, 2, 1, 3])


class QuantizableEncoder(PlainEncoder):
  """An encoder with rescaled weights, which lose little by 8-bit quantization.

  Quantization with one scale a matrix rounds weights to 1/127 of the largest
  one. One scale for each output would be finer, but the runtime of the Task
  Library rejects it. So each output's scale is divided out of the matrix and
  multiplied afterwards, which computes the same function:

      y_j = sum_i x_i W_ij + b_j = s_j * sum_i x_i (W_ij / s_j) + b_j,
      s_j = max_i |W_ij|

  The embedding of each token is rescaled in the same way. All entries of the
  matrices are then between -1 and 1, and one scale is enough.
  """

  def __init__(self, backbone):
    super().__init__(backbone)
    self._steps, self._step = {}, {}
    for weight in backbone.weights:
      name = weight.path
      if name in self._weights and name.endswith("/kernel"):
        shape = flat_shape(name, weight.shape)  # [in, out]
        self._rescale(name, self.weight(name).numpy().reshape(shape), axis=0)
    name = "token_embedding/embeddings"
    self._rescale(name, self.weight(name).numpy(), axis=1)

  def __call__(self, inputs):
    # Always True, but the converter does not know it. It would multiply a
    # constant scale into the matrix.
    self._is_run = inputs["padding_mask"][0, 0] >= 0
    return super().__call__(inputs)

  def _rescale(self, name, matrix, axis):
    """Divides the entries along an axis by their maximum.

    The scales are integers times a step, since the converter would also round
    long vectors of floats to 8 bits.
    """
    scale = np.abs(matrix).max(axis, keepdims=True)
    step = float(scale.max()) / _STEPS or 1.0
    # Rounded up, so that no entry exceeds 1.
    steps = np.maximum(np.ceil(scale / step), 1)
    matrix = matrix / (steps * step)
    self._weights[name] = tf.Variable(matrix.astype(np.float32))
    self._adapters.pop(name, None)  # The matrix contains it now.
    self._steps[name] = tf.Variable(steps.squeeze(axis).astype(np.int32))
    self._step[name] = step

  def dense(self, name, inputs):
    kernel = f"{name}/kernel"
    steps = tf.where(self._is_run, self._steps[kernel], 0)
    scale = tf.cast(steps, tf.float32) * self._step[kernel]
    outputs = tf.matmul(inputs, self._weights[kernel]) * scale
    if f"{name}/bias" in self._weights:
      outputs += tf.reshape(self._weights[f"{name}/bias"], [-1])
    return outputs

  def rows(self, name, ids):
    rows, table = super().rows(name, ids), f"{name}/embeddings"
    if table not in self._steps:
      return rows
    steps = tf.cast(tf.gather(self._steps[table], ids), tf.float32)
    return rows * (steps * self._step[table])[..., tf.newaxis]
