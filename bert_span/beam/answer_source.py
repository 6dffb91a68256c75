"""Where answers come from: a model directory or an exported SavedModel."""

import dataclasses
import os
import threading

import tensorflow as tf

from bert_span.answers.files.answer_rows import answer_row
from bert_span.data.window_batches import example_arrays, example_batches
from bert_span.extractor import SpanExtractor
from bert_span.heads.known import HEADS
from bert_span.serving.client.served_answer import answer_of_row

_SAVED_MODEL_FILE = "saved_model.pb"


@dataclasses.dataclass(frozen=True)
class AnswerSource:
  """What a worker must know to answer questions; it can be sent to one.

  Attributes:
    model: model directory, or version of an exported model; a path that every
      worker sees.
    n_best: entries of the n-best list of a span head; 1 for no list.
    batch_size: windows the model reads at once; a SavedModel has its own.
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
      `answer_row`, in order; one thread at a time gets its answers.
    """
    load = _served_answers if is_saved_model(self.model) else _answers
    head, answers = load(self)
    lock = threading.Lock()

    def answer_rows(examples):
      # TensorFlow uses all cores for one; two would take twice the memory.
      with lock:
        for example, answer in zip(examples, answers(examples), strict=True):
          yield answer_row(example, answer, head, self.n_best)

    return answer_rows


def is_saved_model(path):
  """Whether a path is an exported SavedModel, and no model directory."""
  return tf.io.gfile.exists(os.path.join(path, _SAVED_MODEL_FILE))


def _answers(source):
  """The head, and a function of examples, of a model directory."""
  extractor = SpanExtractor.from_preset(
    source.model,
    source.window_options,
    source.decoder_options,
    source.fixed_length,
  )

  def answers(examples):
    return extractor.predict(examples, source.batch_size)

  return extractor.head, answers


def _served_answers(source):
  """The head, and a function of examples, of a SavedModel."""
  import tensorflow_text  # noqa: F401 -- registers its ops

  model = tf.saved_model.load(source.model)
  signature = model.signatures["serving_default"]
  head = _served_head(source.model, signature)

  def answers(examples):
    # `model` is named here so that its variables live as long as this.
    serve = model.signatures["serving_default"]
    for batch in example_batches(examples):
      arrays = example_arrays(batch)
      columns = serve(
        question=tf.constant(arrays["question"], tf.string),
        context=tf.constant(arrays["context"], tf.string),
      )
      yield from map(answer_of_row, _rows(columns))

  return head, answers


def _served_head(path, signature):
  """The head whose columns the signature answers with."""
  answered = set(signature.structured_outputs)
  for head in HEADS:
    if set(head.served.guide) <= answered:
      return head
  raise ValueError(
    f"{path} answers with {', '.join(sorted(answered))}, which is no head of "
    "bert_span. Export the model with export_saved_model."
  )


def _rows(columns):
  """Yields the rows of a dict of tensors [batch, ..], as Python values."""
  lists = {name: _decoded(x.numpy().tolist()) for name, x in columns.items()}
  for values in zip(*lists.values(), strict=True):
    yield dict(zip(lists, values, strict=True))


def _decoded(value):
  if isinstance(value, list):
    return [_decoded(entry) for entry in value]
  return value.decode("utf-8") if isinstance(value, bytes) else value
