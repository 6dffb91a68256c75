"""A model that every worker loads, and its answers to a shard's questions."""

import dataclasses
import functools
import logging
import os
import threading

import tensorflow as tf

from bert_span.answers.columns import TABLES
from bert_span.beam.question_files import BadRecord
from bert_span.client.predict_api import SERVING_DEFAULT, rows_of_columns
from bert_span.client.served_answer import prediction_of_row
from bert_span.data.window_batches import example_arrays, example_batches
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.presets.span_config import find_embedded_model
from bert_span.squad.example import SquadExample

# A model that cannot answer this is what fails, and not a question.
_PROBE = SquadExample("probe", "Who came?", "John Smith came.")


@dataclasses.dataclass(frozen=True)
class AnswerSource:
  """A model and its options, sent to every worker."""

  model: str  # model directory or exported version; every worker sees the path
  n_best: int = 1  # entries of a span head's n-best list; 1 for no list
  batch_size: int = 8  # windows that the model reads at once
  # See `SpanExtractor`; a SavedModel has its own.
  window_options: object = None
  decoder_options: object = None
  fixed_length: bool = False
  verify: bool = True
  dtype: str = "float32"

  def load(self):
    """Returns a function of `SquadExample`s that yields the row of each."""
    if is_saved_model(self.model):
      columns, predictions = _load_saved_model(self.model)
    else:
      extractor = SpanExtractor.from_preset(
        self.model,
        self.window_options,
        self.decoder_options,
        self.fixed_length,
        verify=self.verify,
        dtype=self.dtype,
      )
      columns = extractor.columns
      predictions = functools.partial(
        extractor.predictions, batch_size=self.batch_size
      )
    lock = threading.Lock()

    def answer_rows(examples):
      # Threads take turns: TensorFlow uses all cores for one.
      with lock:
        for prediction in predictions(examples):
          yield columns.answer_row(prediction, self.n_best)

    return answer_rows


def is_saved_model(path):
  """Returns whether a path is an exported SavedModel."""
  path = find_embedded_model(path)
  return tf.io.gfile.exists(os.path.join(path, "saved_model.pb"))


def _load_saved_model(path):
  """Returns `AnswerColumns` and a function from examples to `Prediction`s."""
  import tensorflow_text  # noqa: F401 -- registers its ops

  model = tf.saved_model.load(path)
  answered = set(model.signatures[SERVING_DEFAULT].structured_outputs)
  tables = [t for t in TABLES if answered.issuperset(c.name for c in t.served)]
  if not tables:
    raise ValueError(
      f"{path} answers with {', '.join(sorted(answered))}, which no model of "
      "bert_span does. Export the model with export_saved_model."
    )

  def predictions(examples):
    # From `model`, which keeps the variables alive.
    serve = model.signatures[SERVING_DEFAULT]
    for batch in example_batches(examples):
      arrays = example_arrays(batch)
      columns = serve(**{n: tf.constant(x) for n, x in arrays.items()})
      lists = {name: x.numpy().tolist() for name, x in columns.items()}
      for example, row in zip(batch, rows_of_columns(lists), strict=True):
        yield prediction_of_row(row, example.context, example.qas_id)

  return tables[0], predictions


def answer_shard(records, answer_rows):
  """Returns a row for the first question of each id, and `BadRecord`s.

  Both are in the order of locations. A question that the model fails on is a
  bad record. If the model fails on a plain question too, its error is raised.
  """
  dead_letters, first = [], {}
  for record in sorted(records, key=lambda record: record.location):
    if isinstance(record, BadRecord):
      dead_letters.append(record)
      continue
    earlier = first.setdefault(record.example.qas_id, record)
    if earlier is not record:
      at = earlier.location
      reason = (
        f"The id is used before, by record {at.number} of {at.path}, whose "
        "question is answered. Give each question its own id."
      )
      dead_letters.append(record.refused(reason))
  # In order of characters, so that those of a batch need little padding.
  questions = sorted(
    first.values(),
    key=lambda q: len(q.example.question) + len(q.example.context),
  )
  outcomes = _outcomes([q.example for q in questions], answer_rows)
  rows = {}
  for question, outcome in zip(questions, outcomes, strict=True):
    if isinstance(outcome, Exception):
      reason = f"Answering failed: {type(outcome).__name__}: {outcome}"
      dead_letters.append(question.refused(reason))
    else:
      rows[question.location] = outcome
  dead_letters.sort(key=lambda record: record.location)
  return [rows[location] for location in sorted(rows)], dead_letters


def _outcomes(examples, answer_rows):
  """Yields a row or an exception for each example, in order."""
  for batch in example_batches(examples):
    try:
      yield from list(answer_rows(batch))
    except Exception:
      # Python's log, which Beam collects from the workers.
      logging.exception("Answering failed; its questions are asked one by one.")
      for example in batch:
        try:
          (row,) = answer_rows([example])
        except Exception as error:
          list(answer_rows([_PROBE]))
          row = error
        yield row
