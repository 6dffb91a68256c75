"""What every extractor is: a Keras model of strings that answers."""

import dataclasses
import functools
from typing import ClassVar

import keras
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
from bert_span.extractors.preset_model import PresetModel
from bert_span.modeling.encoder import (
  build_encoder,
  check_not_quantized,
  check_sequence_length,
  encode,
  encoder_config,
  merged_weights,
)
from bert_span.modeling.heads import named_logits, watch_head
from bert_span.modeling.keras_internals import sublayers
from bert_span.scoring.calibration import (
  check_calibration,
  fitted_options,
  score_questions,
)
from bert_span.storage.log import log_line


class Extractor(PresetModel):
  """An encoder with a head, trained on strings, that answers questions.

  `SpanExtractor` and `BioExtractor` are the two of this package. Everything in
  which they differ is in their classes. A third one is a subclass, see
  tests/extractors/third_extractor_test.py. It has the attributes and methods
  below, and these, which belong to the class:

    make_head(use_bias=True): a new head, a Keras layer whose name ends in
      "_head": the name of its file.
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
    **kwargs: passed to keras.Model.

  Call arguments:
    inputs: dict of token_ids, segment_ids and padding_mask, each int32
      [windows, seq_length]; padding_mask is 1 on WordPieces and 0 on padding.

  Returns:
    dict of float32 logits by the names in `logits`, [windows, seq_length, ..].

  Raises:
    ValueError: the encoder has fewer embeddings than the vocabulary tokens, or
      fewer positions than a window; or the options are those of another head.
  """

  # Its name in --head and span_config.json; of a new head, if no class says.
  head_name = "span"
  # The model's outputs: their shapes after [windows, seq_length].
  logits: ClassVar[dict[str, tuple[int, ...]]]
  logits_descriptions: ClassVar[dict[str, str]]  # a sentence about each
  columns: AnswerColumns  # what it answers
  preprocessor_class: type[SpanPreprocessor]
  # A Keras layer of decoding options, with two methods, see `SpanDecoder`.
  decoder_class: type

  def __init__(
    self,
    backbone,
    preprocessor=None,
    decoder_options=None,
    head=None,
    head_bias=True,
    **kwargs,
  ):
    head = self.make_head(head_bias) if head is None else head
    inputs = {
      name: keras.Input((None,), dtype="int32", name=name)
      for name in ("token_ids", "segment_ids", "padding_mask")
    }
    outputs = named_logits(tuple(self.logits), head(encode(backbone, inputs)))
    super().__init__(inputs=inputs, outputs=outputs, **kwargs)
    self.backbone = backbone
    self.head = head
    watch_head(head)
    self.prepare_training()
    options_type = self.decoder_class.options_type
    self.decoder_options = decoder_options or options_type()
    self.preprocessor = preprocessor

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

  @property
  def preprocessor(self):
    return self._preprocessor

  @preprocessor.setter
  def preprocessor(self, preprocessor):
    if preprocessor is not None:
      check_sequence_length(self.backbone, preprocessor.options.max_seq_length)
      rows = encoder_config(self.backbone).vocabulary_size
      tokens = len(preprocessor.tokenizer.vocabulary)
      if tokens > rows:
        raise ValueError(
          f"The vocabulary has {tokens} tokens but the encoder only {rows} "
          "embeddings. Use the vocabulary that belongs to the checkpoint."
        )
    # Not tracked by Keras: it has no weights, and the graph's variables are the
    # model's own.
    object.__setattr__(self, "_preprocessor", preprocessor)
    object.__setattr__(self, "_graph", None)

  @property
  def decoder_options(self):
    return self._decoder_options

  @decoder_options.setter
  def decoder_options(self, options):
    self.decoder_of(options)
    object.__setattr__(self, "_decoder_options", options)
    object.__setattr__(self, "_graph", None)
    self.__dict__.pop("_decoder", None)

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

  def prepare_training(self):
    """Freezes the pooler, and has answers follow layers that got LoRA."""
    check_not_quantized(self)
    for layer in self.backbone.layers:
      if layer.name == "pooled_dense":
        layer.trainable = False
    object.__setattr__(self, "_graph", None)

  @property
  def window_options(self):
    """The `WindowOptions` of the preprocessor."""
    return self.preprocessor.options

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

  @property
  def graph(self):
    """The `AnswerGraph` of `predictions`, made when it is needed first."""
    self.check_trained()
    if self._graph is None:
      object.__setattr__(self, "_graph", self.make_graph())
    return self._graph

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

  @classmethod
  def class_of_head(cls, name, preset):
    """This class or the subclass of it whose head has a name."""
    kind = extractor_class(name)
    if not issubclass(kind, cls):
      raise ValueError(
        f"{preset} has a {name} head, and {cls.__name__} has a "
        f"{cls.head_name} head. Load it with {kind.__name__}.from_preset."
      )
    return kind

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


def extractor_class(name, source="--head or span_config.json"):
  """The class of the head of a name, as --head and span_config.json have it."""
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
