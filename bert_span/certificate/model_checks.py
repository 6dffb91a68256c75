"""Point 3: model function, loss, and twenty steps of training."""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_span.certificate.check import Tally
from bert_span.heads.span import SPAN_HEAD
from bert_span.modeling.encoder import build_encoder
from bert_span.modeling.encoder_config import read_bert_config
from bert_span.modeling.heads import SpanHead
from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.modeling.losses import SpanLoss
from bert_span.modeling.span_model import SpanModel, assign_head
from bert_span.presets.encoder_weights import original_names
from bert_span.presets.tf1_checkpoint import load_tf1_checkpoint
from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.optimizer import BertAdamW
from bert_span.training.step import TrainStep

_WINDOWS_PER_BATCH = 16
_LOGITS_LIMIT = 1e-4
_LOSS_LIMIT = 1e-5
_TRACE_LIMIT = 1e-4
# Not demanded; shows that twenty steps lead to the same place.
_FINAL_WEIGHTS_LIMIT = 2e-4
_NUM_LAYERS = 2


def check_model(goldens):
  """Compares outputs, losses and training of the tiny checkpoint.

  Args:
    goldens: `GoldenFiles`.

  Returns:
    List of `Check`.
  """
  return [
    *_check_forward(goldens),
    *_check_loss(goldens),
    *_check_trace(goldens, learning_rate_after_step=False),
    *_check_trace(goldens, learning_rate_after_step=True),
  ]


def load_tiny_model(goldens, dropout=True):
  """The original's tiny checkpoint as a `SpanModel`.

  Args:
    goldens: `GoldenFiles`.
    dropout: whether it keeps its dropout rates; else they are 0.
  """
  config = read_bert_config(goldens.path("tiny_ckpt/bert_config.json"))
  if not dropout:
    config = dataclasses.replace(config, dropout=0.0, attention_dropout=0.0)
  backbone = build_encoder(config)
  prefix = goldens.path("tiny_ckpt/bert_model.ckpt.index")
  heads = load_tf1_checkpoint(backbone, prefix.removesuffix(".index"))
  model = SpanModel(backbone, SpanHead())
  assign_head(model, heads["span_head"])
  return model


def _check_forward(goldens):
  golden = goldens.arrays("model_forward_a64.npz")
  model = load_tiny_model(goldens)
  inputs = _inputs(golden)
  encoded = model.backbone.predict(
    inputs, batch_size=_WINDOWS_PER_BATCH, verbose=0
  )
  logits = model.predict(inputs, batch_size=_WINDOWS_PER_BATCH, verbose=0)
  yield from _compare_outputs(
    golden,
    "Model",
    {
      "sequence_output_every16": encoded["sequence_output"][:, ::16],
      "pooled_output": encoded["pooled_output"],
      **logits,
    },
  )
  # What trains is Keras' encoder, what answers is another one.
  answering = tf.function(InferenceModel(model), autograph=False)
  yield from _compare_outputs(golden, "Answering", answering(inputs))


def _compare_outputs(golden, title, outputs):
  for name, values in outputs.items():
    tally = Tally(f"{title}: {name}", _LOGITS_LIMIT)
    for i, original in enumerate(golden[name]):
      tally.add_numbers(np.asarray(values[i]), original, f"window {i}")
    yield tally.check()


def _check_loss(goldens):
  golden = goldens.arrays("model_loss_b64.npz")
  logits = load_tiny_model(goldens).predict(
    _inputs(golden), batch_size=_WINDOWS_PER_BATCH, verbose=0
  )
  positions = golden["start_positions"], golden["end_positions"]
  tally = Tally("Loss of 64 windows", _LOSS_LIMIT)
  for name, starts, ends in (
    ("from our logits", logits["start_logits"], logits["end_logits"]),
    ("from its logits", golden["start_logits"], golden["end_logits"]),
  ):
    loss = SpanLoss()(positions[0], starts) + SpanLoss()(positions[1], ends)
    tally.add_numbers(float(loss), golden["total_loss"], name)
  yield tally.check()


def _check_trace(goldens, learning_rate_after_step):
  """Trains as the original did, its norm of unsummed rows included."""
  steps = goldens.read("model_train_trace.json")["steps"]
  golden = goldens.arrays("model_train_trace.npz")
  model = load_tiny_model(goldens, dropout=False)
  losses, norms = _train(
    goldens, golden, model, len(steps), learning_rate_after_step
  )
  if not learning_rate_after_step:
    tally = Tally("Training: loss of each of 20 steps", _TRACE_LIMIT)
    for i, step in enumerate(steps):
      tally.add_numbers(losses[i], step["loss"], f"step {i}")
    largest = max(
      abs(ours / step["global_norm"] - 1)
      for ours, step in zip(norms, steps, strict=True)
    )
    tally.note(
      "Training: with --clip_by_unsummed_embeddings; the global norms agree to "
      f"a share of {largest:.1g}."
    )
    yield tally.check()
  ending = "_unsequenced" if learning_rate_after_step else ""
  flag = ", --learning_rate_after_step" if learning_rate_after_step else ""
  yield _check_weights(
    model,
    golden,
    f"final{ending}:bert/",
    f"Training: weights after 20 steps{flag}",
  )


def _train(goldens, golden, model, num_steps, learning_rate_after_step):
  """Makes the steps; gives their losses and global norms."""
  windows = goldens.arrays("model_loss_b64.npz")
  optimizer = BertAdamW(
    WarmupLinearDecay(
      1e-3, num_steps, 4, steps_ahead=int(learning_rate_after_step)
    )
  )
  optimizer.build(model.trainable_variables)
  batches = golden["batches"]
  step = tf.function(
    TrainStep(
      model,
      SPAN_HEAD.loss_fn(SpanLoss()),
      optimizer,
      train_batch_size=batches.shape[1],
      clip_norm=1.0,
      unsummed_embeddings=(model.backbone.token_embedding.embeddings.path,),
    )
  )
  readings = []
  for rows in batches:
    batch = {
      name: windows[name][rows].astype(np.int32)
      for name in ("input_ids", "segment_ids", "input_mask")
    }
    for name in ("start_positions", "end_positions"):
      batch[name] = golden[name][rows].astype(np.int32)
    readings.append(step({k: tf.constant(v) for k, v in batch.items()}))
  return (
    [float(reading["loss"]) for reading in readings],
    [float(reading["global_norm"]) for reading in readings],
  )


def _check_weights(model, golden, prefix, name):
  """Compares all weights that were saved whole."""
  tally = Tally(name, _FINAL_WEIGHTS_LIMIT)
  weights = {weight.path: weight for weight in model.backbone.weights}
  for path, original in original_names(_NUM_LAYERS).items():
    key = prefix + original
    if key in golden:
      ours = weights[path].numpy().reshape(golden[key].shape)
      tally.add_numbers(ours, golden[key], original)
  return tally.check()


def _inputs(arrays):
  return {
    "token_ids": arrays["input_ids"].astype(np.int32),
    "segment_ids": arrays["segment_ids"].astype(np.int32),
    "padding_mask": arrays["input_mask"].astype(np.int32),
  }
