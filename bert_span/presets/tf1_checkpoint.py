"""Encoders from the original's TensorFlow 1 checkpoints."""

import tensorflow as tf

from bert_span.presets import encoder_weights

_PREFIX = "bert/"
_HEAD_KERNEL = "cls/squad/output_weights"
_HEAD_BIAS = "cls/squad/output_bias"
_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


def load_tf1_checkpoint(backbone, checkpoint):
  """Fills an encoder from a checkpoint of the original code.

  Names that are no part of the encoder or of the span head (the optimizer's
  adam_m and adam_v, global_step, cls/predictions) are passed over.

  Args:
    backbone: a BertBackbone of the checkpoint's sizes.
    checkpoint: path prefix such as .../bert_model.ckpt, or a directory, whose
      latest checkpoint is taken; any tf.io.gfile file system.

  Returns:
    The fine-tuned span head as `LoadedEncoder` holds it: "span_head" with
    kernel float32 [hidden, 2] and bias float32 [2]; {} for a checkpoint
    without one.

  Raises:
    ValueError: there is no such checkpoint, or a weight is missing or has
      another shape.
  """
  reader = _open_checkpoint(checkpoint)
  shapes = reader.get_variable_to_shape_map()
  if _OBJECT_GRAPH in shapes:
    raise ValueError(
      f"{checkpoint} is a TensorFlow 2 object checkpoint. Give one of the "
      "original code, with names such as bert/embeddings/word_embeddings."
    )
  names = _stored_names(backbone.num_layers, shapes, checkpoint)
  encoder_weights.assign_encoder_weights(
    backbone, reader.get_tensor, names, checkpoint
  )
  return _read_heads(reader, shapes, backbone.hidden_dim, checkpoint)


def _open_checkpoint(checkpoint):
  for ending in (".index", ".meta", ".data-00000-of-00001"):
    if checkpoint.endswith(ending):
      raise ValueError(
        f"init_checkpoint names a set of files by what their names share: "
        f"give {checkpoint[: -len(ending)]}. Received: {checkpoint}"
      )
  if checkpoint.endswith((".bin", ".pt", ".pth", ".pkl", ".safetensors")):
    raise ValueError(
      "init_checkpoint must be a TensorFlow 1 checkpoint. Weights of Hugging "
      "Face are read as safetensors out of their directory: give it as "
      f"--preset. Pickled weights are not read. Received: {checkpoint}"
    )
  try:
    return tf.train.load_checkpoint(checkpoint)
  except (ValueError, RuntimeError, tf.errors.OpError) as error:
    raise ValueError(
      f"Cannot read the checkpoint {checkpoint}: {error} It should stand "
      f"beside {checkpoint}.index and {checkpoint}.data-00000-of-00001."
    ) from error


def _stored_names(num_layers, shapes, checkpoint):
  """The name of each weight in the checkpoint, by the weight's path."""
  names, missing = {}, []
  for path, original in encoder_weights.original_names(num_layers).items():
    if _PREFIX + original in shapes:
      names[path] = _PREFIX + original
    elif path not in encoder_weights.POOLER:
      missing.append(_PREFIX + original)
  if missing:
    raise encoder_weights.missing_names_error(checkpoint, missing, shapes)
  encoder_weights.report_missing_pooler(names, checkpoint)
  return names


def _read_heads(reader, shapes, hidden_dim, checkpoint):
  if _HEAD_KERNEL not in shapes:
    return {}
  if shapes[_HEAD_KERNEL] != [2, hidden_dim]:
    raise ValueError(
      f"{checkpoint}: {_HEAD_KERNEL} must have the shape [2, {hidden_dim}]. "
      f"Received: {shapes[_HEAD_KERNEL]}"
    )
  # [2, hidden] -> [hidden, 2]
  tensors = {"kernel": reader.get_tensor(_HEAD_KERNEL).T}
  if _HEAD_BIAS in shapes:
    tensors["bias"] = reader.get_tensor(_HEAD_BIAS)
  return {"span_head": tensors}
