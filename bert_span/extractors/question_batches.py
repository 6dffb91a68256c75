"""Batches of questions for fit, evaluate and predict, and their checks."""

import keras
import tensorflow as tf

from bert_span.data.call_arguments import type_description
from bert_span.data.preprocessor import cut_question_line
from bert_span.options.messages import shortened
from bert_span.storage.log import log_line

_BATCHES = "batches of (x, y) or (x, y, sample_weight)"
# The key in x of the name of a batch's questions in messages.
_LOCATION = "location"


def checked_questions(
  preprocessor, x, y=None, sample_weight=None, has_labels=True
):
  """Returns `SpanPreprocessor.tensors` of the arguments of `Extractor.fit`.

  Raises ValueError if y is missing and has_labels, or if there is no question.
  """
  if not isinstance(x, dict) or not {"question", "context"} <= x.keys():
    raise ValueError(
      "x must be a dict of question and context, or a tf.data.Dataset of "
      f"{_BATCHES}. Received: {type_description(x)}. For prepared windows, set "
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


def fit_datasets(
  preprocessor,
  x,
  y,
  sample_weight,
  batch_size,
  validation_data,
  validation_split,
  shuffle,
  validation_batch_size,
):
  """Returns the `question_batches` of `Extractor.fit`, and of validation_data.

  The second one is None without validation_data.
  """
  if validation_split:
    raise ValueError(
      "validation_split would put questions about one passage on both sides. "
      "Divide the data by passage, and give validation_data."
    )
  batches = question_batches(
    preprocessor, x, y, sample_weight, batch_size, shuffle
  )
  if validation_data is None:
    return batches, None
  if not isinstance(validation_data, tf.data.Dataset):
    validation_batch_size = validation_batch_size or batch_size
  return batches, question_batches(
    preprocessor,
    *keras.utils.unpack_x_y_sample_weight(validation_data),
    batch_size=validation_batch_size,
    argument="validation_data: ",
  )


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

  Values are checked here, except for those of a dataset that does not know
  whether it ends. They are checked when its batches are read. Messages begin
  with `argument`.
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

  def add_location(number, data):
    x, *labels = keras.utils.unpack_x_y_sample_weight(data)
    prefix = f"{argument}question {{}} of batch "
    location = tf.strings.join([prefix, tf.strings.as_string(number)])
    return {**x, _LOCATION: location}, *labels

  return dataset.enumerate().map(add_location)


def is_question_batch(x):
  """Returns whether x is from a batch of `question_batches`."""
  return isinstance(x, dict) and _LOCATION in x


def _checked_dataset(preprocessor, dataset, has_labels):
  """Returns the dataset, without labels unless `has_labels`."""
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
      location = f"question {{}} of batch {number}"
      data = keras.utils.unpack_x_y_sample_weight(data)
      preprocessor.tensors(*data, location=location)
  return dataset


class BatchReader:
  """Converts `question_batches` to windows while Keras reads them.

  It is a context manager, which raises the ValueError of a wrong batch. Keras
  would raise it as an error of TensorFlow, with the traces of both. At the end
  it logs the questions that max_query_length cuts.
  """

  def __init__(self, preprocessor):
    self._preprocessor = preprocessor
    self.expects_batches = True  # False for a `fit` of no epochs.
    self._num_batches = 0
    self._cut_questions = {}  # an ordered set: bytes -> None
    # By location, because several batches are read at once.
    self._errors = {}

  @tf.autograph.experimental.do_not_convert
  def preprocess(self, x, y=None, sample_weight=None):
    """Returns what the preprocessor returns for a batch."""
    x = dict(x)
    location = x.pop(_LOCATION)
    data = self._preprocessor.tensors(x, y, sample_weight)
    data = tuple(argument for argument in data if argument is not None)

    def examine(location, is_cut, *values):
      x, *labels = tf.nest.pack_sequence_as(data, values)
      location = location.numpy().decode()
      try:
        self._preprocessor.check_rows(x, *labels, location=location)
      except ValueError as error:
        self._errors[len(location), location] = error
        raise
      self._num_batches += 1
      cut_questions = x["question"].numpy()[is_cut.numpy()]
      self._cut_questions.update(dict.fromkeys(cut_questions))
      return True

    is_cut = self._preprocessor.is_cut(data[0]["question"])
    flat = location, is_cut, *tf.nest.flatten(data)
    with tf.control_dependencies([tf.py_function(examine, flat, tf.bool)]):
      return self._preprocessor(*data)

  def __enter__(self):
    return self

  def __exit__(self, error_type, error, trace):
    if self._errors and isinstance(error, tf.errors.OpError):
      raise self._errors[min(self._errors)] from None
    # Without a batch, Keras' predict raises an UnboundLocalError.
    is_empty = self.expects_batches and not self._num_batches
    if is_empty and error_type in (None, UnboundLocalError):
      raise ValueError("The dataset has no questions.") from None
    if self._cut_questions and error is None:
      first = next(iter(self._cut_questions)).decode("utf-8", "replace")
      num_more = len(self._cut_questions) - 1
      options = self._preprocessor.options
      log_line(cut_question_line(options, shortened(first), num_more))
