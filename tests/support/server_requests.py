"""Questions to a `ServedModel`, as servers put them."""

import tensorflow as tf


def ask(server, questions, contexts):
  """The columns of a batch, strings or bytes, as arrays."""
  columns = server.functions["serving_default"](
    tf.constant(questions, tf.string, [len(questions)]),
    tf.constant(contexts, tf.string, [len(contexts)]),
  )
  return {name: values.numpy() for name, values in columns.items()}


def serialized_example(question, context):
  """The tf.Example of the signatures examples and classify."""
  features = {
    name: tf.train.Feature(bytes_list=tf.train.BytesList(value=[text.encode()]))
    for name, text in (("question", question), ("context", context))
  }
  example = tf.train.Example(features=tf.train.Features(feature=features))
  return example.SerializeToString()
