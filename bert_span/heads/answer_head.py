"""AnswerHead: everything in which one kind of head differs from another."""

from typing import ClassVar

import tensorflow as tf

from bert_span.data.window_labels import WindowLabels
from bert_span.modeling.span_model import SpanModel, assign_head
from bert_span.storage.files import encodable


class AnswerHead:
  """A kind of head: its layer, loss, labels, decoder, answers and files.

  heads/span.py and heads/bio.py have a subclass and an object each. A subclass
  has these methods, too:
    make_layer(head_bias): a new Keras layer, whose name is that of the file of
      its weights in a model directory; head_bias is whether a bias is wanted.
    make_loss(options): a keras.losses.Loss from `FineTuningOptions`, for each
      of the logits with the label at the same place; `call` returns [batch].
    make_decoder(options): an object with two methods of TensorFlow ops, see
      `SpanDecoder`: read(windows, *logits) returns what to keep of windows,
      answers(contexts, parts) a dict of columns, dense tensors [examples] or
      [examples, n].
    predictions_of(examples, columns): predictions of `SquadExample`s. Their
      `spans` are those of the answer by position, () for "no answer".
    lists_of(prediction, n_best): lists of spans by name, for rows of answers.
    json_fields(prediction, n_best): the answer as ask --json prints it.
    list_file(predictions): name -> text of the file of each answer's spans.
    served_columns(options, columns): what a SavedModel returns of the decoder's
      columns, dense tensors [batch] or [batch, n].
    served_classes(columns): of these the classes and scores, [batch, n], of
      TensorFlow Serving's Classify.
  """

  # The model's outputs: their shapes after [windows, seq_length].
  logits: dict[str, tuple[int, ...]]
  labels: WindowLabels
  options_type: type  # dataclass of its decoding options
  prediction_columns: tuple[str, ...]  # those that predictions are made of
  # For the model card: what the outputs of a SavedModel mean, by name.
  served_guide: dict[str, str]
  logits_guide: dict[str, str]
  classes_guide: dict[str, str]
  # The names of development_scores that can select a model.
  development_metrics: tuple[str, ...] = ()
  # Descriptions of the columns with the place of an answer.
  place_guide: ClassVar = {
    "answer": "the answer, valid UTF-8; empty for no answer",
    "char_start": "first character of the answer in the context, from 0",
    "char_end": "character after the answer; context[char_start:char_end]",
    "byte_start": "first byte of the answer in the context as it was sent",
    "byte_end": "byte after the answer",
  }

  def fingerprint(self, options):
    """JSON values that its labels and loss depend on; {} for the original's."""
    return {}

  def make_observer(self, num_questions):
    """None, or an object: add(`WindowLogits`), and files(), texts by name."""

  def file_scores(self, output_dir, examples):
    """Scores beyond the official ones, of the files of a prediction."""
    return {}

  def development_scores(self, examples, spans):
    """As `file_scores`, shown during training, of texts by question id."""
    return {}

  def expected_row(self, prediction):
    """Dict of the served values that must equal a prediction.

    Lists have no padding. Texts whose order is not determined are missing.
    """
    names = ("char_start", "char_end", "score", "probability", "null_odds")
    return {
      "answer": encodable(prediction.text),
      "is_answerable": bool(prediction.text),
      **{name: getattr(prediction, name) for name in names},
    }

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
    """Splits a `PackedWindows.batch` as keras.Model.fit takes it."""
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
    """The `SpanModel` of a `LoadedEncoder`, with its trained or a new head."""
    weights = self.weights_of(loaded)
    if weights:
      head_bias = "bias" in weights
    model = SpanModel(loaded.backbone, self.make_layer(head_bias))
    if weights:
      assign_head(model, weights)
    return model

  @staticmethod
  def table_guide(table):
    """Descriptions of the columns of each span in a table of spans."""
    names = [*list(AnswerHead.place_guide)[1:], "score", "probability"]
    return {f"{table}{name}": f"as {name}; padding 0" for name in names}

  @staticmethod
  def with_shapes(columns, table, entries=None):
    """Served columns, [batch, entries] if their names begin with `table`."""
    shaped = {}
    for name, values in columns.items():
      is_table = name.startswith(table) and name != f"{table}count"
      shape = [None, entries] if is_table else [None]
      shaped[name] = tf.ensure_shape(values, shape)
    return shaped
