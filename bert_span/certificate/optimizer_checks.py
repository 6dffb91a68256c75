"""Check 4: learning rates and updates."""

import contextlib

import keras
import numpy as np
import tensorflow as tf

from bert_span.certificate.comparison import Comparison
from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.optimizer import BertAdamW, is_decayed

_LIMIT = 1e-5


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
    f"Updates, {name}: {len(paths)} variables, {info['steps']} steps", _LIMIT
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
