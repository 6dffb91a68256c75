"""Encoders from the original's TensorFlow 1 checkpoints."""

import tensorflow as tf

from bert_span.presets.encoder_weights import fill_encoder

_HEAD_KERNEL = "cls/squad/output_weights"
_HEAD_BIAS = "cls/squad/output_bias"
_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


def load_tf1_checkpoint(backbone, checkpoint):
  """Fills a BertBackbone from a checkpoint of the original code.

  Other tensors are ignored (the optimizer's adam_m and adam_v, global_step,
  cls/predictions).

  Args:
    backbone: a BertBackbone of the checkpoint's sizes.
    checkpoint: path prefix such as .../bert_model.ckpt, or a directory, whose
      latest checkpoint is taken; any tf.io.gfile file system.

  Returns:
    The span head of a fine-tuned checkpoint, as `LoadedEncoder` has it, or {}.
  """
  reader = _open_checkpoint(checkpoint)
  shapes = reader.get_variable_to_shape_map()
  if _OBJECT_GRAPH in shapes:
    raise ValueError(
      f"{checkpoint} is a TensorFlow 2 object checkpoint. Give one of the "
      "original code, with names such as bert/embeddings/word_embeddings."
    )
  fill_encoder(
    backbone,
    shapes,
    reader.get_tensor,
    lambda original: [f"bert/{original}"],
    checkpoint,
  )
  if _HEAD_KERNEL not in shapes:
    return {}
  if shapes[_HEAD_KERNEL] != [2, backbone.hidden_dim]:
    raise ValueError(
      f"{checkpoint}: {_HEAD_KERNEL} must have the shape "
      f"[2, {backbone.hidden_dim}]. Received: {shapes[_HEAD_KERNEL]}"
    )
  # [2, hidden] -> [hidden, 2]
  tensors = {"kernel": reader.get_tensor(_HEAD_KERNEL).T}
  if _HEAD_BIAS in shapes:
    tensors["bias"] = reader.get_tensor(_HEAD_BIAS)
  return {"span_head": tensors}


def _open_checkpoint(checkpoint):
  for ending in (".index", ".meta", ".data-00000-of-00001"):
    if checkpoint.endswith(ending):
      raise ValueError(
        "init_checkpoint must be the common prefix of a checkpoint's files: "
        f"{checkpoint[: -len(ending)]}. Received: {checkpoint}"
      )
  if checkpoint.endswith((".bin", ".pt", ".pth", ".pkl", ".safetensors")):
    raise ValueError(
      "init_checkpoint must be a TensorFlow 1 checkpoint. Hugging Face weights "
      "are read as safetensors: give their directory as --preset. Pickled "
      f"weights are not read. Received: {checkpoint}"
    )
  try:
    return tf.train.load_checkpoint(checkpoint)
  except (ValueError, RuntimeError, tf.errors.OpError) as error:
    raise ValueError(
      f"Cannot read the checkpoint {checkpoint}: {error} Its files should be "
      f"{checkpoint}.index and {checkpoint}.data-00000-of-00001."
    ) from error
