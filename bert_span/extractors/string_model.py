"""A Keras model that is trained on strings, as KerasHub's tasks are."""

import contextlib
import functools
import math

import keras
import numpy as np
import tensorflow as tf

from bert_span.data.preprocessor import cut_line, kind_of
from bert_span.modeling.losses import check_losses, check_metrics
from bert_span.options.messages import shortened
from bert_span.storage.log import log_line

_BATCHES = "batches of (x, y) or (x, y, sample_weight)"


class StringModel(keras.Model):
  """A model whose preprocessor makes windows of questions and passages.

  A subclass has the attributes `preprocessor`, a `SpanPreprocessor` or None,
  and `logits`, the shapes of its outputs by name, and the methods make_loss(),
  which returns the loss of each output, and prepare_training(), which is called
  before a training.
  """

  def compile(
    self,
    optimizer="auto",
    loss="auto",
    jit_compile=False,
    **kwargs,
  ):
    """As keras.Model.compile.

    Args:
      optimizer: "auto" is Adam with the rate 5e-5, as in KerasHub.
      loss: "auto" is `make_loss`: the `SpanLoss` of both ends, or `BioLoss`.
      jit_compile: XLA compiles a step again for each shape, and the number and
        length of windows vary; so it is off by default.
      **kwargs: of keras.Model.compile. A list of one in metrics is measured for
        each output.

    Raises:
      ValueError: a loss takes probabilities, or a loss or metric of Keras does
        not fit the labels of the preprocessor.
    """
    if optimizer == "auto":
      optimizer = keras.optimizers.Adam(5e-5)
    if loss == "auto":
      loss = self.make_loss()
    check_losses(loss, self.preprocessor and type(self.preprocessor))
    for name in ("metrics", "weighted_metrics"):
      if self.preprocessor is not None:
        check_metrics(kwargs.get(name), type(self.preprocessor))
      kwargs[name] = self._for_each_output(kwargs.get(name))
    self.prepare_training()
    super().compile(optimizer, loss=loss, jit_compile=jit_compile, **kwargs)

  def _for_each_output(self, metrics):
    """A list of one metric as a dict of one for each output."""
    if not isinstance(metrics, list | tuple) or len(metrics) != 1:
      return metrics
    (metric,) = metrics
    outputs = list(self.logits)
    copies = [metric] * len(outputs)
    if isinstance(metric, keras.metrics.Metric):  # An object has one sum.
      try:
        copies = [metric.from_config(metric.get_config()) for _ in copies]
      except TypeError:
        raise ValueError(
          f"metrics: {metric.name} cannot be copied for each output. Give its "
          f"function, or a dict of an object for each of {', '.join(outputs)}."
        ) from None
    return {name: [copy] for name, copy in zip(outputs, copies, strict=True)}

  def compile_from_config(self, config):
    """Compiles a loaded model; Keras leaves out those with a `compile`."""
    self.compile(**keras.saving.deserialize_keras_object(config))
    if self.built:
      self.optimizer.build(self.trainable_variables)

  def __call__(self, *args, **kwargs):
    # As KerasHub's tasks.
    if any(map(_is_text, keras.tree.flatten((args, kwargs)))):
      raise ValueError(
        "A model is called with windows, not with strings. Ask with answer, or "
        "call extractor(extractor.preprocessor(x))."
      )
    return super().__call__(*args, **kwargs)

  def fit(
    self,
    x=None,
    y=None,
    batch_size=None,
    sample_weight=None,
    validation_data=None,
    validation_split=0.0,
    shuffle=True,
    validation_batch_size=None,
    **kwargs,
  ):
    """As keras.Model.fit, on questions and passages.

    Args:
      x: dict of question and context, str [questions]; or a tf.data.Dataset of
        batches of (x, y) or (x, y, sample_weight).
      y: answers, see the preprocessor.
      batch_size: questions in a batch, 32 by default. A long passage adds
        windows to it.
      sample_weight: float [questions].
      validation_data: (x, y), (x, y, sample_weight) or a dataset.
      validation_split, shuffle, validation_batch_size, **kwargs: of
        keras.Model.fit.

    Without a preprocessor x and y are windows and their labels, and
    everything is as in keras.Model.fit.

    Returns:
      Keras' History.

    Raises:
      ValueError: x, y or sample_weight are wrong, with the number of the
        question. A dataset's values are known batch by batch.
    """
    if self.preprocessor is not None:
      if validation_split:
        raise ValueError(
          "validation_split would put questions about one passage on both "
          "sides. Divide by passage, and give validation_data."
        )
      batches = _Batches(self.preprocessor)
      x = batches.windows(
        self._questions(x, y, sample_weight, batch_size, shuffle)
      )
      y, sample_weight = None, None
      shuffle = False  # The questions were shuffled.
      if validation_data is not None:
        size = validation_batch_size
        if not isinstance(validation_data, tf.data.Dataset):
          size = size or batch_size
        parts = keras.utils.unpack_x_y_sample_weight(validation_data)
        place = "validation_data: "
        try:
          questions = self._questions(*parts, size)
        except ValueError as error:
          raise ValueError(f"{place}{error}") from None
        validation_data = batches.windows(questions, place)
      batch_size, validation_batch_size = None, None
    else:
      batches = contextlib.nullcontext()
    with batches:
      history = super().fit(
        x,
        y,
        batch_size=batch_size,
        sample_weight=sample_weight,
        validation_data=validation_data,
        validation_split=validation_split,
        shuffle=shuffle,
        validation_batch_size=validation_batch_size,
        **kwargs,
      )
      if self.preprocessor is not None and not history.epoch:
        batches.are_due = False
    losses = zip(history.epoch, history.history.get("loss", ()), strict=False)
    for epoch, loss in losses:
      if not math.isfinite(loss):
        log_line(
          f"The loss of epoch {epoch + 1} is {loss}; so may be the weights. "
          "Load the model again, and train with a lower learning rate."
        )
        break
    return history

  def evaluate(
    self, x=None, y=None, batch_size=None, sample_weight=None, **kwargs
  ):
    """As keras.Model.evaluate: loss and metrics of windows, see `fit`."""
    batches = contextlib.nullcontext()
    # In `fit`, Keras has the windows of validation_data.
    is_ready = kwargs.get("_use_cached_eval_dataset")
    if self.preprocessor is not None and not is_ready:
      batches = _Batches(self.preprocessor)
      x = batches.windows(self._questions(x, y, sample_weight, batch_size))
      y, sample_weight, batch_size = None, None, None
    with batches:
      return super().evaluate(
        x, y, batch_size=batch_size, sample_weight=sample_weight, **kwargs
      )

  def predict(self, x, batch_size=None, **kwargs):
    """As keras.Model.predict: the logits of windows, see `fit`.

    Returns:
      dict of float32 [windows, max_seq_length, ..]. `window_logits` gives them
      with the windows, and `answer` and `predictions` give answers.
    """
    batches = contextlib.nullcontext()
    if self.preprocessor is not None:
      batches = _Batches(self.preprocessor)
      questions = self._questions(x, batch_size=batch_size, has_labels=False)
      x, batch_size = batches.windows(questions).map(self._padded), None
    with batches:
      return super().predict(x, batch_size=batch_size, **kwargs)

  def train_on_batch(self, x, y=None, sample_weight=None, **kwargs):
    """As keras.Model.train_on_batch, on one batch of `fit`."""
    x, y, sample_weight = self._windows(x, y, sample_weight)
    return super().train_on_batch(x, y, sample_weight, **kwargs)

  def test_on_batch(self, x, y=None, sample_weight=None, **kwargs):
    """As keras.Model.test_on_batch, on one batch of `fit`."""
    x, y, sample_weight = self._windows(x, y, sample_weight)
    return super().test_on_batch(x, y, sample_weight, **kwargs)

  def predict_on_batch(self, x):
    """As keras.Model.predict_on_batch, on one batch of `predict`."""
    if self.preprocessor is not None:
      x = self._padded(self.preprocessor(self._tensors(x, has_labels=False)[0]))
    return super().predict_on_batch(x)

  def _windows(self, x, y, sample_weight):
    if self.preprocessor is None:
      return x, y, sample_weight
    windows = self.preprocessor(*self._tensors(x, y, sample_weight))
    return keras.utils.unpack_x_y_sample_weight(windows)

  def _padded(self, inputs):
    """Windows of max_seq_length, so that logits of batches can be joined."""
    length = self.preprocessor.options.max_seq_length
    missing = length - tf.shape(inputs["token_ids"])[1]
    return {n: tf.pad(v, [[0, 0], [0, missing]]) for n, v in inputs.items()}

  def _tensors(self, x, y=None, sample_weight=None, has_labels=True):
    """See `SpanPreprocessor.tensors`; they are what a model takes."""
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
    x, y, sample_weight = self.preprocessor.tensors(x, y, sample_weight)
    if x["question"].shape[:1] == [0]:
      raise ValueError("x has no questions. Give at least one.")
    return x, y, sample_weight

  def _questions(
    self,
    x,
    y=None,
    sample_weight=None,
    batch_size=None,
    shuffle=False,
    has_labels=True,
  ):
    """A dataset of batches of questions, with what else is given."""
    if isinstance(x, tf.data.Dataset):
      if not y is sample_weight is batch_size is None:
        raise ValueError(
          "With a tf.data.Dataset as x, batch_size, y and sample_weight must "
          f"be None: it has {_BATCHES}."
        )
      spec = x.element_spec
      if isinstance(spec, tuple) and not 1 <= len(spec) <= 3:
        raise ValueError(
          f"The tf.data.Dataset must have {_BATCHES}. Received: tuples of "
          f"{len(spec)}."
        )
      specs = keras.utils.unpack_x_y_sample_weight(spec)
      if has_labels:
        none = tf.type_spec_from_value(None)
        specs = [None if spec == none else spec for spec in specs]
      else:
        specs, x = specs[:1], x.map(lambda *data: data[0])
      self._tensors(*specs, has_labels=has_labels)
      return x
    data = self._tensors(x, y, sample_weight, has_labels)
    dataset = tf.data.Dataset.from_tensor_slices(
      keras.utils.pack_x_y_sample_weight(*data)
    )
    if shuffle:
      dataset = dataset.shuffle(len(dataset))
    return dataset.batch(batch_size or 32)  # as keras.Model.fit


