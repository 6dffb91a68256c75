"""Strings to windows, with the labels that a span head is trained on."""

import dataclasses
import functools
import math
from typing import ClassVar

import keras
import keras_hub
import numpy as np
import tensorflow as tf

from bert_span.data.answer_positions import (
  NO_TOKEN,
  answer_tokens,
  passages_of,
  window_positions,
)
from bert_span.data.window_batches import (
  check_tensor,
  example_arrays,
  integer_tensor,
  is_spec,
  is_tensor,
  text_array,
  text_tensor,
)
from bert_span.keras_backend import check_not_forked
from bert_span.options.messages import shortened
from bert_span.squad.example import NOT_LOCATED, AnswerSpan, check_located
from bert_span.squad.rules import examples_to_learn, with_answer_to_learn
from bert_span.text.byte_pair_tokenizer import BytePairTokenizer
from bert_span.text.modernbert_tokenizer import ModernBertTokenizer
from bert_span.text.options import WindowOptions
from bert_span.text.sentencepiece_model import SentencePieces
from bert_span.text.sentencepiece_tokenizer import SentencePieceTokenizer
from bert_span.text.tokenizer import Tokenizer, WordPieceTokenizer
from bert_span.text.vocabulary import (
  BytePairs,
  ModernBertPairs,
  WordPieces,
  split_vocabulary,
)
from bert_span.text.windows import SlidingWindows


