"""Records the original's model: outputs, losses, twenty steps of training.

It is a tiny BERT whose weights are a function of the variables' names.
"""

import os
import re
import tempfile
import zlib

import numpy as np
import tensorflow as tf

_STEPS, _WARMUP, _LEARNING_RATE = 20, 4, 1e-3
_TRACE_BATCH = 8
_EVERY = 16  # Every 16th position of what is long is stored.
# Of the word embeddings every 8th row in use is stored.
_ROWS = 8
_WORDS = "bert/embeddings/word_embeddings"
_POSITIONS = "bert/embeddings/position_embeddings"


def record_model(run_squad, writer, plan, recorded):
  """Writes tiny_ckpt/bert_config.json and model_*, see README.md."""
  config = tiny_config(run_squad.modeling, plan["bert_config"])
  os.makedirs(writer.path("tiny_ckpt"), exist_ok=True)
  writer.write_json("tiny_ckpt/bert_config.json", plan["bert_config"], indent=2)
  folder, checkpoint = write_checkpoint(run_squad, config)
  count = plan["num_features"]
  with folder:
    forward = _first(recorded[plan["forward"]], count)
    name = f"model_forward_{plan['forward']}{count}.npz"
    outputs = _forward(run_squad, config, checkpoint, forward)
    np.savez_compressed(writer.path(name), **forward, **outputs)
    training = _first(recorded[plan["training"]], count)
    name = f"model_loss_{plan['training']}{count}.npz"
    graph = _TrainingGraph(run_squad, config, checkpoint)
    outputs = _forward(run_squad, config, checkpoint, training)
    np.savez_compressed(
      writer.path(name),
      start_logits=outputs["start_logits"],
      end_logits=outputs["end_logits"],
      total_loss=graph.loss(training),
      **training,
    )
    _record_trace(writer, graph, training)


def _first(recorded, count):
  """NumPy arrays of the first features."""
  examples, features = recorded
  features = features[:count]
  arrays = {
    "input_ids": np.array([f.input_ids for f in features], np.int32),
    "input_mask": np.array([f.input_mask for f in features], np.int8),
    "segment_ids": np.array([f.segment_ids for f in features], np.int8),
    "qas_id": np.array([examples[f.example_index].qas_id for f in features]),
    "doc_span_index": np.array([f.doc_span_index for f in features]),
  }
  if features[0].start_position is not None:
    for name in ("start_position", "end_position"):
      values = [getattr(f, name) for f in features]
      arrays[f"{name}s"] = np.array(values, np.int32)
  return arrays


def _forward(run_squad, config, checkpoint, arrays):
  names = ("input_ids", "input_mask", "segment_ids")
  with tf.Graph().as_default(), tf.Session() as session:
    inputs = [tf.constant(arrays[name].astype(np.int32)) for name in names]
    with tf.variable_scope("", reuse=tf.AUTO_REUSE):
      start, end = run_squad.create_model(config, False, *inputs, False)
      model = run_squad.modeling.BertModel(config, False, *inputs, scope="bert")
    tf.train.Saver().restore(session, checkpoint)
    return session.run(
      {
        "embedding_output_every16": model.get_embedding_output()[:, ::_EVERY],
        "layer0_output_every16": model.get_all_encoder_layers()[0][:, ::_EVERY],
        "sequence_output_every16": model.get_sequence_output()[:, ::_EVERY],
        "pooled_output": model.get_pooled_output(),
        "start_logits": start,
        "end_logits": end,
      }
    )


