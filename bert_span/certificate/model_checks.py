"""Check 3: model function, loss, and twenty steps of training."""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_span.certificate.comparison import Comparison
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
# Not required, but shows that twenty steps lead to the same weights.
_FINAL_WEIGHTS_LIMIT = 2e-4
_NUM_LAYERS = 2


def compare_model(goldens):
  """Compares outputs, losses and training of the tiny checkpoint."""
  return [
    *_compare_forward(goldens),
    compare_loss(goldens),
    *_compare_training(goldens, learning_rate_after_step=False),
    *_compare_training(goldens, learning_rate_after_step=True),
  ]


def compare_loss(goldens):
  """Compares the loss of our logits, and of the original's logits."""
  golden = goldens.arrays("model_loss_b64.npz")
  logits = _tiny_model(goldens).predict(
    _inputs(golden), batch_size=_WINDOWS_PER_BATCH, verbose=0
  )
  comparison = Comparison("Loss of 64 windows", _LOSS_LIMIT)
  for name, values in (("our logits", logits), ("its logits", golden)):
    loss = sum(
      SpanLoss()(golden[f"{end}_positions"], values[f"{end}_logits"])
      for end in ("start", "end")
    )
    comparison.add_numbers(float(loss), golden["total_loss"], name)
  return comparison


def _tiny_model(goldens, dropout=True):
  """The original's tiny checkpoint as a `SpanModel`."""
  config = read_bert_config(goldens.path("tiny_ckpt/bert_config.json"))
  if not dropout:
    config = dataclasses.replace(config, dropout=0.0, attention_dropout=0.0)
  backbone = build_encoder(config)
  prefix = goldens.path("tiny_ckpt/bert_model.ckpt.index")
  heads = load_tf1_checkpoint(backbone, prefix.removesuffix(".index"))
  model = SpanModel(backbone, SpanHead())
  assign_head(model, heads["span_head"])
  return model


def _inputs(arrays):
  return {
    "token_ids": arrays["input_ids"].astype(np.int32),
    "segment_ids": arrays["segment_ids"].astype(np.int32),
    "padding_mask": arrays["input_mask"].astype(np.int32),
  }


def _compare_forward(goldens):
  """Compares both encoders: Keras' trains, the inference encoder answers."""
  golden = goldens.arrays("model_forward_a64.npz")
  model = _tiny_model(goldens)
  inputs = _inputs(golden)
  encoded = model.backbone.predict(
    inputs, batch_size=_WINDOWS_PER_BATCH, verbose=0
  )
  logits = model.predict(inputs, batch_size=_WINDOWS_PER_BATCH, verbose=0)
  answering = tf.function(InferenceModel(model), autograph=False)
  for title, outputs in (
    (
      "Model",
      {
        "sequence_output_every16": encoded["sequence_output"][:, ::16],
        "pooled_output": encoded["pooled_output"],
        **logits,
      },
    ),
    ("Answering", answering(inputs)),
  ):
    for name, values in outputs.items():
      comparison = Comparison(f"{title}: {name}", _LOGITS_LIMIT)
      for i, original in enumerate(golden[name]):
        comparison.add_numbers(np.asarray(values[i]), original, f"window {i}")
      yield comparison


def _compare_training(goldens, learning_rate_after_step):
  """Trains as the original does, also clipping by its norm."""
  steps = goldens.read("model_train_trace.json")["steps"]
  golden = goldens.arrays("model_train_trace.npz")
  model = _tiny_model(goldens, dropout=False)
  metrics = _train(goldens, golden, model, len(steps), learning_rate_after_step)
  title, prefix = "Training: weights after 20 steps", "final:bert/"
  if learning_rate_after_step:
    title += ", --learning_rate_after_step"
    prefix = "final_unsequenced:bert/"
  else:
    comparison = Comparison("Training: loss of each of 20 steps", _TRACE_LIMIT)
    for i, (ours, step) in enumerate(zip(metrics, steps, strict=True)):
      comparison.add_numbers(float(ours["loss"]), step["loss"], f"step {i}")
    largest = max(
      abs(float(ours["global_norm"]) / step["global_norm"] - 1)
      for ours, step in zip(metrics, steps, strict=True)
    )
    comparison.notes.append(
      "Training: with --clip_by_unsummed_embeddings, the global norms differ "
      f"by a factor of 1 +/- {largest:.1g} at most."
    )
    yield comparison
  comparison = Comparison(title, _FINAL_WEIGHTS_LIMIT)
  weights = {weight.path: weight for weight in model.backbone.weights}
  for path, original in original_names(_NUM_LAYERS).items():
    saved = golden.get(prefix + original)
    if saved is not None:  # Only some were saved whole.
      ours = weights[path].numpy().reshape(saved.shape)
      comparison.add_numbers(ours, saved, original)
  yield comparison


def _train(goldens, golden, model, num_steps, learning_rate_after_step):
  """Runs the steps; returns the metrics of each."""
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
  metrics = []
  for rows in batches:
    inputs = ("input_ids", "segment_ids", "input_mask")
    batch = {name: windows[name][rows] for name in inputs}
    for name in ("start_positions", "end_positions"):
      batch[name] = golden[name][rows]
    metrics.append(
      step({k: tf.constant(v.astype(np.int32)) for k, v in batch.items()})
    )
  return metrics
