"""What fit, evaluate and predict read: batches of questions, checked."""

import keras
import tensorflow as tf

from bert_span.data.preprocessor import cut_line, kind_of
from bert_span.options.messages import shortened
from bert_span.storage.log import log_line

_BATCHES = "batches of (x, y) or (x, y, sample_weight)"
# The key in x of what names the questions of a batch, for messages.
_PLACE = "place"


def checked_questions(
  preprocessor, x, y=None, sample_weight=None, has_labels=True
):
  """Returns `SpanPreprocessor.tensors`; ValueError for what no model takes."""
  if not isinstance(x, dict) or not {"question", "context"} <= x.keys():
    raise ValueError(
      "x must be a dict of question and context, or a tf.data.Dataset of "
      f"{_BATCHES}. Received: {kind_of(x)}. For prepared windows, set "
      "preprocessor to None."
    )
  if has_labels and y is None:
    raise ValueError(
      "y is missing, a dict of answer_text and answer_start. A "
      f"tf.data.Dataset has {_BATCHES}."
    )
  x, y, sample_weight = preprocessor.tensors(x, y, sample_weight)
  if x["question"].shape[:1] == [0]:
    raise ValueError("x has no questions. Give at least one.")
  return x, y, sample_weight


def question_batches(
  preprocessor,
  x,
  y=None,
  sample_weight=None,
  batch_size=None,
  shuffle=False,
  has_labels=True,
  argument="",
):
  """Returns a tf.data.Dataset of batches of questions for a `BatchReader`.

  Values are checked here, also those of a dataset that says that it is finite;
  those of another one when its batches are read. `argument` begins messages.
  """
  try:
    if isinstance(x, tf.data.Dataset):
      if not y is sample_weight is batch_size is None:
        raise ValueError(
          "With a tf.data.Dataset as x, batch_size, y and sample_weight must "
          f"be None: it has {_BATCHES}."
        )
      dataset = _checked_dataset(preprocessor, x, has_labels)
    else:
      data = checked_questions(preprocessor, x, y, sample_weight, has_labels)
      dataset = tf.data.Dataset.from_tensor_slices(
        keras.utils.pack_x_y_sample_weight(*data)
      )
      if shuffle:
        dataset = dataset.shuffle(len(dataset))
      dataset = dataset.batch(batch_size or 32)  # as keras.Model.fit
  except ValueError as error:
    raise ValueError(f"{argument}{error}") from None

  def add_place(number, data):
    x, *labels = keras.utils.unpack_x_y_sample_weight(data)
    of_batch = f"{argument}question {{}} of batch "
    place = tf.strings.join([of_batch, tf.strings.as_string(number)])
    return {**x, _PLACE: place}, *labels

  return dataset.enumerate().map(add_place)


def is_of_question_batches(x):
  """Returns whether x is of a batch of `question_batches`."""
  return isinstance(x, dict) and _PLACE in x


def _checked_dataset(preprocessor, dataset, has_labels):
  spec = dataset.element_spec
  if isinstance(spec, tuple) and not 1 <= len(spec) <= 3:
    raise ValueError(
      f"The tf.data.Dataset must have {_BATCHES}. Received: tuples of "
      f"{len(spec)}."
    )
  specs = keras.utils.unpack_x_y_sample_weight(spec)
  if not has_labels:
    checked_questions(preprocessor, specs[0], has_labels=False)
    return dataset.map(lambda *data: data[0])
  none = tf.type_spec_from_value(None)
  specs = [None if spec == none else spec for spec in specs]
  checked_questions(preprocessor, *specs)
  if dataset.cardinality() >= 0:
    for number, data in enumerate(dataset):
      place = f"question {{}} of batch {number}"
      data = keras.utils.unpack_x_y_sample_weight(data)
      preprocessor.tensors(*data, place=place)
  return dataset


class BatchReader:
  """Makes windows of `question_batches` while Keras reads them.

  As a context manager it raises what is wrong in them: an error in a dataset
  would reach Keras as one of TensorFlow, with the traces of both. At the end it
  logs the questions that were cut.
  """

  def __init__(self, preprocessor):
    self._preprocessor = preprocessor
    self.are_due = True  # Of no epochs there are none.
    self._num_batches = 0
    self._cut = {}  # questions, each once
    self._errors = {}  # by the place; several batches are read at once

  @tf.autograph.experimental.do_not_convert
  def windows(self, x, y=None, sample_weight=None):
    """Returns the preprocessor's windows of a batch, and their labels."""
    x = dict(x)
    place = x.pop(_PLACE)
    data = self._preprocessor.tensors(x, y, sample_weight)
    data = tuple(part for part in data if part is not None)

    def examine(place, is_cut, *values):
      x, *labels = tf.nest.pack_sequence_as(data, values)
      place = place.numpy().decode()
      try:
        self._preprocessor.check_rows(x, *labels, place=place)
      except ValueError as error:
        self._errors[len(place), place] = error
        raise
      self._num_batches += 1
      cut = x["question"].numpy()[is_cut.numpy()]
      self._cut.update(dict.fromkeys(cut))
      return True

    is_cut = self._preprocessor.is_cut(data[0]["question"])
    flat = place, is_cut, *tf.nest.flatten(data)
    with tf.control_dependencies([tf.py_function(examine, flat, tf.bool)]):
      return self._preprocessor(*data)

  def __enter__(self):
    return self

  def __exit__(self, kind, error, trace):
    if self._errors and isinstance(error, tf.errors.OpError):
      raise self._errors[min(self._errors)] from None
    # Keras' predict has an UnboundLocalError.
    is_empty = self.are_due and not self._num_batches
    if is_empty and kind in (None, UnboundLocalError):
      raise ValueError("The dataset has no questions.") from None
    if self._cut and error is None:
      first = shortened(next(iter(self._cut)).decode("utf-8", "replace"))
      options = self._preprocessor.options
      log_line(cut_line(options, first, len(self._cut) - 1))
