"""Checks 4 and 9: the optimizer, and a fine-tuning run of the original.

The original does not order the reading of the step count and its increment, a
race. The run was recorded with one thread, in which the warm-up reads the count
after the increment and the decay reads it before: for a warm-up of 6 steps the
sixth update has the decay's rate of step 5.
"""

import contextlib

import keras
import numpy as np
import tensorflow as tf

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.answers.window_logits import WindowDecoder, WindowLogits
from bert_span.certificate.comparison import Comparison, is_text_of, one_blank
from bert_span.certificate.model_checks import (
  compare_weights,
  tiny_model,
  train,
)
from bert_span.data.labelled_windows import label_windows
from bert_span.data.window_batches import window_batches
from bert_span.data.window_labels import SPAN_LABELS
from bert_span.heads.span import SPAN_HEAD
from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.optimizer import BertAdamW, is_decayed

_UPDATES_LIMIT = 1e-5
# float32 sums in another order, over 60 updates.
_LOSS_LIMIT = 1e-4
_WEIGHTS_LIMIT = 5e-4


def compare_optimizer(goldens):
  """Compares learning rates, and forty steps of two sets of variables."""
  return [
    _compare_rates(goldens),
    _compare_steps(goldens, "dense"),
    _compare_steps(goldens, "with_embedding"),
  ]


def _compare_rates(goldens):
  tables = goldens.read("learning_rate_tables.json")["tables"]
  comparison = Comparison(f"Learning rates: {len(tables)} tables", limit=0.0)
  for key, expected in tables.items():
    peak, steps, warmup = key.split("/")
    rate = tf.function(WarmupLinearDecay(float(peak), int(steps), int(warmup)))
    for step, original in enumerate(np.asarray(expected, np.float32)):
      ours = rate(tf.constant(step))
      comparison.add_numbers(ours, original, f"{key} at step {step}")
  return comparison


def _compare_steps(goldens, name):
  """Updates with the original's clipped gradients, step by step."""
  info = goldens.read("optimizer_info.json")[name]
  golden = goldens.arrays(f"optimizer_{name}.npz")
  paths = info["variable_order"]
  variables = {p: _variable(p, golden[f"init:{p}"]) for p in paths}
  schedule = WarmupLinearDecay(info["init_lr"], info["steps"], info["warmup"])
  optimizer = BertAdamW(schedule)
  optimizer.build(list(variables.values()))
  with_gradient = [p for p in paths if f"clipped_grad:{p}" in golden]
  comparison = Comparison(
    f"Updates, {name}: {len(paths)} variables, {info['steps']} steps",
    _UPDATES_LIMIT,
  )
  for path, decays in info["weight_decay_applied"].items():
    if is_decayed(path) != decays:
      comparison.add(False, f"{path}: weight decay")
  for step in range(info["steps"]):
    optimizer.apply(
      [tf.constant(golden[f"clipped_grad:{p}"][step]) for p in with_gradient],
      [variables[p] for p in with_gradient],
    )
    for path in paths:
      comparison.add_numbers(
        variables[path].numpy(),
        golden[f"value:{path}"][step],
        f"{path} after step {step}",
      )
  return comparison


def _variable(path, value):
  *scopes, name = path.split("/")
  with contextlib.ExitStack() as stack:
    for scope in scopes:
      stack.enter_context(keras.name_scope(scope))
    return keras.Variable(np.asarray(value, "float32"), name=name)


def compare_fine_tuning(goldens):
  """Compares losses, final weights and predictions."""
  plan = goldens.plan["fine_tuning"]
  golden = goldens.arrays("fine_tuning.npz")
  model = tiny_model(goldens, dropout=False)
  schedule = _RecordedSchedule(
    plan["learning_rate"], plan["num_train_steps"], plan["num_warmup_steps"]
  )
  configuration = goldens.configurations[plan["training"]]
  windows = label_windows(
    goldens.examples(configuration),
    goldens.preprocessor(configuration),
    SPAN_LABELS,
  ).windows
  windows = windows.batch(
    np.arange(len(windows)), configuration.options.max_seq_length
  )
  metrics = train(model, schedule, windows, golden["batches"])
  losses = Comparison(f"Losses of {len(metrics)} steps", _LOSS_LIMIT)
  for i, ours in enumerate(metrics):
    losses.add_numbers(float(ours["loss"]), golden["losses"][i], f"step {i}")
  weights = Comparison("Final weights", _WEIGHTS_LIMIT)
  compare_weights(weights, model, golden, "final:bert/")
  return [losses, weights, _compare_answers(goldens, plan, model)]


class _RecordedSchedule(keras.optimizers.schedules.LearningRateSchedule):
  """The learning rates that the recorded run used."""

  def __init__(self, peak, num_train_steps, num_warmup_steps):
    super().__init__()
    self._peak = peak
    self._num_train_steps = num_train_steps
    self._num_warmup_steps = num_warmup_steps

  def __call__(self, step):
    step = tf.cast(step, tf.float32)
    warmup = self._peak * (step + 1) / self._num_warmup_steps
    decay = self._peak * (1 - step / self._num_train_steps)
    return tf.where(step + 1 < self._num_warmup_steps, warmup, decay)


def _compare_answers(goldens, plan, model):
  configuration = goldens.configurations[plan["prediction"]]
  examples = goldens.examples(configuration)
  contexts = {example.qas_id: example.context for example in examples}
  decode = WindowDecoder(
    SPAN_HEAD, DecoderOptions(version_2_with_negative=plan["version_2"])
  )
  preprocessor = goldens.preprocessor(configuration, pad_to_max=True)
  golden = goldens.read("fine_tuning_predictions.json.gz")
  comparison = Comparison("Answers after training")
  answering = tf.function(
    InferenceModel(model), autograph=False, reduce_retracing=True
  )
  for batch, windows in window_batches(examples, preprocessor):
    outputs = answering(
      {
        "token_ids": windows["input_ids"],
        "segment_ids": windows["segment_ids"],
        "padding_mask": windows["input_mask"],
      }
    )
    logits = {name: values.numpy() for name, values in outputs.items()}
    for ours in decode(WindowLogits(batch, windows, logits)):
      text, context = golden[ours.qas_id], contexts[ours.qas_id]
      same = one_blank(text) == one_blank(ours.text) or (
        ours.text != "" and is_text_of(text, context, ours)
      )
      comparison.add(same, f"{ours.qas_id}: {text!r}, here {ours.text!r}")
  return comparison
