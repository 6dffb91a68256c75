"""Served and saved tiny models, made once for all tests of a process."""

import functools
import os
import subprocess

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tiny_extractor import new_folder, tiny_extractor

from bert_span.answers.decoding.options import StepOptions
from bert_span.jobs.saved_model_export import sample_examples
from bert_span.serving import fresh_process
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


def few_samples():
  """Seven of the questions on which exports are compared."""
  examples = sample_examples()
  return [*examples[:4], *examples[-3:]]


def ask_here(command, **options):
  """A subprocess.run of fresh_process.py that asks in this process."""
  fresh_process.main(*command[2:])
  return subprocess.CompletedProcess(command, 0)


def ask(server, questions, contexts):
  """The columns of a batch, strings or bytes, as arrays."""
  columns = server.functions["serving_default"](
    tf.constant(questions, tf.string, [len(questions)]),
    tf.constant(contexts, tf.string, [len(contexts)]),
  )
  return {name: values.numpy() for name, values in columns.items()}
