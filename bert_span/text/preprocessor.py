"""Strings to windows: the preprocessing layer of a span model."""

import dataclasses

import keras
import tensorflow as tf

from bert_span.text.answer_positions import AnswerPositions
from bert_span.text.byte_pair_tokenizer import BytePairTokenizer
from bert_span.text.options import WindowOptions
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import BytePairs
from bert_span.text.windows import SlidingWindows


@keras.saving.register_keras_serializable(package="bert_span")
class SpanPreprocessor(keras.layers.Layer):
  """Converts questions and passages to windows, labelled if answers are given.

  Example:

  ```python
  preprocessor = SpanPreprocessor(load_vocabulary("vocab.txt"))
  windows = preprocessor(
    {
      "question": tf.constant(["Who came?"]),
      "context": tf.constant(["John Smith came."]),
    }
  )
  windows["input_ids"]  # int32 [1, 9], [CLS] who came ? [SEP] john ...
  ```

  Args:
    vocabulary: list of WordPieces, the index is the id; or the `BytePairs` of
      RoBERTa.
    do_lower_case: lower-case and strip accents (uncased models); byte pairs
      are always cased.
    options: `WindowOptions`.
    pad_to_max: pad every batch to max_seq_length.
  """

  def __init__(
    self,
    vocabulary,
    do_lower_case=True,
    options=None,
    pad_to_max=False,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.built = True  # nothing to build
    self.options = options or WindowOptions()
    is_byte_pairs = isinstance(vocabulary, BytePairs)
    if is_byte_pairs:
      self.tokenizer = BytePairTokenizer(*vocabulary)
    else:
      self.tokenizer = WordPieceTokenizer(vocabulary, do_lower_case)
    self.sliding_windows = SlidingWindows(
      self.options,
      self.tokenizer.cls_id,
      self.tokenizer.sep_id,
      pad_to_max,
      self.tokenizer.pad_id,
      self.tokenizer.num_separators,
    )
    self.answer_positions = AnswerPositions(whole_words=not is_byte_pairs)

  def __call__(self, inputs):
    # Keras accepts tensors and arrays, not lists of Python strings.
    inputs = {
      name: tf.constant(values) if isinstance(values, list) else values
      for name, values in inputs.items()
    }
    return super().__call__(inputs)

  def call(self, inputs):
    """Returns the windows of a batch.

    Args:
      inputs: dict of question and context, string [batch]; to label windows
        also answer_text, string [batch], and the answers of `AnswerPositions`.

    Returns:
      The dict of `SlidingWindows`; with answers also start_positions and
      end_positions, int32 [windows], see `AnswerPositions`.
    """
    placed = self.place(inputs["question"], inputs["context"])
    windows = self.sliding_windows.all_tables(placed)
    if "answer_text" in inputs:
      answer_ids = self.tokenizer(inputs["answer_text"]).ids
      starts, ends = self.answer_positions(
        windows, inputs["context"], placed.context, answer_ids, inputs
      )
      windows |= {"start_positions": starts, "end_positions": ends}
    return windows

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

  def get_config(self):
    vocabulary = self.tokenizer.full_vocabulary
    if isinstance(vocabulary, BytePairs):
      vocabulary = vocabulary._asdict()
    return {
      **super().get_config(),
      "vocabulary": vocabulary,
      "do_lower_case": self.tokenizer.do_lower_case,
      "options": dataclasses.asdict(self.options),
      "pad_to_max": self.sliding_windows.pad_to_max,
    }

  @classmethod
  def from_config(cls, config):
    vocabulary = config["vocabulary"]
    if isinstance(vocabulary, dict):
      vocabulary = BytePairs(**vocabulary)
    options = WindowOptions(**config["options"])
    return cls(**{**config, "options": options, "vocabulary": vocabulary})
