"""The models that a run of run_squad begins, and that it answers with."""

import dataclasses
import os

import tensorflow as tf

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.extractor import SpanExtractor
from bert_span.heads.answer_head import AnswerHead
from bert_span.presets.encoder_source import EncoderSource
from bert_span.presets.span_config import read_span_config
from bert_span.storage.log import log_line
from bert_span.text.options import WindowOptions
from bert_span.training.run.best_model import selection_words

MODEL_DIRECTORY = "model"


@dataclasses.dataclass(frozen=True)
class SquadModels:
  """What becomes of an encoder in one output directory.

  Attributes:
    output_dir: folder of the run.
    source: `EncoderSource` of the model to start from.
    window_options: `WindowOptions`.
    decoder_options: those of the head.
    head: `AnswerHead`.
    head_bias: whether a new span head has a bias.
    fixed_length: see `SpanExtractor`.
  """

  output_dir: str
  source: EncoderSource
  window_options: WindowOptions
  decoder_options: DecoderOptions
  head: AnswerHead
  head_bias: bool
  fixed_length: bool

  @property
  def directory(self):
    """Where the trained model stands."""
    return os.path.join(self.output_dir, MODEL_DIRECTORY)

  def to_train(self):
    """The model to start from.

    Returns:
      (extractor, digest): a `SpanExtractor`, its new weights drawn from
      Keras' random numbers; and of the weights it came with what
      `EncoderSource.weights_digest` gives.

    Raises:
      ValueError: there is no such source.
    """
    loaded = self.source.load()
    digest = self.source.weights_digest(loaded)
    extractor, _ = self._extractor_of(loaded)
    return extractor, digest

  def trained(self):
    """The model of the output directory, else a fine-tuned source.

    Returns:
      A `SpanExtractor`.

    Raises:
      ValueError: there is none, or none that has been trained to its end.
    """
    if tf.io.gfile.isdir(self.directory):
      return self._of_this_run()
    if tf.train.latest_checkpoint(self.output_dir):
      raise ValueError(
        f"{self.output_dir} holds checkpoints of a training that has not "
        "ended. Run the same command with --do_train to finish it."
      )
    if not (self.source.preset or self.source.bert_config_file):
      raise ValueError(
        f"There is no model in {self.directory}. Train one with --do_train, or "
        "give a fine-tuned one as --preset or --init_checkpoint."
      )
    extractor, head_is_new = self._extractor_of(self.source.load())
    if head_is_new:
      raise ValueError(
        f"The model has no {self.head.name} head, so its answers would be "
        "random. Fine-tune it with --do_train first, or give a fine-tuned "
        "model."
      )
    return extractor

  def _of_this_run(self):
    saved = (read_span_config(self.directory) or {}).get("head")
    if saved not in (None, self.head.name):
      raise ValueError(
        f"{self.directory} has a {saved} head: give --head={saved}, or another "
        "--output_dir."
      )
    log_line(
      f"Predicting with {self.directory}{selection_words(self.directory)}"
    )
    return SpanExtractor.from_preset(
      self.directory,
      self.window_options,
      self.decoder_options,
      self.fixed_length,
      self.head,
    )

  def _extractor_of(self, loaded):
    """The extractor of a `LoadedEncoder`, and whether its head is new."""
    vocabulary = self.source.vocabulary(loaded)
    has_head = self.head.weights_of(loaded) is not None
    log_line(
      f"Starting from {loaded.description}"
      f"{f', with its {self.head.name} head' if has_head else ''}."
    )
    extractor = SpanExtractor(
      self.head.model_of(loaded, self.head_bias),
      vocabulary,
      self.source.lower_case(loaded),
      self.window_options,
      self.decoder_options,
      fixed_length=self.fixed_length,
      head=self.head,
    )
    return extractor, not has_head
