"""What every extractor is: a KerasHub task on strings that answers."""

import contextlib
import dataclasses
import functools
import math
import os
from typing import ClassVar

import keras
import keras_hub
import numpy as np
import tensorflow as tf

from bert_span.answers import predictions as prediction_lib
from bert_span.answers.answer_graph import AnswerGraph
from bert_span.answers.columns import AnswerColumns
from bert_span.answers.decoding.options import FITTED
from bert_span.answers.window_logits import WindowDecoder, WindowLogits
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.data.window_batches import (
  example_arrays,
  example_batches,
)
from bert_span.extractors.precision import resolve_dtype
from bert_span.extractors.question_batches import (
  BatchReader,
  checked_questions,
  is_of_question_batches,
  question_batches,
)
from bert_span.keras_backend import check_not_forked
from bert_span.modeling.architectures import ARCHITECTURES, architecture_of
from bert_span.modeling.encoder import (
  build_encoder,
  check_not_quantized,
  check_sequence_length,
  encode,
  encoder_config,
  merged_weights,
  pooler_of,
)
from bert_span.modeling.heads import assign_head, named_logits, watch_head
from bert_span.modeling.keras_internals import (
  keras_content,
  load_keras_content,
  sublayers,
  weights_content,
)
from bert_span.modeling.losses import (
  check_losses,
  check_metrics,
  metrics_of_outputs,
)
from bert_span.options.fields import options_from_json
from bert_span.presets import hub, model_directory
from bert_span.presets.encoder_source import EncoderSource
from bert_span.presets.encoder_weights import check_read_back
from bert_span.presets.model_directory import check_folder_name
from bert_span.presets.span_config import TASK_FILE, read_span_config
from bert_span.scoring.calibration import (
  check_calibration,
  fitted_options,
  score_questions,
)
from bert_span.storage.atomic_file import write_bytes
from bert_span.storage.log import log_line
from bert_span.text.options import WindowOptions


