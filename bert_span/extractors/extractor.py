"""The base class of extractors: a KerasHub task that answers questions."""

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
from bert_span.data.window_batches import example_batches
from bert_span.extractors import keras_files
from bert_span.extractors.compile_arguments import (
  check_losses,
  check_metrics,
  metrics_of_outputs,
)
from bert_span.extractors.preset_loader import load_preset
from bert_span.extractors.question_batches import (
  BatchReader,
  checked_questions,
  fit_datasets,
  is_question_batch,
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
  pooler_of,
)
from bert_span.modeling.heads import named_logits, watch_head
from bert_span.modeling.keras_internals import lora_products, sublayers
from bert_span.presets import model_directory
from bert_span.presets.load_pretrained import PRESETS
from bert_span.scoring.calibration import (
  check_calibration,
  fitted_options,
  score_questions,
)
from bert_span.scoring.squad_scores import (
  evaluate_multi_span,
  evaluate_squad1,
  evaluate_squad2,
)
from bert_span.storage.log import log_line


class Extractor(keras_hub.models.Task):
  """An encoder with a head, trained on strings, that answers questions.

  Its subclasses in this package are `SpanExtractor` and `BioExtractor`; all
  their differences are in these classes. `Extractor.from_preset` returns an
  object of the class that was saved. tests/third_extractor_test.py shows a
  third subclass. It has the class attributes below and two static or class
  methods:

    make_head(use_bias=True, has_transform=False): returns a new head, a Keras
      layer whose name ends in "_head"; the arguments are those of a `SpanHead`.
    make_loss(options=None): returns the keras.losses.Loss of each output, from
      `FineTuningOptions`; its `call` returns losses [windows].

  Args:
    backbone: a backbone of `build_encoder` or of KerasHub. Its pooler, which no
      logit depends on, becomes untrainable.
    preprocessor: a `preprocessor_class`, with vocabulary, case and windows;
      None for a model of prepared windows.
    decoder_options: an `options_type` of the `decoder_class`; None takes its
      defaults.
    head: a Keras layer; None makes a new one. It answers once
      `head_is_trained`.
    head_bias: whether a new head has a bias, as the original's.
    compile: whether to compile with the defaults of `compile`.
    **kwargs: passed to keras_hub.models.Task.

  Call arguments:
    inputs: dict of token_ids, segment_ids and padding_mask, each int32
      [windows, seq_length]; padding_mask is 1 on WordPieces and 0 on padding.

  Returns:
    dict of float32 logits by the names in `logits`, [windows, seq_length, ..].

  Raises:
    ValueError: the vocabulary has more tokens than the encoder has embeddings,
      or windows have more WordPieces than it has positions; or decoder_options
      are those of another head.
  """

  head_name: str  # the `head` of options, and head_name in task.json
  # The names of the model's outputs: their shapes after [windows, seq_length].
  logits: ClassVar[dict[str, tuple[int, ...]]]
  logits_descriptions: ClassVar[dict[str, str]]  # what each output is
  columns: AnswerColumns  # what an answer consists of
  preprocessor_class: type[SpanPreprocessor]
  # A Keras layer of decoding options, with two methods, see `SpanDecoder`.
  decoder_class: type
  # The names that `from_preset` takes, as in KerasHub; paths and names on hubs
  # come in addition.
  presets: ClassVar = PRESETS
  # The `BatchReader` of a running fit, evaluate or predict.
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
    """Returns the decoder of options; ValueError for those of another head."""
    options_type = cls.decoder_class.options_type
    if not isinstance(options, options_type):
      raise ValueError(
        f"decoder_options must be {options_type.__name__} for a model with a "
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
    """Sets attributes that answers depend on, and drops the answer graph.

    They are set in __dict__, so that Keras does not track them: they have no
    weights but the model's.
    """
    self.__dict__.update(values)
    for name in ("graph", "_decoder"):
      self.__dict__.pop(name, None)

  @property
  def head_is_trained(self):
    """Whether the head was trained: the answers of a new one are random.

    It is True for a head that was loaded, that Keras or `fine_tune` trained, or
    whose weights were assigned. After a training loop of your own, set it to
    True. Copies, files and models that share the head have the same value.
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
        "Train it first by fit, bert_span.fine_tune or bert_span.run_squad. "
        "After a training loop of your own, set extractor.head_is_trained = "
        "True."
      )

  def save_own_variables(self, store):
    store["head_is_trained"] = np.array(self.head_is_trained)

  def load_own_variables(self, store):
    self.head_is_trained = bool(store["head_is_trained"])

  def make_train_function(self, force=False):
    """As in keras.Model; each step of `fit` also calls `note_training`."""
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
    """Notes that the weights have changed.

    The head is trained now. `clears_fitted` resets the temperature, shift and
    null threshold, which were fitted to the old weights, to their defaults.
    """
    self.head_is_trained = True
    options, defaults = self.decoder_options, type(self.decoder_options)()
    names = [
      name
      for name in FITTED
      if getattr(options, name, None) != getattr(defaults, name, None)
    ]
    if clears_fitted and names:
      values = ", ".join(f"{name}={getattr(options, name)}" for name in names)
      log_line(
        f"Reset to the defaults, as it was fitted to other weights: {values}. "
        "Fit it again by extractor.calibrate or bert_span.calibrate."
      )
      fitted = {name: getattr(defaults, name) for name in names}
      self.decoder_options = dataclasses.replace(options, **fitted)

  def follow_encoder(self):
    """Freezes the pooler, and makes answers follow layers that got LoRA."""
    check_not_quantized(self)
    if pooler := pooler_of(self.backbone):
      pooler.trainable = False
    self._set_untracked()

  @property
  def window_options(self):
    """The `WindowOptions` of the preprocessor."""
    return self.preprocessor.options

  # Training and logits of windows, as in Keras.

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
      jit_compile: whether XLA compiles a step. It does so again for each number
        and length of windows, so it is off by default.
      **kwargs: of keras.Model.compile. A single metric in a list is measured
        for each output.

    Raises:
      ValueError: a loss takes probabilities, or a loss or metric of Keras does
        not fit the labels of the preprocessor.
    """
    if optimizer == "auto":
      optimizer = keras.optimizers.Adam(5e-5)
    if loss == "auto":
      loss = self.make_loss()
    labels_class = self.preprocessor and type(self.preprocessor)
    check_losses(loss, labels_class)
    for name in ("metrics", "weighted_metrics"):
      if labels_class:
        check_metrics(kwargs.get(name), labels_class)
      kwargs[name] = metrics_of_outputs(kwargs.get(name), list(self.logits))
    self.follow_encoder()
    super().compile(optimizer, loss=loss, jit_compile=jit_compile, **kwargs)

  def get_compile_config(self):
    """As in keras.Model; {} with LoRA, so that a saved model is not compiled.

    Keras saves the sum of weight and LoRA's product, whose training would begin
    anew: with all weights, and an optimizer for adapters.
    """
    return {} if lora_products(self) else super().get_compile_config()

  def compile_from_config(self, config):
    """Compiles a loaded model, which Keras does not do if `compile` is ours."""
    self.compile(**keras.saving.deserialize_keras_object(config))
    if self.built:
      self.optimizer.build(self.trainable_variables)

  def preprocess_samples(self, x, y=None, sample_weight=None):
    """Returns the windows of a batch of questions; see keras_hub.models.Task.

    Without y they are padded to max_seq_length, so that the logits of several
    batches can be joined.
    """
    if self.preprocessor is None:
      return super().preprocess_samples(x, y, sample_weight)
    if is_question_batch(x):
      data = self._reader.preprocess(x, y, sample_weight)
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
    """Makes `preprocess_samples` use a new `BatchReader`."""
    outer_reader, reader = self._reader, BatchReader(self.preprocessor)
    self._reader = reader
    try:
      with reader:
        yield reader
    finally:
      self._reader = outer_reader

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
      validation_split: refused, because questions about one passage would be
        on both sides.
      shuffle, validation_batch_size, **kwargs: of keras.Model.fit.

    Without a preprocessor x and y are windows and their labels, and all
    arguments are those of keras.Model.fit.

    Returns:
      Keras' History.

    Raises:
      ValueError: x, y or sample_weight is wrong; the error has the number of
        the question. It is raised before the first step, for which a dataset is
        read once more. A dataset that does not know how many batches it has
        (one of a generator) is checked batch by batch.
    """
    data = {"x": x, "y": y, "sample_weight": sample_weight}
    if self.preprocessor is None:
      # KerasHub's `fit` does not shuffle.
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
      x, validation_data = fit_datasets(
        self.preprocessor,
        **data,
        batch_size=batch_size,
        validation_data=validation_data,
        validation_split=validation_split,
        shuffle=shuffle,
        validation_batch_size=validation_batch_size,
      )
      with self._reading() as reader:
        history = super().fit(
          x, validation_data=validation_data, shuffle=False, **kwargs
        )
        reader.expects_batches = bool(history.epoch)
    losses = zip(history.epoch, history.history.get("loss", ()), strict=False)
    for epoch, loss in losses:
      if not math.isfinite(loss):
        log_line(
          f"The loss of epoch {epoch + 1} is {loss}, and the weights may be, "
          "too. Load the model again, and train with a lower learning rate."
        )
        break
    return history

  def evaluate(
    self, x=None, y=None, batch_size=None, sample_weight=None, **kwargs
  ):
    """As keras.Model.evaluate: loss and metrics of windows; see `fit`."""
    # `fit` has made the windows of validation_data.
    has_windows = kwargs.get("_use_cached_eval_dataset")
    if self.preprocessor is None or has_windows:
      return super().evaluate(x, y, batch_size, sample_weight, **kwargs)
    x = question_batches(self.preprocessor, x, y, sample_weight, batch_size)
    with self._reading():
      return super().evaluate(x, **kwargs)

  def predict(self, x, batch_size=None, **kwargs):
    """As keras.Model.predict: the logits of windows; see `fit`.

    Returns:
      dict of float32 [windows, max_seq_length, ..]. `window_logits` yields
      logits with their windows; `answer` and `predictions` give answers.
    """
    if self.preprocessor is None:
      return super().predict(x, batch_size, **kwargs)
    x = question_batches(
      self.preprocessor, x, batch_size=batch_size, has_labels=False
    )
    with self._reading():
      return super().predict(x, **kwargs)

  # KerasHub's two methods take labels of one output only.
  def train_on_batch(self, x, y=None, sample_weight=None, **kwargs):
    """As keras.Model.train_on_batch; the arguments are those of `fit`."""
    data = self._single_batch(x, y, sample_weight)
    return keras.Model.train_on_batch(self, *data, **kwargs)

  def test_on_batch(self, x, y=None, sample_weight=None, **kwargs):
    """As keras.Model.test_on_batch; the arguments are those of `fit`."""
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
      context: str, the passage of one question or of all; or a list of str, one
        for each question.
      n_best: number of answers to each question; a B/I/O head gives the spans
        with the best scores.

    Returns:
      For one question an `Answer`; with n_best above 1 a list of `Answer`, best
      first. For a list of questions a list of these. The null threshold decides
      only with n_best=1 whether there is an answer.

    Raises:
      ValueError: there are not as many passages as questions, n_best is above
        the decoder's n_best_size, or the head was never trained.
    """
    return prediction_lib.answer(
      self.predictions, self.decoder_options, question, context, n_best
    )

  def answers(self, question, context):
    """Answers one question, or several, with any number of spans.

    A B/I/O head finds any number of spans, a span head one at most.

    Args:
      question, context: see `answer`.

    Returns:
      For one question a list of `Answer` in the order of the passage, [] for
      "no answer". For a list of questions a list of these.
    """
    return prediction_lib.answers(self.predictions, question, context)

  def predictions(self, examples, batch_size=None, graph=None):
    """Answers many questions.

    Args:
      examples: sequence of `SquadExample`.
      batch_size: highest number of windows that the model reads at once; None
        takes the max_windows_per_step of `StepOptions`.
      graph: an `AnswerGraph` of `make_graph`; None takes the model's own.

    Yields:
      `Prediction`s, in the order of `examples`.
    """
    graph = graph or self.graph
    for batch in example_batches(examples):
      columns = graph.answer(*graph.arguments(batch, batch_size))
      yield from prediction_lib.predictions_of(self.columns, batch, columns)

  def window_logits(self, examples, batch_size=None):
    """Yields the `WindowLogits` of `SquadExample`s, batch by batch."""
    for batch in example_batches(examples):
      arguments = self.graph.arguments(batch, batch_size)
      tables = self.graph.window_logits(*arguments)
      windows, logits = (
        {name: np.asarray(values) for name, values in table.items()}
        for table in tables
      )
      yield WindowLogits(batch, windows, logits)

  def decode(self, window_logits):
    """Returns the list of `Prediction` for one `WindowLogits`."""
    return self._decoder(window_logits)

  def score(self, examples, batch_size=None):
    """Scores the answers to labelled questions by the official metrics.

    Example:

    ```python
    extractor.score(read_squad("dev.json").examples)["f1"]
    ```

    Args:
      examples: sequence of `SquadExample` with ids of their own.
      batch_size: see `predictions`.

    Returns:
      A dict of scores in percent, as run_squad writes them: exact_match and f1
      of SQuAD 1.1; those of `evaluate_squad2` with version_2_with_negative or
      if a question has no answer; of a B/I/O head those of
      `evaluate_multi_span`.

    Raises:
      ValueError: there are no questions, or a question to a B/I/O head has no
        annotator.
    """
    predictions = list(self.predictions(examples, batch_size))
    if self.columns.entries == "spans":
      spans = {p.qas_id: [span.text for span in p.spans] for p in predictions}
      return evaluate_multi_span(examples, spans)
    texts = {p.qas_id: p.answer.text for p in predictions}
    if self.decoder_options.version_2_with_negative:
      null_odds = {p.qas_id: p.answer.null_odds for p in predictions}
      return evaluate_squad2(examples, texts, null_odds, math.inf)
    if all(example.answers for example in examples):
      return evaluate_squad1(examples, texts)
    return evaluate_squad2(examples, texts)

  def calibrate(
    self,
    examples,
    target_answered=None,
    target_precision=None,
    batch_size=None,
  ):
    """Fits probabilities and the null threshold to labelled questions.

    It sets temperature, log_odds_shift and, with version_2_with_negative,
    null_score_diff_threshold of decoder_options. `save_to_preset` saves them,
    and training resets them.

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
      target_precision: share of the answers that must be exact matches, from 0
        to 1. Without a target the threshold has the best F1.
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
    """Returns an `AnswerGraph`; steps and on_windows are its arguments."""
    self.check_preprocessor()
    self.check_trained()
    return AnswerGraph(self, steps, on_windows)

  @functools.cached_property
  def graph(self):
    """The `AnswerGraph` of `predictions`, made when it is first needed."""
    return self.make_graph()

  @functools.cached_property
  def _decoder(self):
    return WindowDecoder(type(self), self.decoder_options)

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
        of KerasHub; a SavedModel of TF Hub; a folder with a TensorFlow
        checkpoint; or an `EncoderSource`, for instance of such files one by
        one.
      window_options, decoder_options: None takes the saved ones.
      fixed_length: pad_to_max of the `SpanPreprocessor`.
      verify: whether to compare the files with their saved checksums.
      dtype: precision of the encoder's weights and products: "float32";
        "bfloat16" or "float16", for a model that answers and is not trained; or
        "auto", bfloat16 if this machine is faster with it, see `resolve_dtype`.
        Softmax and head compute in float32.
      **options: values of single options, such as max_seq_length=384.

    Returns:
      An extractor of the class of the saved head, which is this class or a
      subclass. An encoder without such a head gets a new one, that of a
      `SpanExtractor` if this class is `Extractor`. `answer` refuses a new head
      until it was trained.

    Raises:
      ValueError: there is no such model, it is damaged or has another head, or
        an option is unknown.
    """
    return load_preset(
      cls,
      preset,
      window_options=window_options,
      decoder_options=decoder_options,
      fixed_length=fixed_length,
      verify=verify,
      dtype=dtype,
      options=options,
    )

  def save_to_preset(self, preset_dir, selection=None, half_precision=False):
    """Writes the model into a directory.

    It is a directory of KerasHub: metadata.json, config.json and
    model.weights.h5 of the encoder, task.json with the decoding options,
    task.weights.h5 of the head unless it is new, preprocessor.json with the
    window options, tokenizer.json and assets. Only this package has
    checksums.json and README.md, a model card for a hub; a card that a person
    wrote or edited stays.

    A saved model is replaced; other files in its directory stay. On a local
    disk it is replaced whole or not at all. On a remote file system (gs://...)
    files are replaced one by one, task.json last.

    Args:
      preset_dir: a local path or one of tf.io.gfile.
      selection: how the model was selected, for `write_selection`.
      half_precision: write the encoder's weights as float16, which takes half
        of the bytes; they are read as float32.

    Raises:
      ValueError: the directory has files but no model, or a weight exceeds
        float16.
    """
    self.check_preprocessor()
    model_directory.save_model(self, preset_dir, selection, half_precision)

  def save(self, filepath, overwrite=True, zipped=None):
    """As keras.Model.save; writes a .keras file whole or not at all.

    The content is read back before it replaces an old file. With zipped=False
    it is a folder. keras.saving.save_model does not call this method: it writes
    into an old file.
    """
    path = os.fspath(filepath)
    is_folder = zipped is False and not path.startswith("hf://")
    if is_folder == path.endswith(".keras"):  # Keras uploads it, or refuses it.
      model_directory.check_folder_name(path)
      super().save(filepath, overwrite, zipped)
    else:
      keras_files.write_keras_file(self, path, overwrite, is_folder)

  def save_weights(self, filepath, overwrite=True, max_shard_size=None):
    """As keras.Model.save_weights; one file is written whole or not at all."""
    check_not_quantized(self)
    path = os.fspath(filepath)
    if max_shard_size is not None or not path.endswith(".weights.h5"):
      super().save_weights(filepath, overwrite, max_shard_size)
    else:
      keras_files.write_weights_file(self, path, overwrite)

  def export(self, path, format=None, source=None, proof="short", **options):
    """Writes the model for a server or for devices, and checks the result.

    Args:
      path: a file that ends with .tflite, for devices; or the folder of all
        versions of a served model, which gets the next version.
      format: "tf_saved_model", for TensorFlow Serving, or "litert", TFLite;
        None takes the format of the path.
      source: name or directory of the model, such as "minilm_squad". The export
        quotes its card, licence and scores.
      proof: "short" or "full": compares the answers of the export with the
        model's on some 20 or 220 windows.
      **options: arguments of `export_saved_model`: version, steps, dtype,
        with_warmup; or of `TFLiteOptions`: quantization, dynamic_length, ...

    Returns:
      The path of the version, or of the file.

    Raises:
      ValueError: format and path do not fit, or a check failed; nothing is
        written.
    """
    # These rooms import this one. keras.Model.export imports in the same way.
    from bert_span.serving import export as serving_export
    from bert_span.tflite import export as tflite_export

    check_not_forked()
    self.check_preprocessor()
    self.check_trained()
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    formats = {".tflite": "litert", ".onnx": "onnx"}
    format = format or formats.get(suffix, "tf_saved_model")
    if format not in ("tf_saved_model", "litert"):
      raise ValueError(
        f"format must be tf_saved_model or litert. Received: {format!r}. For "
        "ONNX, which takes windows and no strings, docs/integrations.md has "
        "the recipe: keras.Model(extractor.input, extractor.output).export("
        '"qa.onnx", format="onnx").'
      )
    if (format == "litert") != (suffix == ".tflite"):
      raise ValueError(
        f"{path} does not fit format={format!r}: a path ends with .tflite if, "
        "and only if, the format is litert. Leave format out, or rename it."
      )
    if format == "tf_saved_model":
      return serving_export.export_saved_model(
        self, path, source=source, proof=proof, **options
      )[0]
    options = tflite_export.TFLiteOptions(**options)
    tflite_export.export_tflite(self, path, options, source=source, proof=proof)
    return path

  def check_preprocessor(self):
    """Raises ValueError if there is no preprocessor, which strings need."""
    if self.preprocessor is None:
      raise ValueError(
        "A model without a preprocessor takes no strings. Set preprocessor."
      )

  def quantize(self, *args, **kwargs):
    """Raises ValueError: only TFLite files are quantized."""
    raise ValueError(
      'quantize is not supported. extractor.export("qa.tflite", '
      'quantization="dynamic") writes a file with weights of 8 bits.'
    )

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
    for layer in sublayers(backbone):  # outer layers first
      layer.trainable = layer.path not in config["frozen_layers"]
    extractor = cls(
      backbone,
      preprocessor,
      cls.decoder_class.options_type(**config["decoder_options"]),
      head,
      name=config["name"],
      trainable=config["trainable"],
    )
    # Its weights are random until the file's weights, or others, are assigned.
    extractor.head.trained_once_assigned = config["head_is_trained"]
    return extractor
