"""Check 3: model function, loss, and twenty steps of training."""

import contextlib
import dataclasses
import os
import tempfile
import zlib

import numpy as np
import tensorflow as tf

from bert_span.certificate.comparison import Comparison
from bert_span.heads.span import SPAN_HEAD
from bert_span.modeling.encoder import read_bert_config
from bert_span.modeling.heads import SpanHead
from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.modeling.losses import SpanLoss
from bert_span.modeling.span_model import SpanModel, assign_head
from bert_span.presets.encoder_weights import (
  load_tf1_checkpoint,
  original_weights,
)
from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.optimizer import BertAdamW
from bert_span.training.step import TrainStep

_CHECKPOINT = "tiny_ckpt/bert_model.ckpt"
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
  golden = _recorded(goldens, "loss")
  logits = tiny_model(goldens).predict(
    _inputs(golden), batch_size=_WINDOWS_PER_BATCH, verbose=0
  )
  num_windows = len(golden["input_ids"])
  comparison = Comparison(f"Loss of {num_windows} windows", _LOSS_LIMIT)
  for name, values in (("our logits", logits), ("its logits", golden)):
    loss = sum(
      SpanLoss()(golden[f"{end}_positions"], values[f"{end}_logits"])
      for end in ("start", "end")
    )
    comparison.add_numbers(float(loss), golden["total_loss"], name)
  return comparison


def _recorded(goldens, kind):
  """The arrays of model_forward_* or model_loss_*."""
  plan = goldens.plan["model"]
  configuration = plan["forward" if kind == "forward" else "training"]
  name = f"model_{kind}_{configuration}{plan['num_features']}.npz"
  return goldens.arrays(name)


def _inputs(arrays):
  return {
    "token_ids": arrays["input_ids"].astype(np.int32),
    "segment_ids": arrays["segment_ids"].astype(np.int32),
    "padding_mask": arrays["input_mask"].astype(np.int32),
  }


def _compare_forward(goldens):
  """Compares both encoders: Keras' trains, the inference encoder answers."""
  golden = _recorded(goldens, "forward")
  model = tiny_model(goldens)
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
  model = tiny_model(goldens, dropout=False)
  windows = _recorded(goldens, "loss") | {
    name: golden[name] for name in ("start_positions", "end_positions")
  }
  schedule = WarmupLinearDecay(
    1e-3, len(steps), 4, steps_ahead=int(learning_rate_after_step)
  )
  metrics = train(model, schedule, windows, golden["batches"])
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
  compare_weights(comparison, model, golden, prefix)
  yield comparison


def compare_weights(comparison, model, golden, prefix):
  """Adds the weights of the encoder that were saved whole, under a prefix."""
  weights = {weight.path: weight for weight in model.backbone.weights}
  for path, (original, _) in original_weights(model.backbone).items():
    saved = golden.get(prefix + original)
    if saved is not None:
      ours = weights[path].numpy().reshape(saved.shape)
      comparison.add_numbers(ours, saved, original)


def train(model, schedule, windows, batches):
  """Trains on batches in the given order, as the original does.

  Args:
    model: `SpanModel` without dropout.
    schedule: `WarmupLinearDecay`.
    windows: dict of input_ids, segment_ids, input_mask [windows, seq_length]
      and start_positions, end_positions [windows].
    batches: int [steps, batch], rows of `windows`.

  Returns:
    List of the metrics of each step.
  """
  optimizer = BertAdamW(schedule)
  optimizer.build(model.trainable_variables)
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
  names = (
    *("input_ids", "segment_ids", "input_mask"),
    *("start_positions", "end_positions"),
  )
  return [
    step({n: tf.constant(windows[n][rows].astype(np.int32)) for n in names})
    for rows in batches
  ]


def tiny_model(goldens, dropout=True):
  """The `SpanModel` of the original's tiny checkpoint."""
  config = read_bert_config(goldens.path("tiny_ckpt/bert_config.json"))
  if not dropout:
    config = dataclasses.replace(config, dropout=0.0, attention_dropout=0.0)
  with _checkpoint(goldens, config) as prefix:
    loaded = load_tf1_checkpoint(config, prefix)
  model = SpanModel(loaded.backbone, SpanHead())
  assign_head(model, loaded.head_weights["span_head"])
  return model


@contextlib.contextmanager
def _checkpoint(goldens, config):
  """Yields the prefix of the TensorFlow 1 checkpoint.

  Goldens without a checkpoint were recorded with weights that are a function of
  their names: they are written into a temporary folder.
  """
  if goldens.has(f"{_CHECKPOINT}.index"):
    yield goldens.path(f"{_CHECKPOINT}.index").removesuffix(".index")
    return
  shapes = {
    f"bert/{name}": shape for name, shape in original_weights(config).values()
  }
  shapes["cls/squad/output_weights"] = (2, config.hidden_dim)
  shapes["cls/squad/output_bias"] = (2,)
  with tempfile.TemporaryDirectory() as folder:
    prefix = os.path.join(folder, "bert_model.ckpt")
    tf.raw_ops.SaveV2(
      prefix=prefix,
      tensor_names=list(shapes),
      shape_and_slices=[""] * len(shapes),
      tensors=[_weight(name, shape) for name, shape in shapes.items()],
    )
    yield prefix


def _weight(name, shape):
  """Normal with deviation 0.2, around 1 for gamma, as tests/original draws."""
  generator = np.random.RandomState(zlib.crc32(name.encode("utf-8")))
  values = generator.standard_normal(shape) * 0.2
  return (values + (1 if name.endswith("gamma") else 0)).astype(np.float32)
