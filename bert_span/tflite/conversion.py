"""From a Keras model to the bytes of a TFLite file.

A tf.Module that holds a Keras 3 model as an attribute is saved without the
model's variables being tracked as such: the converter then writes a file of
some kilobytes that reads variables nobody has filled, and answers NaN, without
an error. Here the module tracks the raw variables, and only a function refers
to the model.
"""

import dataclasses
import tempfile

import tensorflow as tf

from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.tflite import file as tflite_file
from bert_span.tflite.quantizable_model import CLIPPED_MASK, QuantizableModel
from bert_span.tflite.text_graph.graph import TextGraph

QUANTIZATIONS = ("none", "float16", "dynamic", "int8")
INPUT_NAMES = ("ids", "mask", "segment_ids")
TEXT_INPUT_NAMES = ("question", "context")


@dataclasses.dataclass(frozen=True)
class ConversionOptions:
  """How a model becomes a TFLite file.

  Attributes:
    seq_length: WordPieces of the only length that the file takes; None takes
      any length at run time.
    quantization: "none" keeps float32; "float16" halves the weights; "dynamic"
      has weights of 8 bits; "int8" weights and activations.
  """

  seq_length: int | None = 384
  quantization: str = "none"

  def __post_init__(self):
    if self.quantization not in QUANTIZATIONS:
      raise ValueError(
        f"quantization must be one of {', '.join(QUANTIZATIONS)}. "
        f"Received: {self.quantization!r}."
      )


def convert(model, options, calibration=None):
  """Converts a model to a TFLite file with one signature, serving_default.

  Its inputs are ids, mask and segment_ids, int32 [1, seq_length], its outputs
  the model's logits by name, float32 [1, seq_length] or [1, seq_length, 3].
  The tensors themselves bear these names as well.

  Args:
    model: a `SpanModel`.
    options: `ConversionOptions`.
    calibration: for int8 a function that yields windows of text, each the
      triple input_ids, input_mask, segment_ids, int32 [1, seq_length].

  Returns:
    bytes.

  Raises:
    ValueError: int8 without calibration data or without a fixed length.
  """
  if options.quantization == "int8" and (
    calibration is None or options.seq_length is None
  ):
    raise ValueError(
      "int8 quantization needs calibration data and a fixed length."
    )
  model = _convertible(model, options.quantization)
  specs = [
    tf.TensorSpec([1, options.seq_length], tf.int32, name=name)
    for name in INPUT_NAMES
  ]

  def logits(ids, mask, segment_ids):
    return model(
      {"token_ids": ids, "padding_mask": mask, "segment_ids": segment_ids}
    )

  return _converted(logits, specs, model, options, calibration)


def convert_with_tokenizer(model, preprocessor, decoder_options, options):
  """Converts a model with all that stands around it; strings in, spans out.

  The inputs are question and context, string [1], the outputs those of
  `TextGraph`. Beside TFLite's own ops the file has those of tensorflow-text
  that `byte_tokenizer.CUSTOM_OPS` lists.

  Args:
    model: a `SpanModel`.
    preprocessor: its `SpanPreprocessor`.
    decoder_options: `DecoderOptions`.
    options: `ConversionOptions`; windows are max_seq_length long where they
      have a fixed length.

  Returns:
    bytes.

  Raises:
    ValueError: int8, for which there is no calibration by strings.
  """
  if options.quantization == "int8":
    raise ValueError(
      "A file with its tokenizer inside cannot be quantized to int8: take "
      "dynamic, or leave the tokenizer out."
    )
  model = _convertible(model, options.quantization)
  graph = TextGraph(
    model, preprocessor, decoder_options, options.seq_length is None
  )
  specs = [
    tf.TensorSpec([1], tf.string, name=name) for name in TEXT_INPUT_NAMES
  ]

  def answer(question, context):
    return graph(question, context)

  return _converted(answer, specs, model, options)


def _convertible(model, quantization):
  """What gives a `SpanModel`'s logits in the file."""
  if quantization == "int8":
    return QuantizableModel(model, CLIPPED_MASK)
  if quantization == "dynamic":
    return QuantizableModel(model)
  return InferenceModel(model)


def _converted(function, specs, model, options, calibration=None):
  """The bytes of a function of tensors, given a model whose weights it reads.

  Only the function refers to the model.
  """
  module = tf.Module()
  module.raw_variables = model.variables
  traced = tf.function(function, input_signature=specs, autograph=False)
  with tempfile.TemporaryDirectory() as folder:
    tf.saved_model.save(module, folder, traced.get_concrete_function())
    converter = tf.lite.TFLiteConverter.from_saved_model(folder)
    # Which ones is checked afterwards; TensorFlow's own are not allowed.
    converter.allow_custom_ops = True
    _quantize(converter, options, calibration)
    content = converter.convert()
  return tflite_file.with_signature_names(content)


def _quantize(converter, options, calibration):
  if options.quantization == "none":
    return
  converter.optimizations = [tf.lite.Optimize.DEFAULT]
  if options.quantization == "float16":
    converter.target_spec.supported_types = [tf.float16]
    return
  # One scale a matrix, as the Task Library's runtime demands. The public API
  # has no flag for it.
  converter._experimental_disable_per_channel_quantization_for_dense_layers = (
    True
  )
  if options.quantization == "int8":
    converter.representative_dataset = lambda: (
      # By the names of the signature's inputs.
      dict(zip(INPUT_NAMES, window, strict=True))
      for window in calibration()
    )
    converter.target_spec.supported_ops = [
      tf.lite.OpsSet.TFLITE_BUILTINS_INT8,
      # For what has no form in 8 bits.
      tf.lite.OpsSet.TFLITE_BUILTINS,
    ]
