"""A Keras model that is trained on strings, as KerasHub's tasks are."""

import keras
import tensorflow as tf

from bert_span.data.window_batches import text_tensor


class StringModel(keras.Model):
  """A model whose preprocessor makes windows of questions and passages.

  A subclass has the attribute `preprocessor`, a `SpanPreprocessor` or None, and
  the methods make_loss(), which returns the loss of each output, and
  prepare_training(), which is called before a training.
  """

  def compile(self, optimizer="auto", loss="auto", jit_compile=False, **kwargs):
    """As keras.Model.compile.

    Args:
      optimizer: "auto" is Adam with the rate 5e-5, as in KerasHub.
      loss: "auto" is `make_loss`: the `SpanLoss` of both ends, or `BioLoss`.
      jit_compile: XLA compiles a step again for each shape, and the number and
        length of windows vary; so it is off by default.
      **kwargs: of keras.Model.compile.
    """
    if optimizer == "auto":
      optimizer = keras.optimizers.Adam(5e-5)
    if loss == "auto":
      loss = self.make_loss()
    self.prepare_training()
    super().compile(optimizer, loss=loss, jit_compile=jit_compile, **kwargs)

  def compile_from_config(self, config):
    """Compiles a loaded model; Keras leaves out those with a `compile`."""
    self.compile(**keras.saving.deserialize_keras_object(config))
    if self.built:
      self.optimizer.build(self.trainable_variables)

  def fit(
    self,
    x=None,
    y=None,
    batch_size=None,
    sample_weight=None,
    validation_data=None,
    validation_split=0.0,
    shuffle=True,
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
      validation_split, shuffle, **kwargs: of keras.Model.fit.

    Without a preprocessor x and y are windows and their labels, and
    everything is as in keras.Model.fit.

    Returns:
      Keras' History.
    """
    if self.preprocessor is not None:
      if validation_split:
        raise ValueError(
          "validation_split would put questions about one passage on both "
          "sides. Divide by passage, and give validation_data."
        )
      x = self._question_batches(x, y, sample_weight, batch_size, shuffle)
      x, y, sample_weight = self._window_batches(x), None, None
      shuffle = False  # The questions were shuffled.
      if validation_data is not None:
        parts = keras.utils.unpack_x_y_sample_weight(validation_data)
        size = kwargs.get("validation_batch_size") or batch_size
        # Keras hands it to `evaluate`, which makes the windows.
        validation_data = self._question_batches(*parts, size)
      batch_size = None
    return super().fit(
      x,
      y,
      batch_size=batch_size,
      sample_weight=sample_weight,
      validation_data=validation_data,
      validation_split=validation_split,
      shuffle=shuffle,
      **kwargs,
    )

  def evaluate(
    self, x=None, y=None, batch_size=None, sample_weight=None, **kwargs
  ):
    """As keras.Model.evaluate: loss and metrics of windows, see `fit`."""
    if self.preprocessor is not None:
      # In `fit`, Keras would keep the questions of the first epoch.
      kwargs.pop("_use_cached_eval_dataset", None)
      x = self._question_batches(x, y, sample_weight, batch_size)
      x, y, sample_weight = self._window_batches(x), None, None
      batch_size = None
    return super().evaluate(
      x, y, batch_size=batch_size, sample_weight=sample_weight, **kwargs
    )

  def predict(self, x, batch_size=None, **kwargs):
    """As keras.Model.predict: the logits of windows, see `fit`.

    Returns:
      dict of float32 [windows, max_seq_length, ..]. `window_logits` gives them
      with the windows, and `answer` and `predictions` give answers.
    """
    if self.preprocessor is not None:
      length = self.preprocessor.options.max_seq_length

      def padded(questions, *unused_labels):
        inputs = self.preprocessor(questions)
        missing = length - tf.shape(inputs["token_ids"])[1]
        return {n: tf.pad(v, [[0, 0], [0, missing]]) for n, v in inputs.items()}

      x = self._question_batches(x, batch_size=batch_size).map(padded)
      batch_size = None
    return super().predict(x, batch_size=batch_size, **kwargs)

  def _question_batches(
    self, x, y=None, sample_weight=None, batch_size=None, shuffle=False
  ):
    """A dataset of batches of questions, with what else is given."""
    if isinstance(x, tf.data.Dataset):
      if y is not None or sample_weight is not None:
        raise ValueError(
          "With a tf.data.Dataset as x, y and sample_weight must be None: its "
          "batches are (x, y) or (x, y, sample_weight)."
        )
      return x
    if not isinstance(x, dict) or not {"question", "context"} <= x.keys():
      raise ValueError(
        "x must be a dict of question and context, or a tf.data.Dataset of "
        f"batches. Received: {type(x).__name__}. For prepared windows, set "
        "preprocessor to None."
      )
    data = {name: text_tensor(x[name]) for name in ("question", "context")}
    if y is not None:
      data = data, self.preprocessor.label_tensors(y)
      if sample_weight is not None:
        data = *data, tf.constant(sample_weight, tf.float32)
    sizes = {part.shape[0] for part in tf.nest.flatten(data)}
    if len(sizes) > 1:
      raise ValueError(
        "x, y and sample_weight must have as many questions, passages, answers "
        f"and weights. Received: {', '.join(map(str, sorted(sizes)))}."
      )
    dataset = tf.data.Dataset.from_tensor_slices(data)
    if shuffle:
      dataset = dataset.shuffle(max(len(dataset), 1))
    return dataset.batch(batch_size or 32)  # as keras.Model.fit

  def _window_batches(self, questions):
    """The dataset of their windows, as the preprocessor makes them."""
    return questions.map(
      lambda *data: self.preprocessor(*data),
      num_parallel_calls=tf.data.AUTOTUNE,
    ).prefetch(tf.data.AUTOTUNE)