class Extractor(keras_hub.models.Task):
  """An encoder with a head, trained on strings, that answers questions.

  `SpanExtractor` and `BioExtractor` are the two of this package;
  `Extractor.from_preset` returns the one of a saved model. Everything in which
  they differ is in their classes. A third one is a subclass, see
  tests/extractors/third_extractor_test.py. It has the attributes below, and
  these methods, which belong to the class:

    make_head(use_bias=True, has_transform=False): a new head, a Keras layer
      whose name ends in "_head"; the arguments are those of a `SpanHead`.
    make_loss(options=None): the keras.losses.Loss of each output, of
      `FineTuningOptions`; its `call` returns losses [windows].

  Args:
    backbone: of `build_encoder`, or a backbone of KerasHub. Its pooler, which
      no logit depends on, becomes untrainable.
    preprocessor: a `preprocessor_class`, which knows vocabulary, case and
      windows; None for a model of prepared windows.
    decoder_options: an `options_type`; None takes its defaults.
    head: the head, a Keras layer; None makes a new one. It answers once
      `head_is_trained`.
    head_bias: whether a new head has a bias, as the original's.
    **kwargs: passed to keras_hub.models.Task. It is not compiled by default.

  Call arguments:
    inputs: dict of token_ids, segment_ids and padding_mask, each int32
      [windows, seq_length]; padding_mask is 1 on WordPieces and 0 on padding.

  Returns:
    dict of float32 logits by the names in `logits`, [windows, seq_length, ..].

  Raises:
    ValueError: the encoder has fewer embeddings than the vocabulary tokens, or
      fewer positions than a window; or the options are those of another head.
  """

  head_name: str  # in --head and task.json
  # The model's outputs: their shapes after [windows, seq_length].
  logits: ClassVar[dict[str, tuple[int, ...]]]
  logits_descriptions: ClassVar[dict[str, str]]  # a sentence about each
  columns: AnswerColumns  # what it answers
  preprocessor_class: type[SpanPreprocessor]
  # A Keras layer of decoding options, with two methods, see `SpanDecoder`.
  decoder_class: type
  # Reads the batches of a running fit, evaluate or predict.
  _reader = None

  def __init__(
    self,
    backbone,
    preprocessor=None,
    decoder_options=None,
    head=None,
    head_bias=True,
    compile=False,
    **kwargs,
  ):
    if head is None:
      has_transform = architecture_of(backbone).head_has_transform
      head = self.make_head(head_bias, has_transform)
    inputs = {
      name: keras.Input((None,), dtype="int32", name=name)
      for name in ("token_ids", "segment_ids", "padding_mask")
    }
    outputs = named_logits(tuple(self.logits), head(encode(backbone, inputs)))
    super().__init__(inputs=inputs, outputs=outputs, compile=False, **kwargs)
    self.backbone = backbone
    self.head = head
    watch_head(head)
    self.follow_encoder()
    options_type = self.decoder_class.options_type
    self.decoder_options = decoder_options or options_type()
    self.preprocessor = preprocessor
    if compile:
      self.compile()

  @classmethod
  def decoder_of(cls, options):
    """The decoder for some options; a ValueError for those of another head."""
    wanted = cls.decoder_class.options_type
    if not isinstance(options, wanted):
      raise ValueError(
        f"decoder_options must be {wanted.__name__} for a model with a "
        f"{cls.head_name} head. Received: {type(options).__name__}."
      )
    return cls.decoder_class(options)

  @keras_hub.models.Task.preprocessor.setter
  def preprocessor(self, preprocessor):
    if preprocessor is not None:
      check_sequence_length(self.backbone, preprocessor.options.max_seq_length)
      rows = encoder_config(self.backbone).vocabulary_size
      tokens = preprocessor.tokenizer.vocabulary_size()
      if tokens > rows:
        raise ValueError(
          f"The vocabulary has {tokens} tokens but the encoder only {rows} "
          "embeddings. Use the vocabulary that belongs to the checkpoint."
        )
    self._set_untracked(_preprocessor=preprocessor)

  @property
  def decoder_options(self):
    return self._decoder_options

  @decoder_options.setter
  def decoder_options(self, options):
    self.decoder_of(options)
    self._set_untracked(_decoder_options=options)

  def _set_untracked(self, **values):
    """Sets what answers depend on, and forgets what was made of it.

    Keras does not track what is in __dict__: it has no weights of its own, and
    the graph's variables are the model's.
    """
    self.__dict__.update(values)
    for name in ("graph", "_decoder"):
      self.__dict__.pop(name, None)

  @property
  def head_is_trained(self):
    """Whether the head may answer: a new one answers at random.

    It is True for a head that was loaded, trained by Keras or `fine_tune`, or
    whose weights were assigned. After a training loop of your own, set it.
    Copies, files and models that share the head have it, too.
    """
    return self.head.is_trained

  @head_is_trained.setter
  def head_is_trained(self, is_trained):
    self.head.is_trained = self.head.trained_once_assigned = is_trained

  def check_trained(self):
    """Raises ValueError if the head is new: its answers would be random."""
    if not self.head_is_trained:
      raise ValueError(
        f"The {self.head_name} head is new, so its answers would be random. "
        "Train it first: fit, bert_span.fine_tune, or bert_span.run_squad "
        "--preset. After a training loop of your own, set "
        "extractor.head_is_trained = True."
      )

  def save_own_variables(self, store):
    store["head_is_trained"] = np.array(self.head_is_trained)

  def load_own_variables(self, store):
    self.head_is_trained = bool(store["head_is_trained"])

  def make_train_function(self, force=False):
    """As keras.Model's, for `fit` and `train_on_batch`; see `note_training`."""
    is_made = self.train_function is not None and not force
    super().make_train_function(force)
    if is_made:
      return
    step = self.train_function

    def train_function(data):
      logs = step(data)
      self.note_training()
      return logs

    self.train_function = train_function

  def note_training(self, clears_fitted=True):
    """Notes that weights were trained: what was fitted to the old is reset.

    Temperature, shift and null threshold get their defaults, as in run_squad.
    """
    self.head_is_trained = True
    names = {field.name for field in dataclasses.fields(self.decoder_options)}
    defaults = type(self.decoder_options)()
    fitted = {name: getattr(defaults, name) for name in FITTED if name in names}
    options = dataclasses.replace(self.decoder_options, **fitted)
    if clears_fitted and options != self.decoder_options:
      log_line(
        f"{', '.join(fitted)} of decoder_options are reset: they were fitted "
        "to other weights. Fit them again: extractor.calibrate, or "
        "bert_span.calibrate."
      )
      self.decoder_options = options

  def follow_encoder(self):
    """Freezes the pooler, and has answers follow layers that got LoRA."""
    check_not_quantized(self)
    if pooler := pooler_of(self.backbone):
      pooler.trainable = False
    self._set_untracked()

  @property
  def window_options(self):
    """The `WindowOptions` of the preprocessor."""
    return self.preprocessor.options

  # Training and windows' logits, as Keras.

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
      kwargs[name] = metrics_of_outputs(kwargs.get(name), list(self.logits))
    self.follow_encoder()
    super().compile(optimizer, loss=loss, jit_compile=jit_compile, **kwargs)

  def compile_from_config(self, config):
    """Compiles a loaded model; Keras leaves out those with a `compile`."""
    self.compile(**keras.saving.deserialize_keras_object(config))
    if self.built:
      self.optimizer.build(self.trainable_variables)

  def preprocess_samples(self, x, y=None, sample_weight=None):
    """Returns the windows of a batch of questions, see keras_hub.models.Task.

    Without y they have max_seq_length, so that the logits of several batches
    can be joined.
    """
    if self.preprocessor is None:
      return super().preprocess_samples(x, y, sample_weight)
    if is_of_question_batches(x):
      data = self._reader.windows(x, y, sample_weight)
    else:
      data = checked_questions(
        self.preprocessor, x, y, sample_weight, has_labels=y is not None
      )
      data = self.preprocessor(*data)
    if y is not None:
      return data
    length = self.window_options.max_seq_length
    missing = length - tf.shape(data["token_ids"])[1]
    return {n: tf.pad(v, [[0, 0], [0, missing]]) for n, v in data.items()}

  @contextlib.contextmanager
  def _reading(self):
    """Makes a `BatchReader` the one of `preprocess_samples`."""
    before, reader = self._reader, BatchReader(self.preprocessor)
    self._reader = reader
    try:
      with reader:
        yield reader
    finally:
      self._reader = before

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
    """As keras_hub.models.Task.fit, on questions and passages.

    Questions are shuffled, not windows.

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
        question, before the first step. A dataset is read once more for it. If
        it does not say how many batches it has (one of a generator), its values
        are checked batch by batch.
    """
    data = {"x": x, "y": y, "sample_weight": sample_weight}
    if self.preprocessor is None:
      # KerasHub's own does not shuffle.
      history = keras.Model.fit(
        self,
        **data,
        batch_size=batch_size,
        validation_data=validation_data,
        validation_split=validation_split,
        shuffle=shuffle,
        validation_batch_size=validation_batch_size,
        **kwargs,
      )
    else:
      if validation_split:
        raise ValueError(
          "validation_split would put questions about one passage on both "
          "sides. Divide by passage, and give validation_data."
        )
      batches = functools.partial(question_batches, self.preprocessor)
      x = batches(**data, batch_size=batch_size, shuffle=shuffle)
      if validation_data is not None:
        size = validation_batch_size
        if not isinstance(validation_data, tf.data.Dataset):
          size = size or batch_size
        parts = keras.utils.unpack_x_y_sample_weight(validation_data)
        validation_data = batches(
          *parts, batch_size=size, argument="validation_data: "
        )
      with self._reading() as reader:
        # The questions were shuffled.
        history = super().fit(
          x, validation_data=validation_data, shuffle=False, **kwargs
        )
        reader.are_due = bool(history.epoch)
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
    # In `fit`, Keras has the windows of validation_data.
    is_ready = kwargs.get("_use_cached_eval_dataset")
    if self.preprocessor is None or is_ready:
      return super().evaluate(x, y, batch_size, sample_weight, **kwargs)
    x = question_batches(self.preprocessor, x, y, sample_weight, batch_size)
    with self._reading():
      return super().evaluate(x, **kwargs)

  def predict(self, x, batch_size=None, **kwargs):
    """As keras.Model.predict: the logits of windows, see `fit`.

    Returns:
      dict of float32 [windows, max_seq_length, ..]. `window_logits` gives them
      with the windows, and `answer` and `predictions` give answers.
    """
    if self.preprocessor is None:
      return super().predict(x, batch_size, **kwargs)
    x = question_batches(
      self.preprocessor, x, batch_size=batch_size, has_labels=False
    )
    with self._reading():
      return super().predict(x, **kwargs)

  # KerasHub's two take the labels of one output alone.
  def train_on_batch(self, x, y=None, sample_weight=None, **kwargs):
    """As keras.Model.train_on_batch, on one batch of `fit`."""
    data = self._single_batch(x, y, sample_weight)
    return keras.Model.train_on_batch(self, *data, **kwargs)

  def test_on_batch(self, x, y=None, sample_weight=None, **kwargs):
    """As keras.Model.test_on_batch, on one batch of `fit`."""
    data = self._single_batch(x, y, sample_weight)
    return keras.Model.test_on_batch(self, *data, **kwargs)

  def _single_batch(self, x, y, sample_weight):
    if self.preprocessor is not None:
      checked_questions(self.preprocessor, x, y, sample_weight)
    data = self.preprocess_samples(x, y, sample_weight)
    return keras.utils.unpack_x_y_sample_weight(data)

  # Answers.

  def answer(self, question, context, n_best=1):
    """Answers one question, or several.

    Args:
      question: str, or a list of str.
      context: str, the passage of all questions, or a list of as many str.
      n_best: answers for each question; of a B/I/O head its spans with the
        best scores.

    Returns:
      For one question an `Answer`, or with n_best above 1 a list of `Answer`,
      by score; for a list of questions a list of these. Only n_best=1 decides
      whether there is an answer: it applies the null threshold.

    Raises:
      ValueError: questions and passages do not match, n_best is above the
        decoder's n_best_size, or the head was never trained.
    """
    return prediction_lib.answer(
      self.predictions, self.decoder_options, question, context, n_best
    )

  def answers(self, question, context):
    """The answer to one question, or to several, as a list of spans.

    A B/I/O head finds any number of spans, a span head one at most.

    Args:
      question, context: see `answer`.

    Returns:
      For one question a list of `Answer` in order of position, [] for "no
      answer"; for a list of questions a list of these.
    """
    return prediction_lib.answers(self.predictions, question, context)

  def predictions(self, examples, batch_size=None, graph=None):
    """Answers many questions.

    Args:
      examples: sequence of `SquadExample`.
      batch_size: windows that the model reads at once at most; None takes the
        max_windows_per_step of `StepOptions`.
      graph: an `AnswerGraph` of `make_graph`; None for the model's own.

    Yields:
      `Prediction`s, in the order of `examples`.
    """
    graph = graph or self.graph
    for batch in example_batches(examples):
      columns = graph.answer(*self._arguments(batch, batch_size))
      yield from prediction_lib.predictions_of(self.columns, batch, columns)

  def window_logits(self, examples, batch_size=None):
    """Yields the `WindowLogits` of examples, batch by batch; see `decode`."""
    for batch in example_batches(examples):
      tables = self.graph.window_logits(*self._arguments(batch, batch_size))
      windows, logits = (
        {name: np.asarray(values) for name, values in table.items()}
        for table in tables
      )
      yield WindowLogits(batch, windows, logits)

  def decode(self, window_logits):
    """The list of `Prediction` of one `WindowLogits`."""
    return self._decoder(window_logits)

  def calibrate(
    self,
    examples,
    target_answered=None,
    target_precision=None,
    batch_size=None,
  ):
    """Fits probabilities and the null threshold to labelled questions.

    The model then has the fitted temperature, log_odds_shift and, with
    version_2_with_negative, null_score_diff_threshold as its decoder_options,
    and `save_to_preset` keeps them. Training resets them.

    Example:

    ```python
    extractor.calibrate(examples, target_answered=0.95)
    extractor.save_to_preset("calibrated")
    ```

    Args:
      examples: sequence of `SquadExample`, on which the model was neither
        trained nor selected; a thousand or more.
      target_answered: share of the answerable questions that must get an
        answer, from 0 to 1.
      target_precision: share of the given answers that must be exact matches,
        from 0 to 1; without a target the threshold has the best F1.
      batch_size: see `predictions`.

    Returns:
      The fitted `DecoderOptions`.

    Raises:
      ValueError: the head is no span head or was never trained, no question
        has an answer, some have none and version_2_with_negative is False, or
        no threshold reaches the target. The model is not changed.
    """
    options = self.decoder_options
    check_calibration(type(self), options, target_precision, target_answered)
    self.check_preprocessor()
    self.check_trained()
    scored = score_questions(self, examples, batch_size)
    self.decoder_options = fitted_options(
      scored, options, target_precision, target_answered
    )
    return self.decoder_options

  def make_graph(self, steps=None, on_windows=None):
    """The `AnswerGraph` with `StepOptions` and a callback of `WindowSteps`."""
    self.check_preprocessor()
    self.check_trained()
    return AnswerGraph(self, steps, on_windows)

  @functools.cached_property
  def graph(self):
    """The `AnswerGraph` of `predictions`, made when it is needed first."""
    return self.make_graph()

  @functools.cached_property
  def _decoder(self):
    return WindowDecoder(type(self), self.decoder_options)

  def _arguments(self, batch, batch_size):
    """The arguments of the graph's functions."""
    if batch_size is None:
      batch_size = self.graph.steps.max_windows_per_step
    if batch_size < 1:
      raise ValueError(f"batch_size must be at least 1. Received: {batch_size}")
    arrays = example_arrays(batch)
    return (
      tf.constant(arrays["question"], tf.string),
      tf.constant(arrays["context"], tf.string),
      tf.constant(batch_size),
    )

  # Files.

  @classmethod
  def from_preset(
    cls,
    preset,
    window_options=None,
    decoder_options=None,
    fixed_length=False,
    verify=True,
    dtype="float32",
    **options,
  ):
    """Loads a trained model, or an encoder with a new head.

    Args:
      preset: "minilm_squad", the model that comes with the package; a
        directory that `save_to_preset` or run_squad wrote; a Hugging Face
        directory; a name on a hub, "hf://owner/name" or
        "hf://owner/name@revision", of such a directory; a name or a directory
        of KerasHub; or an `EncoderSource`, for instance of a TensorFlow 1
        checkpoint.
      window_options, decoder_options: None takes the saved ones.
      fixed_length: see pad_to_max of `SpanPreprocessor`.
      verify: compare the files with the checksums they were saved with.
      dtype: of the encoder's weights and products: "float32"; "bfloat16" or
        "float16", for a model that answers and is not trained; or "auto",
        bfloat16 where this machine is faster with it, see `resolve_dtype`.
        Softmax and head compute in float32.
      **options: single options that differ, such as max_seq_length=384.

    Returns:
      An extractor of the class for the head that was saved, which is this one
      or a subclass. An encoder without such a head gets a new one, with
      `Extractor` that of a `SpanExtractor`; `answer` refuses it until it was
      trained.

    Raises:
      ValueError: there is no such model, it is damaged or has another head, or
        an option is unknown.
    """
    if not preset:
      raise ValueError(f"preset must name a model. Received: {preset!r}.")
    source, dtype = preset, resolve_dtype(dtype)
    if not isinstance(preset, EncoderSource):
      source = EncoderSource(preset=os.fspath(preset), verify=verify)
    if source.preset:
      source = dataclasses.replace(source, preset=hub.fetch(source.preset))
    config = (source.preset and read_span_config(source.preset)) or {}
    kind = cls._class_of(config, preset)
    window = window_options or WindowOptions(**config.get("window", {}))
    decoder = decoder_options or options_from_json(
      kind.decoder_class.options_type,
      config.get("decoder", {}),
      f"{source.preset}/{TASK_FILE}, decoder_options",
    )
    window, decoder = _with_options(options, window, decoder)
    loaded = source.load()
    extractor = kind.from_loaded(
      loaded,
      loaded.vocabulary(source.vocab_file),
      config.get("do_lower_case", source.lower_case(loaded)),
      window,
      decoder,
      fixed_length,
    )
    if not extractor.head_is_trained:
      log_line(f"{loaded.description} has no {kind.head_name} head: a new one.")
    if dtype != "float32":
      return extractor.with_encoder_dtype(dtype)
    return extractor

  @classmethod
  def _class_of(cls, config, preset):
    """The class of a model with a `read_span_config`, {} for a new head."""
    if not config:
      # The original's head, if no class says which.
      return cls if hasattr(cls, "head_name") else extractor_class("span")
    kind = extractor_class(config["head"], f"{preset}, {TASK_FILE}")
    if getattr(cls, "head_name", None) == kind.head_name:
      return cls
    if not issubclass(kind, cls):
      raise ValueError(
        f"{preset} has a {kind.head_name} head, and {cls.__name__} has a "
        f"{cls.head_name} head. Load it with {kind.__name__}.from_preset, or "
        "with Extractor.from_preset."
      )
    return kind

  @classmethod
  def from_loaded(
    cls,
    loaded,
    vocabulary,
    lower_case,
    window_options,
    decoder_options,
    fixed_length=False,
    head_bias=True,
  ):
    """An extractor of a `LoadedPreset`, with its trained or a new head."""
    preprocessor = cls.preprocessor_class(
      vocabulary, lower_case, window_options, pad_to_max=fixed_length
    )
    tensors = cls.head_tensors(loaded)
    head = None
    if tensors:
      head = cls.make_head("bias" in tensors, "transform_kernel" in tensors)
    extractor = cls(
      loaded.backbone, preprocessor, decoder_options, head, head_bias
    )
    if tensors:
      assign_head(extractor.head, tensors)
      extractor.head_is_trained = True
    return extractor

  @classmethod
  def head_tensors(cls, loaded):
    """The dict of the trained head's weights in a `LoadedPreset`, or None."""
    return loaded.head_weights.get(cls.make_head().name)

  def save_to_preset(self, preset_dir, selection=None, half_precision=False):
    """Writes the model as one directory, on a local disk whole or not at all.

    It is a directory of KerasHub: metadata.json, config.json and
    model.weights.h5 of the encoder, task.json with the decoding options,
    task.weights.h5 of the head unless it is new, preprocessor.json with the
    window options, tokenizer.json and assets. checksums.json is ours, and so is
    README.md, for a hub, unless a person wrote or edited it. An old model is
    replaced; other files in its directory stay. On a remote file system
    (gs://...) files are replaced one by one, task.json last.

    Args:
      preset_dir: a local path or one of tf.io.gfile.
      selection: how the model was selected, for `write_selection`.
      half_precision: write the encoder's weights as float16, half as many
        bytes; they are read as float32.

    Raises:
      ValueError: the directory holds no model, or a weight exceeds float16.
    """
    self.check_preprocessor()
    model_directory.save_model(self, preset_dir, selection, half_precision)

  def save(self, filepath, overwrite=True, zipped=None):
    """As keras.Model.save; writes a .keras file whole or not at all.

    The file is read back before it replaces an old one; with zipped=False it is
    a folder. keras.saving.save_model does not ask the model: it writes into an
    old file.
    """
    path = os.fspath(filepath)
    is_folder = zipped is False and not path.startswith("hf://")
    if is_folder == path.endswith(".keras"):  # Keras uploads it, or refuses.
      check_folder_name(path)
      super().save(filepath, overwrite, zipped)
      return
    _check_overwrite(path, overwrite)
    content = keras_content(self)
    classes = [type(part) for part in (self, self.head, self.preprocessor)]
    objects = {each.__name__: each for each in classes}
    read = load_keras_content(content, objects).weights
    read = {weight.path: np.array(weight) for weight in read}
    check_read_back(merged_weights(self), read, path)
    if is_folder:
      model_directory.write_keras_folder(path, content)
    else:
      write_bytes(path, content)

  def save_weights(self, filepath, overwrite=True, max_shard_size=None):
    """As keras.Model.save_weights; one file is written whole or not at all."""
    check_not_quantized(self)
    path = os.fspath(filepath)
    if max_shard_size is not None or not path.endswith(".weights.h5"):
      super().save_weights(filepath, overwrite, max_shard_size)
      return
    _check_overwrite(path, overwrite)
    write_bytes(path, weights_content(self))

  def export(self, path, format=None, source=None, proof="short", **options):
    """Writes the model for a server or for devices, and checks the result.

    Args:
      path: a file that ends with .tflite, for devices; else the folder of all
        versions of a served model, which gets the next version.
      format: "tf_saved_model", for TensorFlow Serving, or "litert", TFLite;
        None takes that of the path.
      source: name or directory of the model, such as "minilm_squad", whose
        card, licence and scores the export quotes.
      proof: "short" or "full": on how many questions what was written is
        compared with the model, some 20 or 220 windows.
      **options: of `export_saved_model`: version, steps, dtype, with_warmup; or
        of `TFLiteOptions`: quantization, dynamic_length, ...

    Returns:
      The path of the version, or of the file.

    Raises:
      ValueError: format and path do not fit, or a check failed; nothing is
        written.
    """
    # Rooms after this one, which import it; as keras.Model.export does.
    from bert_span.serving import export as serving_export
    from bert_span.tflite import export as tflite_export

    check_not_forked()
    self.check_preprocessor()
    self.check_trained()
    ending = os.path.splitext(os.fspath(path))[1].lower()
    of_ending = {".tflite": "litert", ".onnx": "onnx"}
    format = format or of_ending.get(ending, "tf_saved_model")
    if format not in ("tf_saved_model", "litert"):
      raise ValueError(
        f"format must be tf_saved_model or litert. Received: {format!r}. For "
        "ONNX, which takes windows and no strings, docs/integrations.md has "
        "the recipe: keras.Model(extractor.input, extractor.output).export("
        '"qa.onnx", format="onnx").'
      )
    if (format == "litert") != (ending == ".tflite"):
      raise ValueError(
        f"{path} is no name for format={format!r}: that of a litert file ends "
        "with .tflite, and no other name does. Leave format out, or rename it."
      )
    if format == "tf_saved_model":
      return serving_export.export_saved_model(
        self, path, source=source, proof=proof, **options
      )[0]
    options = tflite_export.TFLiteOptions(**options)
    tflite_export.export_tflite(self, path, options, source=source, proof=proof)
    return path

  def check_preprocessor(self):
    """Raises ValueError if there is none: strings are not understood."""
    if self.preprocessor is None:
      raise ValueError(
        "A model without a preprocessor takes no strings. Set preprocessor."
      )

  def quantize(self, *args, **kwargs):
    """Raises ValueError: only files for devices are quantized."""
    raise ValueError(
      'quantize is not supported. extractor.export("qa.tflite", '
      'quantization="dynamic") writes a file with weights of 8 bits.'
    )

  def with_encoder_dtype(self, dtype):
    """A copy whose encoder computes in "bfloat16" or "float16".

    Its softmax, which sums over hundreds of positions, and the head compute in
    float32.
    """
    backbone = build_encoder(encoder_config(self.backbone), dtype)
    for softmax in sublayers(backbone, keras.layers.Softmax):
      softmax.dtype_policy = keras.DTypePolicy("float32")
    head = type(self.head).from_config(self.head.get_config())
    copy = type(self)(backbone, self.preprocessor, self.decoder_options, head)
    values = [value for _, value in merged_weights(self.backbone)]
    copy.backbone.set_weights(values)
    copy.head.set_weights(self.head.get_weights())
    copy.head_is_trained = self.head_is_trained
    return copy

  def get_config(self):
    preprocessor = self.preprocessor
    return {
      "name": self.name,
      "trainable": self.trainable,
      "encoder": dataclasses.asdict(encoder_config(self.backbone)),
      "dtype": self.backbone.dtype_policy.name,
      "frozen_layers": [
        layer.path for layer in sublayers(self.backbone) if not layer.trainable
      ],
      "preprocessor": preprocessor
      and keras.saving.serialize_keras_object(preprocessor),
      "decoder_options": dataclasses.asdict(self.decoder_options),
      "head_name": self.head_name,
      "head": keras.saving.serialize_keras_object(self.head),
      "head_is_trained": self.head_is_trained,
    }

  @classmethod
  def from_config(cls, config, custom_objects=None):
    preprocessor, head = (
      config[name]
      and keras.saving.deserialize_keras_object(config[name], custom_objects)
      for name in ("preprocessor", "head")
    )
    encoder = config["encoder"]
    config_type = ARCHITECTURES[encoder["architecture"]].config
    backbone = build_encoder(config_type(**encoder), config["dtype"])
    for layer in sublayers(backbone):  # The inner ones last.
      layer.trainable = layer.path not in config["frozen_layers"]
    extractor = cls(
      backbone,
      preprocessor,
      cls.decoder_class.options_type(**config["decoder_options"]),
      head,
      name=config["name"],
      trainable=config["trainable"],
    )
    # Its weights are random until those of the file, or others, are set.
    extractor.head.trained_once_assigned = config["head_is_trained"]
    return extractor


