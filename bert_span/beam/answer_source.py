"""A model directory or an exported SavedModel that answers questions."""

import dataclasses
import os
import threading

import tensorflow as tf

from bert_span.answers.files.answer_rows import answer_row
from bert_span.data.window_batches import example_arrays, example_batches
from bert_span.extractor import SpanExtractor
from bert_span.heads.known import HEADS
from bert_span.serving.client.served_answer import (
  answer_of_row,
  rows_of_columns,
)
from bert_span.storage.utf8 import encodable


@dataclasses.dataclass(frozen=True)
class AnswerSource:
  """A model and its options, sent to every worker.

  Attributes:
    model: model directory, or version of an exported model; a path that every
      worker sees.
    n_best: entries of the n-best list of a span head; 1 for no list.
    batch_size: windows that the model reads at once; a SavedModel has its own.
    window_options: `WindowOptions`, None for the model's; None for a
      SavedModel, which has its own.
    decoder_options: those of the head; None as for window_options.
    fixed_length: see `SpanExtractor`.
  """

  model: str
  n_best: int = 1
  batch_size: int = 8
  window_options: object = None
  decoder_options: object = None
  fixed_length: bool = False

  def load(self):
    """Loads the model.

    Returns:
      Function of a list of `SquadExample` that yields their rows, see
      `answer_row`, in order. Threads take turns.
    """
    if is_saved_model(self.model):
      head, answers = _load_saved_model(self.model)
    else:
      extractor = SpanExtractor.from_preset(
        self.model,
        self.window_options,
        self.decoder_options,
        self.fixed_length,
      )
      head = extractor.head

      def answers(examples):
        return extractor.predict(examples, self.batch_size)

    lock = threading.Lock()

    def answer_rows(examples):
      # TensorFlow uses all cores for one; two would take twice the memory.
      with lock:
        for example, answer in zip(examples, answers(examples), strict=True):
          yield answer_row(example, answer, head, self.n_best)

    return answer_rows


def is_saved_model(path):
  """Whether a path is an exported SavedModel, and not a model directory."""
  return tf.io.gfile.exists(os.path.join(path, "saved_model.pb"))


def _load_saved_model(path):
  """Its head, and a function of examples to `ServedAnswer`s."""
  import tensorflow_text  # noqa: F401 -- registers its ops

  model = tf.saved_model.load(path)
  answered = set(model.signatures["serving_default"].structured_outputs)
  heads = [head for head in HEADS if set(head.served.guide) <= answered]
  if not heads:
    raise ValueError(
      f"{path} answers with {', '.join(sorted(answered))}, which no head of "
      "bert_span does. Export the model with export_saved_model."
    )

  def answers(examples):
    # From `model`, which keeps the variables alive.
    serve = model.signatures["serving_default"]
    for batch in example_batches(examples):
      arrays = example_arrays(batch)
      columns = serve(
        question=tf.constant(arrays["question"], tf.string),
        context=tf.constant(arrays["context"], tf.string),
      )
      lists = {name: x.numpy().tolist() for name, x in columns.items()}
      contexts = (encodable(example.context) for example in batch)
      yield from map(answer_of_row, rows_of_columns(lists), contexts)

  return heads[0], answers
