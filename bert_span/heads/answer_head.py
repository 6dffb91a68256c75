"""AnswerHead: everything in which one kind of head differs from another."""

import dataclasses
from collections.abc import Callable

import tensorflow as tf

from bert_span.data.window_labels import WindowLabels
from bert_span.modeling.span_model import SpanModel, assign_head
from bert_span.storage.utf8 import encodable


@dataclasses.dataclass(frozen=True)
class ServedAnswers:
  """What a SavedModel of a head answers.

  Attributes:
    columns: function of the decoder's options and columns to the served
      columns, dense tensors [batch] or [batch, n].
    classes: function of these columns to the classes, string [batch, n], and
      scores, [batch, n], of TensorFlow Serving's Classify.
    expected_row: function of a prediction to the dict of served values that
      must equal it; a list has no padding. Texts of entries whose order is not
      determined are missing.
    guide: dict of the served columns to their descriptions, for the model card.
    logits_guide: the same of the logits.
    classes_guide: the same of "classes" and "scores".
  """

  columns: Callable
  classes: Callable
  expected_row: Callable
  guide: dict[str, str]
  logits_guide: dict[str, str]
  classes_guide: dict[str, str]


def _nothing(*unused):
  return {}


def _no_observer(num_questions):
  del num_questions


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class AnswerHead:
  """A kind of head: its layer, loss, labels, decoder, answers and files.

  heads/span.py and heads/bio.py make one each, and later rooms use it.
  Functions are named by their module, so that an object can be sent to workers.

  Attributes:
    make_layer: function of whether a bias is wanted to a new Keras layer. Its
      name is that of the file of its weights in a model directory.
    logits: dict of the model's outputs to their shapes after [windows,
      seq_length].
    labels: `WindowLabels` that it learns from.
    make_loss: function of `FineTuningOptions` to a keras.losses.Loss. It is
      applied to each of the logits with the label at the same place, and the
      results are added up; its `call` returns float32 [batch].
    options_type: dataclass of its decoding options.
    make_decoder: function of these options to an object with two methods of
      TensorFlow ops. read(windows, *logits), of a dict of `SlidingWindows`,
      returns what to keep of windows, see `SpanDecoder.read`; answers(contexts,
      parts), of string [examples] and what was kept of all their windows,
      returns a dict of columns, dense tensors [examples] or [examples, n].
    prediction_columns: the columns that predictions are made of.
    predictions_of: function of a list of `SquadExample` and these columns to
      their predictions.
    spans_of: function of a prediction to the list of spans of its answer, in
      order of position; [] for "no answer".
    lists_of: function of a prediction and n_best to a dict of lists of spans by
      their name in rows of answers.
    json_fields: function of a prediction and n_best to the answer as ask --json
      prints it.
    prediction_files: function of predictions and version_2_with_negative to a
      dict of the texts of files by their names.
    served: `ServedAnswers`.
    fingerprint: function of `FineTuningOptions` to a dict of JSON values: the
      options that its labels and loss depend on, and the head's name unless it
      is the original's.
    make_observer: function of how many questions to show to an object with
      add(`WindowLogits`) and files(), as prediction_files, or None.
    file_scores: function of output_dir and a list of `SquadExample` to scores
      beyond the official ones, read from the files of a prediction.
    development_scores: function of a list of `SquadExample` and a dict of the
      texts of each answer's spans by question id to scores beyond the official
      ones, shown during training.
    development_metrics: names of these, which can select a model.
  """

  make_layer: Callable
  logits: dict[str, tuple[int, ...]]
  labels: WindowLabels
  make_loss: Callable
  options_type: type
  make_decoder: Callable
  prediction_columns: tuple[str, ...]
  predictions_of: Callable
  spans_of: Callable
  lists_of: Callable
  json_fields: Callable
  prediction_files: Callable
  served: ServedAnswers
  fingerprint: Callable = _nothing
  make_observer: Callable = _no_observer
  file_scores: Callable = _nothing
  development_scores: Callable = _nothing
  development_metrics: tuple[str, ...] = ()

  @property
  def name(self):
    """Its name in --head, span_config.json and records."""
    return self.labels.head

  @property
  def scores_ends(self):
    """Whether it scores the two ends of an answer, as the original."""
    return tuple(self.logits) == ("start_logits", "end_logits")

  def decoder_of(self, options):
    """The decoder for some options; a ValueError for those of another head."""
    if not isinstance(options, self.options_type):
      raise ValueError(
        f"decoder_options must be {self.options_type.__name__} for a model "
        f"with a {self.name} head. Received: {type(options).__name__}."
      )
    return self.make_decoder(options)

  def inputs_and_labels(self, batch):
    """Splits a `PackedWindows.batch` as keras.Model.fit takes it.

    The labels are a dict by the names of the model's outputs.
    """
    inputs = {
      "token_ids": batch["input_ids"],
      "segment_ids": batch["segment_ids"],
      "padding_mask": batch["input_mask"],
    }
    labels = zip(self.logits, self.labels.names, strict=True)
    return inputs, {logits: batch[name] for logits, name in labels}

  def loss_fn(self, loss):
    """A function of (model, batch) to the losses of make_loss, [batch]."""

    def window_losses(model, batch):
      inputs, labels = self.inputs_and_labels(batch)
      logits = model(inputs, training=True)
      return sum(loss.call(labels[name], logits[name]) for name in labels)

    return window_losses

  def weights_of(self, loaded):
    """The dict of its trained weights in a `LoadedEncoder`, or None."""
    return loaded.head_weights.get(self.make_layer(True).name)

  def model_of(self, loaded, head_bias=True):
    """A `SpanModel` of a `LoadedEncoder`, with its trained head if it has one.

    `head_bias` is whether a new head has a bias.
    """
    weights = self.weights_of(loaded)
    if weights:
      head_bias = "bias" in weights
    model = SpanModel(loaded.backbone, self.make_layer(head_bias))
    if weights:
      assign_head(model, weights)
    return model


def with_shapes(columns, table, entries=None):
  """Served columns with their static shapes.

  Names of columns [batch, entries] begin with `table`; the others, and the
  count of entries, are [batch].
  """

  def shape_of(name):
    is_table = name.startswith(table) and name != f"{table}count"
    return [None, entries] if is_table else [None]

  return {
    name: tf.ensure_shape(values, shape_of(name))
    for name, values in columns.items()
  }


def best_row(prediction):
  """The part of `ServedAnswers.expected_row` that all heads share."""
  return {
    "answer": encodable(prediction.text),
    "char_start": prediction.char_start,
    "char_end": prediction.char_end,
    "is_answerable": bool(prediction.text),
    "score": prediction.score,
    "probability": prediction.probability,
    "null_odds": prediction.null_odds,
  }


# Descriptions of the columns with the position of an answer.
PLACE_GUIDE = {
  "answer": "the answer, valid UTF-8; empty for no answer",
  "char_start": "first character of the answer in the context, from 0",
  "char_end": "character after the answer; context[char_start:char_end]",
  "byte_start": "first byte of the answer in the context as it was sent",
  "byte_end": "byte after the answer",
}
