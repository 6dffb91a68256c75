"""A tiny BERT whose weights are a function of the variables' names."""

import os
import tempfile
import zlib

import numpy as np
import tensorflow as tf


def tiny_weight(name, shape):
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
      variable.load(tiny_weight(name, variable.shape.as_list()), session)
    prefix = tf.train.Saver().save(
      session,
      os.path.join(folder.name, "bert_model.ckpt"),
      write_meta_graph=False,
    )
  return folder, prefix


def feature_arrays(examples, features):
  """NumPy arrays of some features."""
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