def extractor_class(name, source="`head`"):
  """Returns the extractor class for a head name."""
  # Defines the classes of this package, which import this module.
  from bert_span.extractors import bio_extractor, span_extractor  # noqa: F401

  classes = extractor_classes()
  if name not in classes:
    raise ValueError(
      f"{source}: the head {name!r} is not known to this version of bert_span, "
      f"which has {' and '.join(map(repr, classes))}. Update bert_span, or "
      "import the class of the extractor that the model was trained with."
    )
  return classes[name]


def extractor_classes():
  """Dict of the names of heads to the classes that were defined so far."""
  classes, waiting = {}, Extractor.__subclasses__()
  while waiting:
    kind = waiting.pop(0)
    classes.setdefault(kind.head_name, kind)
    waiting += kind.__subclasses__()
  return classes


def _check_overwrite(path, overwrite):
  if not overwrite and os.path.exists(path):
    raise ValueError(
      f"{path} exists. Give another path, or overwrite=True to replace it."
    )


def _with_options(values, *options):
  """Returns copies of the dataclasses with the named fields replaced."""
  fields = [{f.name for f in dataclasses.fields(each)} for each in options]
  unknown = values.keys() - set().union(*fields)
  if unknown:
    raise ValueError(
      f"There is no option {', '.join(sorted(unknown))}; there are "
      f"{', '.join(sorted(set().union(*fields)))}."
    )
  return [
    each.replaced(**{name: values[name] for name in names & values.keys()})
    for each, names in zip(options, fields, strict=True)
  ]
