"""Updates of a BERT span model in three runtimes, on one device.

All have the same sizes with random weights, loss, dropout 0.1, clipping by the
global norm, and Adam with decoupled weight decay. Each function of SIDES maps a
`Side` to a function that updates the model with a batch and returns the loss as
a float, so that the device has finished.
"""

import contextlib
import dataclasses
import os

from benchmarks.random_models import (
  VOCABULARY_SIZE,
  Shape,
  random_encoder,
  random_span_model,
)

_LEARNING_RATE = 3e-5
_WEIGHT_DECAY = 0.01
_CLIP_NORM = 1.0


@dataclasses.dataclass(frozen=True)
class Side:
  """What a side trains.

  Attributes:
    shape: `Shape`.
    precision: "float32" or "bfloat16", of the encoder's matrix products.
    batch_size: windows per batch.
    is_compiled: whether XLA compiles TensorFlow's update for each length.
  """

  shape: Shape
  precision: str
  batch_size: int
  is_compiled: bool


def tensorflow_update(side):
  """Returns the training step of run_squad."""
  import tensorflow as tf

  from bert_span.data.preprocessor import SpanPreprocessor
  from bert_span.modeling.encoder_modes import computing_in
  from bert_span.modeling.losses import SpanLoss
  from bert_span.training.fine_tuner import window_loss_fn
  from bert_span.training.optimizer import BertAdamW
  from bert_span.training.options import TrainOptions
  from bert_span.training.step import TrainStep
  from bert_span.training.step_runner import split_batch

  model = random_span_model(random_encoder(side.shape))
  optimizer = BertAdamW(_LEARNING_RATE)
  optimizer.build(model.trainable_variables)
  options = TrainOptions(train_batch_size=side.batch_size, clip_norm=_CLIP_NORM)
  step = TrainStep(
    model,
    model.trainable_variables,
    window_loss_fn(SpanPreprocessor, SpanLoss()),
    optimizer,
    options,
  )

  def update_from(batch):
    batches, weights = split_batch(batch, num_replicas=1)
    return step.update_from({n: x[0] for n, x in batches.items()}, weights[0])

  # With XLA one function per length, as --jit_compile=on; else one for all.
  update_from = tf.function(
    update_from,
    jit_compile=side.is_compiled or None,
    reduce_retracing=not side.is_compiled,
  )

  def update(batch):
    with computing_in(model.backbone, side.precision):
      return float(update_from(batch)["loss"])

  return update


def fused_update(side):
  """Returns the training step of benchmarks.minilm_squad.train."""
  from benchmarks.minilm_squad.train import fuse

  fuse()
  return tensorflow_update(side)


def jax_update(side):
  """Returns an update of the same encoder and head under Keras' JAX backend.

  TensorFlow need not be installed.
  """
  os.environ["KERAS_BACKEND"] = "jax"  # Keras is not loaded yet.
  import jax
  import keras

  from bert_span.modeling.encoder import encode
  from bert_span.modeling.heads import SpanHead
  from bert_span.modeling.losses import SpanLoss

  if side.precision != "float32":
    keras.config.set_dtype_policy(f"mixed_{side.precision}")
  backbone = random_encoder(side.shape)
  inputs = {
    name: keras.Input((None,), dtype="int32", name=name)
    for name in ("token_ids", "segment_ids", "padding_mask")
  }
  model = keras.Model(inputs, SpanHead()(encode(backbone, inputs)))
  loss = SpanLoss()
  optimizer = keras.optimizers.AdamW(
    _LEARNING_RATE, _WEIGHT_DECAY, global_clipnorm=_CLIP_NORM
  )
  optimizer.build(model.trainable_variables)

  def loss_of(trainable, others, batch):
    inputs = {
      "token_ids": batch["token_ids"],
      "segment_ids": batch["segment_ids"],
      "padding_mask": batch["padding_mask"],
    }
    logits, others = model.stateless_call(
      trainable, others, inputs, training=True
    )
    positions = batch["start_positions"], batch["end_positions"]
    return sum(map(loss, positions, logits)), others

  def step(trainable, others, slots, batch):
    (value, others), gradients = jax.value_and_grad(loss_of, has_aux=True)(
      trainable, others, batch
    )
    trainable, slots = optimizer.stateless_apply(slots, gradients, trainable)
    return (trainable, others, slots), value

  compiled = jax.jit(step, donate_argnums=(0, 1, 2))
  state = [
    [variable.value for variable in variables]
    for variables in (
      model.trainable_variables,
      model.non_trainable_variables,
      optimizer.variables,
    )
  ]

  def update(batch):
    nonlocal state
    state, value = compiled(*state, batch)
    return float(value)

  return update


def transformers_update(side):
  """Returns BertForQuestionAnswering with fused attention, AdamW, autocast."""
  import torch
  import transformers

  device = "cuda" if torch.cuda.is_available() else "cpu"
  shape = side.shape
  model = transformers.BertForQuestionAnswering(
    transformers.BertConfig(
      vocab_size=VOCABULARY_SIZE,
      hidden_size=shape.hidden_dim,
      num_hidden_layers=shape.num_layers,
      num_attention_heads=shape.num_heads,
      intermediate_size=4 * shape.hidden_dim,
    )
  ).to(device)
  model.train()
  optimizer = torch.optim.AdamW(
    model.parameters(), _LEARNING_RATE, weight_decay=_WEIGHT_DECAY, fused=True
  )

  def precision():
    if side.precision == "float32":
      return contextlib.nullcontext()
    return torch.autocast(device, torch.bfloat16)

  def update(batch):
    tensors = {k: torch.from_numpy(v).long() for k, v in batch.items()}
    tensors = {name: tensor.to(device) for name, tensor in tensors.items()}
    with precision():
      loss = model(
        input_ids=tensors["token_ids"],
        attention_mask=tensors["padding_mask"],
        token_type_ids=tensors["segment_ids"],
        start_positions=tensors["start_positions"],
        end_positions=tensors["end_positions"],
      ).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), _CLIP_NORM)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return float(loss.detach())

  return update


SIDES = {
  "tensorflow": tensorflow_update,
  "fused": fused_update,
  "jax": jax_update,
  "transformers": transformers_update,
}


def device_name(name):
  """Returns the name of the device of one of SIDES."""
  if name in ("tensorflow", "fused"):
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
      return "CPU"
    return tf.config.experimental.get_device_details(gpus[0])["device_name"]
  if name == "jax":
    import jax

    return jax.devices()[0].device_kind
  import torch

  return torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"


def peak_mb(name):
  """Returns the most memory taken on the device, in 10^6 bytes; 0 on CPUs."""
  if device_name(name).lower() == "cpu":
    return 0
  if name in ("tensorflow", "fused"):
    import tensorflow as tf

    peak = tf.config.experimental.get_memory_info("GPU:0")["peak"]
  elif name == "jax":
    import jax

    peak = jax.devices()[0].memory_stats()["peak_bytes_in_use"]
  else:
    import torch

    peak = torch.cuda.max_memory_allocated()
  return round(peak / 1e6)
