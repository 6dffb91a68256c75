"""The memory of a step: by hand, and against TensorFlow's own graph."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_span.heads.span import SPAN_HEAD
from bert_span.jobs.training.dry_run import model_sizes
from bert_span.modeling.encoder import build_encoder
from bert_span.modeling.encoder_config import EncoderConfig
from bert_span.modeling.heads import SpanHead
from bert_span.modeling.losses import SpanLoss
from bert_span.modeling.span_model import SpanModel
from bert_span.training.devices.memory_estimate import (
  ModelSizes,
  StepOptions,
  estimate_memory,
)

_SIZES = ModelSizes(
  num_layers=1,
  hidden_dim=2,
  num_heads=1,
  intermediate_dim=4,
  vocabulary_size=10,
  num_parameters=100,
)
_STEP = StepOptions(batch_size=1, seq_length=3)
# 3 (2 * (24 + 18) + 5 * 4 * 4) + 9 * 9 of the layer and 55 % of it on the way;
# 3 * 2 (8 + 4 + 1) of the embeddings.
_WINDOW = 573 + 315 + 78


def estimate(**changes):
  return estimate_memory(_SIZES, dataclasses.replace(_STEP, **changes))


def test_parts_of_float32_by_hand():
  result = estimate_memory(_SIZES, _STEP, program_bytes=7)
  assert dataclasses.asdict(result) == {
    "program": 7,
    "weights": 400,
    "optimizer": 800,
    "gradients": 1000,
    "activations": _WINDOW,
  }
  assert result.total == 2207 + _WINDOW


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_halves_keep_copies_of_the_weights_and_less_of_the_rest(precision):
  result = estimate(precision=precision)
  assert result.weights == 400 + 200
  assert (result.optimizer, result.gradients) == (800, 1000)
  # 3 (2 * (12 + 18) + 5 * 2 * 4) + 9 * 7, and 3 * 2 (8 + 2 + 1).
  assert result.activations == 363 + 199 + 66


def test_accumulation_keeps_a_part_of_the_batch_and_the_sums():
  assert estimate(batch_size=4).activations == 4 * _WINDOW
  result = estimate(batch_size=5, accumulate_steps=2)
  assert result.activations == 3 * _WINDOW
  assert result.gradients == 1400


def test_recomputing_keeps_the_inputs_of_layers_and_one_layer():
  deep = dataclasses.replace(_SIZES, num_layers=10)
  step = dataclasses.replace(_STEP, recompute=True)
  saved = 10 * 3 * 2 * 4
  assert estimate_memory(deep, step).activations == saved + _WINDOW
  assert estimate_memory(deep, _STEP).activations == _WINDOW + 9 * 573


def test_predictions_over_the_vocabulary_take_three_copies_of_their_logits():
  sizes = dataclasses.replace(_SIZES, vocabulary_targets=5)
  activations = estimate_memory(sizes, _STEP).activations
  assert activations == _WINDOW + 3 * 5 * 10 * 4


def kept_bytes(num_layers):
  """What the graph of a step keeps of the forward pass, and its estimate."""
  batch, length = 2, 48
  model = SpanModel(
    build_encoder(
      EncoderConfig(503, num_layers, 4, 40, 88, max_sequence_length=64)
    ),
    SpanHead(),
  )
  loss_fn = SPAN_HEAD.loss_fn(SpanLoss())
  num_forward = []

  def gradients(ids, positions):
    labels = {"start_positions": positions, "end_positions": positions}
    with tf.GradientTape() as tape:
      inputs = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), ids)
      loss = tf.reduce_sum(loss_fn(model, {**inputs, **labels}))
    num_forward.append(len(loss.graph.get_operations()))
    variables = [v.value for v in model.trainable_variables]
    return [g for g in tape.gradient(loss, variables) if g is not None]

  graph = (
    tf.function(gradients)
    .get_concrete_function(
      tf.TensorSpec([batch, length], tf.int32), tf.TensorSpec([batch], tf.int32)
    )
    .graph
  )
  sizes = model_sizes(model)
  kept = sum(_kept(graph.get_operations(), num_forward[0]).values())
  return kept, estimate_memory(sizes, StepOptions(batch, length)).activations


def _kept(operations, num_forward):
  """Bytes of the forward tensors that the backward pass reads, by name."""
  forward = {operation.name for operation in operations[:num_forward]}
  kept = {}
  for operation in operations[num_forward:]:
    if operation.type in ("Shape", "ShapeN", "Size"):
      continue
    for tensor in operation.inputs:
      while tensor.op.type in ("Reshape", "Identity", "ExpandDims"):
        tensor = tensor.op.inputs[0]  # The same memory.
      is_value = tensor.op.type not in (
        "Const",
        "ReadVariableOp",
        "Placeholder",
      )
      if (
        tensor.op.name in forward
        and is_value
        and tensor.shape.is_fully_defined()
      ):
        kept[tensor.name] = int(np.prod(tensor.shape)) * tensor.dtype.size
  return kept


@pytest.mark.large
def test_a_layer_keeps_what_tensorflow_keeps():
  one, two = kept_bytes(1), kept_bytes(2)
  kept, estimated = two[0] - one[0], two[1] - one[1]
  # Means and deviations of LayerNorm are left out.
  assert estimated == pytest.approx(kept, rel=0.01)
