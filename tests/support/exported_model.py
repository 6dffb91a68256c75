"""Served and saved tiny models, made once for all tests of a process."""

import functools
import json
import subprocess

import tensorflow as tf
from tiny_extractor import new_folder, tiny_extractor

from bert_span.answers.decoding.options import StepOptions
from bert_span.client.predict_api import rows_of_columns
from bert_span.client.served_answer import prediction_of_row
from bert_span.serving import fresh_process, verification
from bert_span.serving.signatures import ServedModel, write_saved_model
from bert_span.squad.example import SquadExample
from bert_span.squad.options import FULL
from bert_span.squad.sample_examples import sample_examples


@functools.cache
def served_model(kind):
  """A ServedModel, three windows at once, and its SpanExtractor."""
  extractor = tiny_extractor(version_2=True, kind=kind)
  return ServedModel(extractor, StepOptions(3)), extractor


@functools.cache
def exported_model(kind):
  """The directory of the SavedModel of `served_model`, and the extractor."""
  served, extractor = served_model(kind)
  directory = str(new_folder() / "1")
  vocabulary = extractor.preprocessor.tokenizer.vocabulary
  write_saved_model(served, vocabulary, directory)
  return directory, extractor


def few_samples():
  """Ten of the questions on which exports are compared."""
  examples = sample_examples(FULL)
  return [*examples[:4], *examples[-6:]]


def ask_here(command, input, **options):
  """A subprocess.run of fresh_process.py that asks in this process."""
  reply = fresh_process.answer_batches(**json.loads(input))
  stdout = json.dumps(reply, default=bytes.decode)
  return subprocess.CompletedProcess(command, 0, stdout)


def ask(server, questions, contexts):
  """The columns of a batch, strings or bytes, as arrays."""
  columns = server.functions["serving_default"](
    tf.constant(questions, tf.string, [len(questions)]),
    tf.constant(contexts, tf.string, [len(contexts)]),
  )
  return {name: values.numpy() for name, values in columns.items()}


def check_columns(columns, extractor, questions, contexts, tolerance=1e-4):
  """Compares columns with predictions, lists included; returns these."""
  examples = list(map(SquadExample, questions, questions, contexts))
  predictions = list(extractor.predictions(examples))
  values = {name: array.tolist() for name, array in columns.items()}
  rows = rows_of_columns(values)
  for row, prediction, context in zip(rows, predictions, contexts, strict=True):
    expected = extractor.columns.expected_row(prediction)
    assert verification._compare_rows(expected, row, tolerance)[0] == []
    served = prediction_of_row(row, context)  # texts are at their characters
    for span in (served.answer, *served.n_best):
      in_bytes = context.encode()[span.byte_start : span.byte_end]
      assert in_bytes.decode() == span.text
    for values in row.values():
      if isinstance(values, list):
        assert not any(values[len(served.n_best) :])  # padding
  return predictions
