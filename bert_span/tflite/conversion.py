"""From a Keras model to the bytes of a TFLite file.

A tf.Module that has a Keras 3 model as an attribute is saved without the
variables of the model. The converter then writes, without an error, a file of
some kilobytes that reads uninitialized variables and returns NaN. Here the
module tracks the raw variables, and only a function refers to the model.
"""

import tempfile

import tensorflow as tf

from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.tflite import file as tflite_file
from bert_span.tflite.quantizable_model import QuantizableModel
from bert_span.tflite.text_graph.graph import TextGraph

INPUT_NAMES = ("ids", "mask", "segment_ids")
# The runtime of the Task Library needs it; the public API has no such option.
_ONE_SCALE_A_MATRIX = (
  "_experimental_disable_per_channel_quantization_for_dense_layers"
)


def convert(model, seq_length=384, quantization="none"):
  """Converts a model to a TFLite file with one signature, serving_default.

  The inputs are ids, mask and segment_ids, int32 [1, seq_length]. The outputs
  are the logits of the model, float32 [1, seq_length] or [1, seq_length, 3].
  The tensors themselves have the same names.

  A seq_length of None accepts any length at run time. The quantization is that
  of `TFLiteOptions`. Returns bytes.
  """
  model = _inference_model(model, quantization)

  def logits(ids, mask, segment_ids):
    return model(
      {"token_ids": ids, "padding_mask": mask, "segment_ids": segment_ids}
    )

  specs = [
    tf.TensorSpec([1, seq_length], tf.int32, name=name) for name in INPUT_NAMES
  ]
  return _converted(logits, specs, model, quantization)


def convert_with_tokenizer(
  model,
  preprocessor,
  decoder_options,
  dynamic_length=False,
  quantization="none",
):
  """Converts a model with tokenizer, windows and decoding to a TFLite file.

  The inputs are question and context, string [1], the outputs those of
  `TextGraph`, which describes the arguments. The file needs the custom ops of
  `byte_tokenizer.CUSTOM_OPS`. Returns bytes.
  """
  model = _inference_model(model, quantization)
  graph = TextGraph(model, preprocessor, decoder_options, dynamic_length)
  specs = [
    tf.TensorSpec([1], tf.string, name=name) for name in ("question", "context")
  ]
  return _converted(graph.__call__, specs, model, quantization)


def _inference_model(model, quantization):
  is_dynamic = quantization == "dynamic"
  return QuantizableModel(model) if is_dynamic else InferenceModel(model)


def _converted(function, specs, model, quantization):
  """Converts a function that reads the variables of a model."""
  module = tf.Module()
  module.raw_variables = model.variables
  traced = tf.function(function, input_signature=specs, autograph=False)
  with tempfile.TemporaryDirectory() as folder:
    tf.saved_model.save(module, folder, traced.get_concrete_function())
    converter = tf.lite.TFLiteConverter.from_saved_model(folder)
    # The export checks which ones there are. Flex ops are not allowed.
    converter.allow_custom_ops = True
    if quantization != "none":
      converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if quantization == "float16":
      converter.target_spec.supported_types = [tf.float16]
    if quantization == "dynamic":
      setattr(converter, _ONE_SCALE_A_MATRIX, True)
    return tflite_file.with_signature_names(converter.convert())