@keras.saving.register_keras_serializable(package="bert_span")
class SpanPreprocessor(keras_hub.models.Preprocessor):
  """Converts questions and passages to the inputs and labels of a model.

  A passage that is longer than a window gives several rows, so there are more
  rows than questions. A window without the whole answer is labelled 0, 0, its
  [CLS], as in run_squad.

  Example:

  ```python
  preprocessor = SpanPreprocessor(load_vocabulary("vocab.txt"))
  inputs, labels = preprocessor(
    {"question": ["Who came?"], "context": ["John Smith came."]},
    {"answer_text": ["John Smith"], "answer_start": [0]},
  )
  inputs["token_ids"]  # int32 [1, 9], [CLS] who came ? [SEP] john ...
  labels["start_logits"]  # int32 [1], 5
  ```

  Args:
    tokenizer: a tokenizer of this package, or the vocabulary of a new one: list
      of WordPieces, the index is the id; `WordPieces`, the `BytePairs` of
      RoBERTa, `ModernBertPairs`, or `SentencePieces`; or an
      `ExtendedVocabulary` of one of these.
    do_lower_case: lower-case and strip accents; only for a list of WordPieces.
    options: `WindowOptions`.
    pad_to_max: pad every batch to max_seq_length, and score the padding as the
      original does; else padding depends on the batch and is not scored.

  Call arguments:
    x: dict of question and context, lists of str or string tensors, [batch].
    y: None, or dict of answer_text, the same, and answer_start, int [batch], in
      characters; "" and -1 for an unanswerable question.
    sample_weight: None, or float [batch], weights of questions.

  Returns the inputs, a dict of token_ids, segment_ids and padding_mask, each
  int32 [windows, seq_length]. With y a pair of them and the labels, a dict of
  the positions of start_logits and end_logits, int32 [windows]; with
  sample_weight also the weights of windows.

  Raises ValueError, see `tensors`; in a dataset's map an error of TensorFlow.

  It is saved and loaded with the model that it is part of, see
  `Extractor.save_to_preset`.

  A subclass for another head has other class attributes, `label`,
  `label_arrays`, `label_tensors`, `located_answer`, `has_answer` and
  `is_answerable`.
  """

  # Labels that are int32 [windows], and labels that are float32 [windows,
  # seq_length, n] with this n; each is for the model's output of its place.
  window_labels = ("start_positions", "end_positions")
  token_labels: ClassVar = {}
  outputs = ("start_logits", "end_logits")
  # What of Keras' own fits the labels: a loss's class, metrics' functions.
  label_form = "positions, int [windows]"
  keras_loss = "SparseCategoricalCrossentropy"
  keras_metrics = (
    "accuracy",
    "sparse_categorical_accuracy",
    "sparse_top_k_categorical_accuracy",
    "sparse_categorical_crossentropy",
  )
  # Whether all annotators are learned from, else the first answer.
  every_annotator = False

  def __init__(
    self,
    tokenizer,
    do_lower_case=True,
    options=None,
    pad_to_max=False,
    **kwargs,
  ):
    check_not_forked()
    super().__init__(**kwargs)
    self.built = True  # nothing to build
    self.options = options or WindowOptions()
    if not isinstance(tokenizer, Tokenizer):
      tokenizer = _tokenizer_of(tokenizer, do_lower_case)
    self.tokenizer = tokenizer
    self._whole_words = isinstance(self.tokenizer, WordPieceTokenizer)
    self.sliding_windows = SlidingWindows(
      self.options,
      self.tokenizer.cls_id,
      self.tokenizer.sep_id,
      pad_to_max,
      self.tokenizer.pad_id,
      self.tokenizer.num_separators,
    )

  def __call__(self, x, y=None, sample_weight=None):
    if type(x) is tuple:  # An element of a dataset, as KerasHub's take it.
      x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(x)
    # Here, as Keras adds all arguments to the message of an error in `call`.
    return super().__call__(*self.tensors(x, y, sample_weight))

  def call(self, x, y=None, sample_weight=None):
    windows = self.windows(x)
    inputs = model_inputs(windows)
    if y is None:
      return inputs
    labels = self._labels(x["context"], y, windows)
    labels = dict(zip(self.outputs, labels, strict=True))
    if sample_weight is not None:
      sample_weight = tf.gather(sample_weight, windows["example_index"])
    return keras.utils.pack_x_y_sample_weight(inputs, labels, sample_weight)

  def tensors(self, x, y=None, sample_weight=None, place="question {}"):
    """Returns the call's arguments as tensors; of a dataset's specs, specs.

    `place` names a question of a number in messages.

    Raises:
      ValueError: a key is missing, a type, shape or number is wrong, or an
        answer is not at its offset, with the number of its question. Values of
        a dataset are not known here, see `check_rows`.
    """
    x = {
      name: text_tensor(values, name)
      for name, values in _columns("x", x, ("question", "context")).items()
    }
    if y is not None:
      y = self.label_tensors(_columns("y", y, ("answer_text", "answer_start")))
    columns = {**x, **(y or {})}
    if sample_weight is not None:
      columns["sample_weight"] = sample_weight = _weight_tensor(sample_weight)
    sizes = {n: t.shape.rank and t.shape[0] for n, t in columns.items()}
    if len({*sizes.values()} - {None}) > 1:
      raise ValueError(
        "x, y and sample_weight must have as many questions, passages, answers "
        "and weights. Received: "
        f"{', '.join(f'{size} {name}' for name, size in sizes.items())}."
      )
    if all(map(tf.is_tensor, columns.values())) and tf.executing_eagerly():
      self.check_rows(x, y, sample_weight, place)
    return x, y, sample_weight

  def check_rows(self, x, y=None, sample_weight=None, place="question {}"):
    """Raises ValueError for a wrong value in `tensors`, eager ones.

    `place` names a question of a number.
    """
    if sample_weight is not None:
      for i, weight in enumerate(sample_weight.numpy()):
        if not math.isfinite(weight):
          raise ValueError(
            f"{place.format(i)}: sample_weight must be a finite number. "
            f"Received: {weight}."
          )
    if y is not None:
      contexts = x["context"].numpy()
      y = {name: _values(tensor) for name, tensor in y.items()}
      for i, answer in enumerate(zip(contexts, *y.values(), strict=True)):
        self.located_answer(*answer, place.format(i))

  @staticmethod
  def located_answer(context, text, start, place):
    """Returns a passage and y of one question as str; ValueError if wrong."""
    context, text = (decoded(x, place) for x in (context, text))
    if start != NOT_LOCATED or text:
      check_located(context, text, start, place)
    return context, text

  def windows(self, texts):
    """Returns the dict of `SlidingWindows`, of texts string [batch]."""
    placed = self.place(texts["question"], texts["context"])
    return self.sliding_windows.all_tables(placed)

  def is_cut(self, questions):
    """Bool [questions]: whether max_query_length cuts a question."""
    lengths = self.tokenizer(text_tensor(questions)).ids.row_lengths()
    return lengths > self.options.max_query_length

  def place(self, questions, contexts):
    """Returns the `PlacedWindows` of questions and contexts, string [batch]."""
    # Each distinct passage is tokenized once.
    distinct, index = tf.unique(tf.concat([questions, contexts], 0))
    tokens = self.tokenizer(distinct)
    num_questions = tf.size(questions)
    return self.sliding_windows.place(
      tf.gather(tokens.ids, index[:num_questions]),
      tokens.gather(index[num_questions:]),
    )

  def arrays_of(self, examples):
    """Returns x and y of `SquadExample`s, for `Extractor.fit`.

    Questions that run_squad would not train on are skipped and logged: those
    without an answer in the passage that are not is_impossible.
    """
    examples = examples_to_learn(examples, self.every_annotator)
    return example_arrays(examples), self.label_arrays(examples)

  def label_arrays(self, examples):
    """Returns y of `SquadExample`s: the first answer in the passage of each."""
    none = AnswerSpan("", NOT_LOCATED)
    answers = [(*with_answer_to_learn(e).answers, none)[0] for e in examples]
    return {
      "answer_text": text_array(answer.text for answer in answers),
      "answer_start": np.array([a.char_start for a in answers], np.int32),
    }

  def label_tensors(self, y):
    """Returns y, with Python values as tensors; of specs, specs."""
    return {
      "answer_text": text_tensor(y["answer_text"], "answer_text"),
      "answer_start": integer_tensor(y["answer_start"], "answer_start"),
    }

  def label(self, contexts, y, windows, annotator_labels=None):
    """Labels windows that are arrays, of contexts in bytes and `label_arrays`.

    `annotator_labels` says how a B/I/O head joins annotators, see `tag_labels`.

    Returns the labels by name, and bool [windows]: False where the answer has
    no token in its passage, or there is no label.
    """
    positions = np.zeros([len(windows["example_index"]), 2], np.int32)
    texts, starts = y["answer_text"], y["answer_start"]
    answer_ids = self._token_ids(tf.constant(texts, tf.string)).to_list()
    passages = passages_of(windows, len(contexts))
    for i, (text, start, ids, passage) in enumerate(
      zip(texts, starts, answer_ids, passages, strict=True)
    ):
      place = f"question {i} of the batch"
      context, text = self.located_answer(contexts[i], text, start, place)
      if start == NOT_LOCATED:
        continue
      end = start + len(text)
      span = answer_tokens(context, passage, start, end, ids, self._whole_words)
      rows = windows["example_index"] == i
      positions[rows] = window_positions(windows, rows, *span)
    labels = dict(zip(self.window_labels, positions.T, strict=True))
    return labels, positions[:, 1] != NO_TOKEN

  @staticmethod
  def has_answer(labels, row_splits):
    """Bool [windows], whether `PackedWindows` have a part of an answer."""
    return labels["end_positions"] > 0

  @staticmethod
  def is_answerable(example):
    """Whether a `SquadExample` has an answer to learn."""
    return bool(example.answers) and not example.is_impossible

  @classmethod
  def label_names(cls):
    """Names of all labels, in the order of the model's outputs."""
    return (*cls.window_labels, *cls.token_labels)

  @classmethod
  def inputs_and_labels(cls, batch):
    """Splits a `PackedWindows.batch` as keras.Model.fit takes it."""
    labels = zip(cls.outputs, cls.label_names(), strict=True)
    return model_inputs(batch), {output: batch[name] for output, name in labels}

  # Op by op the tokenizer would take longer than everything else.
  @functools.cached_property
  def _token_ids(self):
    # Not the tf.function: a call with another shape leaves its lock locked, and
    # the next one waits for ever.
    return tf.function(
      lambda texts: self.tokenizer(texts).ids
    ).get_concrete_function(tf.TensorSpec([None], tf.string))

  def _labels(self, contexts, y, windows):
    """`label` as a TensorFlow op: a list of tensors."""
    inputs = contexts, y, windows

    def label(*values):
      values = tf.nest.pack_sequence_as(inputs, list(map(_values, values)))
      labels, _ = self.label(*values)
      return [labels[name] for name in self.label_names()]

    types = [tf.int32] * len(self.window_labels)
    types += [tf.float32] * len(self.token_labels)
    values = tf.py_function(label, tf.nest.flatten(inputs), types)
    shapes = [[None]] * len(self.window_labels)
    shapes += [[None, None, n] for n in self.token_labels.values()]
    return [tf.ensure_shape(*x) for x in zip(values, shapes, strict=True)]

  def get_config(self):
    return {
      **super().get_config(),
      "options": dataclasses.asdict(self.options),
      "pad_to_max": self.sliding_windows.pad_to_max,
    }

  @classmethod
  def from_config(cls, config):
    options = WindowOptions(**config["options"])
    return super().from_config({**config, "options": options})

  @classmethod
  def from_preset(cls, preset, **kwargs):
    """Raises ValueError: a preprocessor is loaded with its model."""
    raise ValueError(
      f"{cls.__name__} is loaded with its model: "
      f"bert_span.Extractor.from_preset({preset!r}).preprocessor."
    )

  def save_to_preset(self, preset_dir):
    """Raises ValueError: a preprocessor is saved with its model."""
    raise ValueError(
      "A preprocessor is saved with its model: extractor.save_to_preset("
      f"{preset_dir!r})."
    )