class _Batches:
  """Makes windows of batches of questions while Keras reads them.

  As a context manager it raises what is wrong in them: an error in a dataset
  would reach Keras as one of TensorFlow, with the traces of both. At the end it
  logs the questions that were cut.
  """

  def __init__(self, preprocessor):
    self._preprocessor = preprocessor
    self.are_due = True  # Of no epochs there are none.
    self._num_batches = 0
    self._cut = {}  # questions, each once
    self._errors = {}  # by the number of the batch; several are read at once

  def windows(self, questions, place=""):
    """The dataset of windows of one of questions; `place` names it."""
    convert = functools.partial(self._convert, place)
    return (
      questions.enumerate()
      .map(convert, num_parallel_calls=tf.data.AUTOTUNE)
      .prefetch(tf.data.AUTOTUNE)
    )

  @tf.autograph.experimental.do_not_convert
  def _convert(self, place, number, data):
    data = keras.utils.unpack_x_y_sample_weight(data)
    data = self._preprocessor.tensors(*data)
    data = tuple(part for part in data if part is not None)

    def examine(number, is_cut, *values):
      x, *labels = tf.nest.pack_sequence_as(data, values)
      name = f"{place}question {{}} of batch {number}"
      try:
        self._preprocessor.check_rows(x, *labels, place=name)
      except ValueError as error:
        self._errors[int(number)] = error
        raise
      self._num_batches += 1
      cut = x["question"].numpy()[is_cut.numpy()]
      self._cut.update(dict.fromkeys(cut))
      return number

    is_cut = self._preprocessor.is_cut(data[0]["question"])
    flat = number, is_cut, *tf.nest.flatten(data)
    with tf.control_dependencies([tf.py_function(examine, flat, tf.int64)]):
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


def _is_text(value):
  """Whether a leaf of a call's arguments has strings."""
  if isinstance(value, str | bytes):
    return True
  dtype = getattr(value, "dtype", None)
  if isinstance(dtype, np.dtype):
    return dtype.kind in "OSU"
  return dtype == tf.string
