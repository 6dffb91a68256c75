"""Served and saved tiny models, made once for all tests of a process."""

import functools
import os

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tiny_extractor import new_folder, tiny_extractor

from bert_span.answers.decoding.options import StepOptions
from bert_span.serving.signatures import ServedModel, write_saved_model


@functools.cache
def served_model(head):
  """A ServedModel, three windows at once, and its SpanExtractor."""
  extractor = tiny_extractor(version_2=True, head=head)
  return ServedModel(extractor, StepOptions(3)), extractor


@functools.cache
def exported_model(head):
  """The directory of the SavedModel of `served_model`, and the extractor."""
  served, extractor = served_model(head)
  directory = str(new_folder() / "1")
  vocabulary = extractor.preprocessor.tokenizer.vocabulary
  write_saved_model(served, vocabulary, directory)
  return directory, extractor


def meta_graph(directory):
  """The meta graph of a written SavedModel."""
  with open(os.path.join(directory, "saved_model.pb"), "rb") as file:
    return saved_model_pb2.SavedModel.FromString(file.read()).meta_graphs[0]


def ask(server, questions, contexts):
  """The columns of a batch, strings or bytes, as arrays."""
  columns = server.functions["serving_default"](
    tf.constant(questions, tf.string, [len(questions)]),
    tf.constant(contexts, tf.string, [len(contexts)]),
  )
  return {name: values.numpy() for name, values in columns.items()}
