"""Records the original's optimizer on a loss with known gradients."""

from unittest import mock

import numpy as np
import tensorflow as tf

from record_model import ordered_parts

_STEPS, _WARMUP, _LEARNING_RATE = 40, 10, 1e-3
_SHAPES = {
  "dense/kernel": (4, 3),
  "dense/bias": (3,),
  "LayerNorm/gamma": (5,),
  "LayerNorm/beta": (5,),
  "cls/squad/output_weights": (2, 4),
  "cls/squad/output_bias": (2,),
  "layer_norm/scale": (3,),
  "gamma": (4,),
  "unused/kernel": (3, 2),  # In no loss: its gradient is None.
}
_EMBEDDING, _UNUSED = "embeddings/word_embeddings", "unused/kernel"
_TABLES = (
  (5e-5, 1113, 111),
  (3e-5, 569, 56),
  (1e-3, 40, 10),
  (5e-5, 100, 0),
  (2e-5, 7, 7),
  (5e-5, 3, 5),
)


def record_optimizer(run_squad, writer):
  """Writes optimizer_* and learning_rate_tables.json."""
  optimization = run_squad.optimization
  shapes = {"dense": _SHAPES, "with_embedding": {**_SHAPES, _EMBEDDING: (7, 3)}}
  info = {n: _record(optimization, writer, n, s) for n, s in shapes.items()}
  writer.write_json("optimizer_info.json", info, indent=1)
  tables = {
    f"{rate:g}/{steps}/{warmup}": _rates(optimization, rate, steps, warmup)
    for rate, steps, warmup in _TABLES
  }
  writer.write_json("learning_rate_tables.json", {"tables": tables})


def _create(optimization, loss, rate, steps, warmup):
  """The original's training operation and the optimizer that it made."""
  made = []
  optimizer_type = optimization.AdamWeightDecayOptimizer
  begin = optimizer_type.__init__

  def begin_and_keep(self, *args, **options):
    begin(self, *args, **options)
    made.append(self)

  with mock.patch.object(optimizer_type, "__init__", begin_and_keep):
    train_op = optimization.create_optimizer(loss, rate, steps, warmup, False)
  return train_op, made[0]


def _record(optimization, writer, name, shapes):
  """Forty steps on sum of 0.5 * amp[t] * coef * sum((x + target[t])^2)."""
  rng = np.random.RandomState(len(shapes))
  amp = np.where(np.arange(_STEPS) % 2, 1.0, 0.02).astype(np.float32)
  ids = rng.randint(0, 7, [_STEPS, 6]).astype(np.int32)
  ids[:, 5] = ids[:, 0]  # A repeated token.
  arrays = {"amp": amp, "ids": ids}
  with tf.Graph().as_default(), tf.Session() as session:
    step = tf.placeholder(tf.int32, [])
    variables, loss = {}, 0.0
    for path, shape in shapes.items():
      init = rng.standard_normal(shape).astype(np.float32)
      rows = (6, shape[1]) if path == _EMBEDDING else shape
      target = rng.standard_normal((_STEPS, *rows)).astype(np.float32)
      coef = np.float32(rng.uniform(0.1, 1.0))
      value = variables[path] = tf.get_variable(path, initializer=init)
      for name, array in (("init", init), ("target", target), ("coef", coef)):
        arrays[f"{name}:{path}"] = array
      if path == _UNUSED:
        continue
      if path == _EMBEDDING:
        value = tf.gather(value, tf.constant(ids)[step])
      square = tf.reduce_sum(tf.square(value + tf.constant(target)[step]))
      loss += 0.5 * tf.constant(amp)[step] * coef * square
    train_op, optimizer = _create(
      optimization, loss, _LEARNING_RATE, _STEPS, _WARMUP
    )
    with_gradient = [path for path in shapes if path != _UNUSED]
    gradients = tf.gradients(loss, [variables[p] for p in with_gradient])
    clipped, norm = tf.clip_by_global_norm(gradients, clip_norm=1.0)
    fetched = {"loss": loss, "global_norm": norm, "lr": optimizer.learning_rate}
    for path, raw, clip in zip(with_gradient, gradients, clipped):
      fetched[f"raw_grad:{path}"] = tf.convert_to_tensor(raw)
      fetched[f"clipped_grad:{path}"] = tf.convert_to_tensor(clip)
    values = {f"value:{path}": v for path, v in variables.items()}
    for variable in tf.global_variables():
      path = variable.name.split(":", 1)[0]
      if path.endswith(("/adam_m", "/adam_v")):
        values[f"slot:{path}"] = variable
    # The update before the count: else the two race, see README.md.
    updates, count = ordered_parts(train_op)
    session.run(tf.global_variables_initializer())
    rows = []
    for t in range(_STEPS):
      row = session.run(fetched, {step: t})
      session.run(updates, {step: t})
      session.run(count)
      row.update(session.run(values))
      rows.append(row)
  arrays.update({key: np.stack([row[key] for row in rows]) for key in rows[0]})
  np.savez_compressed(writer.path(f"optimizer_{name}.npz"), **arrays)
  return {
    "variable_order": list(shapes),
    "weight_decay_applied": {
      path: bool(optimizer._do_use_weight_decay(path)) for path in shapes
    },
    "steps": _STEPS,
    "warmup": _WARMUP,
    "init_lr": _LEARNING_RATE,
    "steps_with_clipping": int(sum(row["global_norm"] > 1 for row in rows)),
  }


def _rates(optimization, rate, steps, warmup):
  """The learning rate at each step count, to three steps after the last."""
  with tf.Graph().as_default(), tf.Session() as session:
    variable = tf.get_variable("x", initializer=np.float32(1))
    _, optimizer = _create(
      optimization, tf.square(variable), rate, steps, warmup
    )
    session.run(tf.global_variables_initializer())
    global_step = tf.train.get_global_step()
    rates = []
    for step in range(steps + 4):
      global_step.load(step, session)
      rates.append(float(session.run(optimizer.learning_rate)))
  return rates
