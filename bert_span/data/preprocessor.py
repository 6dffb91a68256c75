"""Converts strings to windows, with labels for a span head."""

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
from bert_span.data.call_arguments import (
  decode_text,
  eager_values,
  integer_tensor,
  named_items,
  text_array,
  text_tensor,
  weight_tensor,
)
from bert_span.data.window_batches import TEXT_SPECS, example_arrays
from bert_span.keras_backend import check_not_forked
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

  A passage that is longer than a window becomes several windows, so there are
  more rows than questions. A window without the whole answer is labelled 0, 0,
  the position of its [CLS], as in run_squad.

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
    tokenizer: a tokenizer of this package, or the vocabulary of a new one: a
      list of WordPieces, whose index is the id; `WordPieces`, the `BytePairs`
      of RoBERTa, `ModernBertPairs` or `SentencePieces`; or an
      `ExtendedVocabulary` of one of these.
    do_lower_case: lower-case text and strip its accents; only for a list of
      WordPieces.
    options: `WindowOptions`.
    pad_to_max: pad every batch to max_seq_length, and score the padding as the
      original does. Otherwise a batch is padded to its longest window, and the
      padding is not scored.

  Call arguments:
    x: dict of question and context, lists of str or string tensors, [batch].
    y: None, or dict of answer_text, lists of str or string tensors [batch], and
      answer_start, int [batch], in characters; "" and -1 for an unanswerable
      question.
    sample_weight: None, or float [batch], weights of questions.

  Returns:
    The inputs, a dict of token_ids, segment_ids and padding_mask, each int32
    [windows, seq_length]. With y a pair of the inputs and the labels, a dict of
    the positions for start_logits and end_logits, int32 [windows]. With
    sample_weight a triple that ends with the weights of windows.

  Raises:
    ValueError: see `tensors`. In a dataset's map it is an error of TensorFlow.

  A preprocessor is saved and loaded with its model, see
  `Extractor.save_to_preset`.

  A subclass for another head overrides the class attributes, `label`,
  `label_arrays`, `label_tensors`, `located_answer`, `windows_with_answer` and
  `has_answer_to_learn`.
  """

  # Names of labels that are int32 [windows].
  window_labels = ("start_positions", "end_positions")
  # Names of labels that are float32 [windows, seq_length, n], with their n.
  token_labels: ClassVar = {}
  # The model's outputs: the i-th label trains the i-th output.
  outputs = ("start_logits", "end_logits")
  label_format = "positions, int [windows]"
  # Keras' own class of a loss, and functions of metrics, that fit the labels.
  keras_loss = "SparseCategoricalCrossentropy"
  keras_metrics = (
    "accuracy",
    "sparse_categorical_accuracy",
    "sparse_top_k_categorical_accuracy",
    "sparse_categorical_crossentropy",
  )
  # Whether it learns from all annotators, and not from the first answer alone.
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
    if type(x) is tuple:  # An element of a dataset, as in KerasHub.
      x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(x)
    # Not in `call`: Keras would add all arguments to the message of an error.
    return super().__call__(*self.tensors(x, y, sample_weight))

  def call(self, x, y=None, sample_weight=None):
    # Datasets share a trace, which takes ten times as long as an eager call.
    is_eager = tf.executing_eagerly()
    windows = self.windows(x) if is_eager else self.traced_windows(x)
    inputs = model_inputs(windows)
    if y is None:
      return inputs
    labels = self._labels(x["context"], y, windows)
    labels = dict(zip(self.outputs, labels, strict=True))
    if sample_weight is not None:
      sample_weight = tf.gather(sample_weight, windows["example_index"])
    return keras.utils.pack_x_y_sample_weight(inputs, labels, sample_weight)

  def tensors(self, x, y=None, sample_weight=None, location="question {}"):
    """Returns the call's arguments as tensors, or specs as they are.

    `location` is what messages call a question, with {} for its number.

    Raises:
      ValueError: a key is missing, a type, shape or number is wrong, or an
        answer is not at its offset, with the number of its question. A dataset
        that is being mapped has no values yet; see `check_rows`.
    """
    x = named_items("x", x, ("question", "context"))
    x = {name: text_tensor(values, name) for name, values in x.items()}
    if y is not None:
      y = named_items("y", y, ("answer_text", "answer_start"))
      y = self.label_tensors(y)
    columns = {**x, **(y or {})}
    if sample_weight is not None:
      sample_weight = weight_tensor(sample_weight, "sample_weight")
      columns["sample_weight"] = sample_weight
    sizes = {n: t.shape.rank and t.shape[0] for n, t in columns.items()}
    if len({*sizes.values()} - {None}) > 1:
      raise ValueError(
        "x, y and sample_weight must have as many questions, passages, answers "
        "and weights. Received: "
        f"{', '.join(f'{size} {name}' for name, size in sizes.items())}."
      )
    if all(map(tf.is_tensor, columns.values())) and tf.executing_eagerly():
      self.check_rows(x, y, sample_weight, location)
    return x, y, sample_weight

  def check_rows(self, x, y=None, sample_weight=None, location="question {}"):
    """Raises ValueError for a wrong value in eager tensors; see `tensors`."""
    if sample_weight is not None:
      for i, weight in enumerate(sample_weight.numpy()):
        if not math.isfinite(weight):
          raise ValueError(
            f"{location.format(i)}: sample_weight must be a finite number. "
            f"Received: {weight}."
          )
    if y is not None:
      contexts = x["context"].numpy()
      y = {name: eager_values(tensor) for name, tensor in y.items()}
      for i, answer in enumerate(zip(contexts, *y.values(), strict=True)):
        self.located_answer(*answer, location.format(i))

  @staticmethod
  def located_answer(context, text, start, location):
    """Returns context and answer of a question as str; ValueError if wrong."""
    context, text = (decode_text(x, location) for x in (context, text))
    if start != NOT_LOCATED or text:
      check_located(context, text, start, location)
    return context, text

  def windows(self, texts):
    """Returns the dict of `SlidingWindows` for question and context.

    Both are string [batch].
    """
    placed = self.place_windows(texts["question"], texts["context"])
    return self.sliding_windows.all_tables(placed)

  @functools.cached_property
  def traced_windows(self):
    """`windows` as a tf.function, which is traced once."""
    return tf.function(
      self.windows, input_signature=[TEXT_SPECS], autograph=False
    )

  def is_cut(self, questions):
    """Returns whether max_query_length cuts a question, bool [questions]."""
    questions = text_tensor(questions)
    if tf.executing_eagerly():
      ids = self.tokenizer(questions).ids
    else:
      ids = self._token_ids(questions)
    return ids.row_lengths() > self.options.max_query_length

  def place_windows(self, questions, contexts):
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
    """Returns y for `SquadExample`s: the first answer in each passage."""
    none = AnswerSpan("", NOT_LOCATED)
    answers = [(*with_answer_to_learn(e).answers, none)[0] for e in examples]
    return {
      "answer_text": text_array(answer.text for answer in answers),
      "answer_start": np.array([a.char_start for a in answers], np.int32),
    }

  def label_tensors(self, y):
    """Returns y as tensors, or specs as they are."""
    return {
      "answer_text": text_tensor(y["answer_text"], "answer_text"),
      "answer_start": integer_tensor(y["answer_start"], "answer_start"),
    }

  def label(self, contexts, y, windows, annotator_labels=None):
    """Labels the windows of a batch.

    Args:
      contexts: passages, bytes [batch].
      y: dict of arrays or lists, see `label_arrays`.
      windows: dict of arrays, see `SlidingWindows`.
      annotator_labels: how a B/I/O head joins annotators, see `tag_labels`.

    Returns:
      The labels by name, and can_train, bool [windows]: False if the answer has
      no token in its passage, or the question has no label.
    """
    positions = np.zeros([len(windows["example_index"]), 2], np.int32)
    texts, starts = y["answer_text"], y["answer_start"]
    answer_ids = self._token_ids(tf.constant(texts, tf.string)).to_list()
    passages = passages_of(windows, len(contexts))
    for i, (text, start, ids, passage) in enumerate(
      zip(texts, starts, answer_ids, passages, strict=True)
    ):
      location = f"question {i} of the batch"
      context, text = self.located_answer(contexts[i], text, start, location)
      if start == NOT_LOCATED:
        continue
      end = start + len(text)
      span = answer_tokens(context, passage, start, end, ids, self._whole_words)
      rows = windows["example_index"] == i
      positions[rows] = window_positions(windows, rows, *span)
    labels = dict(zip(self.window_labels, positions.T, strict=True))
    return labels, positions[:, 1] != NO_TOKEN

  @staticmethod
  def windows_with_answer(labels, row_splits):
    """Returns whether `PackedWindows` have a part of an answer, bool [windows].

    `labels` and `row_splits` are fields of theirs.
    """
    return labels["end_positions"] > 0

  @staticmethod
  def has_answer_to_learn(example):
    """Returns whether a `SquadExample` has an answer to learn."""
    return bool(example.answers) and not example.is_impossible

  @classmethod
  def label_names(cls):
    """Returns the names of all labels, in the order of the model's outputs."""
    return (*cls.window_labels, *cls.token_labels)

  @classmethod
  def inputs_and_labels(cls, batch):
    """Splits a `PackedWindows.batch` as keras.Model.fit takes it."""
    labels = zip(cls.outputs, cls.label_names(), strict=True)
    return model_inputs(batch), {output: batch[name] for output, name in labels}

  # Without a graph the tokenizer would take longer than everything else.
  @functools.cached_property
  def _token_ids(self):
    # Not the tf.function itself: after a call with a wrong shape its lock stays
    # locked, and the next call waits for ever.
    return tf.function(
      lambda texts: self.tokenizer(texts).ids, autograph=False
    ).get_concrete_function(tf.TensorSpec([None], tf.string))

  def _labels(self, contexts, y, windows):
    """Returns the labels of `label` as a list of tensors, also in a graph."""
    inputs = contexts, y, windows

    def label(*values):
      values = tf.nest.pack_sequence_as(inputs, list(map(eager_values, values)))
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
  """Returns the inputs of a model among the columns of windows."""
  names = "token_ids", "segment_ids", "padding_mask"
  return {name: windows[name] for name in names}


def cut_question_line(options, question, num_more=0):
  """Returns the log line for questions that max_query_length cuts.

  Args:
    options: `WindowOptions`.
    question: the first such question, as the line is to name it.
    num_more: number of further ones.
  """
  more = f" This limit cuts {num_more:,} more." if num_more else ""
  return (
    f"The question {question} has more WordPieces than max_query_length="
    f"{options.max_query_length}: the rest of it is not read.{more}"
  )