class _TrainingGraph:
  """The original's model function in TRAIN mode, in a graph of its own."""

  def __init__(self, run_squad, config, checkpoint):
    self._graph = tf.Graph()
    with self._graph.as_default():
      self._inputs = {
        name: tf.placeholder(tf.int32, [None])
        for name in ("unique_ids", "start_positions", "end_positions")
      }
      for name in ("input_ids", "input_mask", "segment_ids"):
        self._inputs[name] = tf.placeholder(tf.int32, [None, None])
      model_fn = run_squad.model_fn_builder(
        config, checkpoint, _LEARNING_RATE, _STEPS, _WARMUP, False, False
      )
      spec = model_fn(self._inputs, None, tf.estimator.ModeKeys.TRAIN, {})
      self._loss, self._train_op = spec.loss, spec.train_op
      self._norm = self._graph.get_tensor_by_name("global_norm/global_norm:0")
      self._initialize = tf.global_variables_initializer()

  def loss(self, arrays):
    """The loss of all windows in one batch."""
    with tf.Session(graph=self._graph) as session:
      session.run(self._initialize)
      return session.run(self._loss, self._feed(arrays, slice(None)))

  def train(self, arrays, batches, sequenced):
    """Trains from the checkpoint; int [steps, batch] are rows of the features.

    With `sequenced` each update is applied before the step count is raised; the
    original's operation orders the two by chance. Returns a list of dicts by
    step, and a dict of the variables' values.
    """
    updates, count = ordered_parts(self._train_op)
    steps = []
    with tf.Session(graph=self._graph) as session:
      session.run(self._initialize)
      for step, rows in enumerate(batches):
        feed = self._feed(arrays, rows)
        loss, norm = session.run((self._loss, self._norm), feed)
        for ops in (updates, count) if sequenced else ([self._train_op],):
          session.run(ops, feed)
        numbers = {"loss": float(loss), "global_norm": float(norm)}
        steps.append({"step": step, **numbers})
      variables = {
        variable.name.split(":", 1)[0]: variable
        for variable in self._graph.get_collection("trainable_variables")
      }
      return steps, session.run(variables)

  def _feed(self, arrays, rows):
    ids = np.arange(len(arrays["input_ids"][rows]))
    return {
      tensor: ids if name == "unique_ids" else arrays[name][rows]
      for name, tensor in self._inputs.items()
    }


def _record_trace(writer, graph, arrays):
  count = len(arrays["input_ids"])
  batches = np.random.RandomState(0).randint(0, count, [_STEPS, _TRACE_BATCH])
  trace = {"batches": batches}
  for name in ("start_positions", "end_positions"):
    trace[name] = arrays[name].copy()
    trace[name][::9] = 0  # Windows without the answer.
  arrays = {**arrays, **trace}
  steps, values = graph.train(arrays, batches, sequenced=True)
  trace.update(stored_weights("final", values, arrays["input_ids"]))
  _, values = graph.train(arrays, batches, sequenced=False)
  trace.update(stored_weights("final_unsequenced", values, arrays["input_ids"]))
  np.savez_compressed(writer.path("model_train_trace.npz"), **trace)
  config = {
    "steps": _STEPS,
    "batch_size": _TRACE_BATCH,
    "init_lr": _LEARNING_RATE,
    "num_train_steps": _STEPS,
    "num_warmup_steps": _WARMUP,
    "dropout": 0.0,
  }
  content = {"config": config, "steps": steps}
  writer.write_json("model_train_trace.json", content, indent=1)


def stored_weights(prefix, values, input_ids):
  """Arrays of the final weights, position embeddings left out."""
  rows = np.unique(input_ids)[::_ROWS]
  stored = {}
  for name, value in values.items():
    if name == _WORDS:
      stored[f"{prefix}_rows:{name}"] = value[rows]
      stored[f"rows:{name}"] = rows
    elif name != _POSITIONS and not re.search("adam_[mv]$", name):
      stored[f"{prefix}:{name}"] = value
  return stored


def _tiny_weight(name, shape):
  """A variable's value: normal with deviation 0.2, around 1 for gamma."""
  generator = np.random.RandomState(zlib.crc32(name.encode("utf-8")))
  values = generator.standard_normal(shape) * 0.2
  return (values + (1 if name.endswith("gamma") else 0)).astype(np.float32)


def tiny_config(modeling, values):
  """A BertConfig without dropout."""
  without = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
  return modeling.BertConfig.from_dict({**values, **without})


def ordered_parts(train_op):
  """The updates, and the count, of tf.group(updates, [step.assign(...)])."""
  parts = train_op.control_inputs
  count = [op for op in parts if op.type.startswith("Assign")]
  return [op for op in parts if op not in count], count


def write_checkpoint(run_squad, config):
  """The TemporaryDirectory of the tiny checkpoint, and its prefix."""
  folder = tempfile.TemporaryDirectory()
  with tf.Graph().as_default(), tf.Session() as session:
    ids = tf.zeros([1, 8], tf.int32)
    run_squad.create_model(config, False, ids, ids, ids, False)
    for variable in tf.trainable_variables():
      name = variable.name.split(":", 1)[0]
      variable.load(_tiny_weight(name, variable.shape.as_list()), session)
    prefix = tf.train.Saver().save(
      session,
      os.path.join(folder.name, "bert_model.ckpt"),
      write_meta_graph=False,
    )
  return folder, prefix