def _tokenizer_of(vocabulary, do_lower_case):
  """The tokenizer of a vocabulary, see `SpanPreprocessor`."""
  vocabulary, added = split_vocabulary(vocabulary)
  if isinstance(vocabulary, SentencePieces):
    return SentencePieceTokenizer(*vocabulary, added)
  if isinstance(vocabulary, BytePairs):
    return BytePairTokenizer(*vocabulary, added_tokens=added)
  if isinstance(vocabulary, ModernBertPairs):
    return ModernBertTokenizer(*vocabulary, added)
  rules = ()
  if isinstance(vocabulary, WordPieces):
    vocabulary, *rules = vocabulary
  return WordPieceTokenizer(
    vocabulary, do_lower_case, *rules, added_tokens=added
  )


def model_inputs(windows):
  """The inputs of a model, of the columns of windows."""
  names = "token_ids", "segment_ids", "padding_mask"
  return {name: windows[name] for name in names}


def cut_line(options, question, num_more=0):
  """Says that questions, one by name, are longer than `WindowOptions` allow."""
  more = f" So have {num_more:,} more." if num_more else ""
  return (
    f"The question {question} has more WordPieces than max_query_length="
    f"{options.max_query_length}: the rest of it is not read.{more}"
  )


def decoded(text, place):
  """Returns UTF-8 bytes as a str."""
  try:
    return text.decode("utf-8")
  except UnicodeDecodeError:
    raise ValueError(
      f"{place}: {shortened(text)} is not UTF-8. Give a str."
    ) from None


def _columns(argument, values, names):
  """The named items of a dict."""
  if not isinstance(values, dict) or not values.keys() >= {*names}:
    raise ValueError(
      f"{argument} must be a dict of {' and '.join(names)}. Received: "
      f"{kind_of(values)}."
    )
  return {name: values[name] for name in names}


def kind_of(values):
  """The type of a value, and a dict's keys."""
  if isinstance(values, dict):
    return f"a dict of {', '.join(map(str, values)) or 'nothing'}"
  return type(values).__name__


def _weight_tensor(values):
  """Weights of questions as a float32 tensor; of a spec, the spec."""
  name = "sample_weight"
  if not is_tensor(values):
    try:
      values = tf.constant(np.asarray(values, np.float32))
    except (TypeError, ValueError):
      raise ValueError(
        f"{name} must be a list of float. Received: {shortened(values)}."
      ) from None
  has_type = values.dtype.is_floating or values.dtype.is_integer
  check_tensor(values, name, has_type, "numbers", 1)
  return values if is_spec(values) else tf.cast(values, tf.float32)


def _values(tensor):
  """An eager tensor as lists or an array."""
  if isinstance(tensor, tf.RaggedTensor):
    return tensor.to_list()
  return tensor.numpy()
