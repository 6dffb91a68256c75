"""SpanExtractor: a trained model that answers questions."""

import dataclasses
import functools
import itertools
import os
import tempfile
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_span.answers.answer_graph import AnswerGraph
from bert_span.answers.decoding.predictions import (
  Answer,
  AnswerForms,
  answer_of,
)
from bert_span.answers.window_logits import WindowDecoder, WindowLogits
from bert_span.data.window_batches import example_arrays, example_batches
from bert_span.fine_tuning.fine_tuner import fine_tune, training_set_of
from bert_span.fine_tuning.options import FineTuningOptions
from bert_span.heads import find_head, head_of_layer
from bert_span.modeling.architectures import architecture_of
from bert_span.modeling.encoder import check_sequence_length, encoder_config
from bert_span.options.fields import options_from_json
from bert_span.options.messages import shortened
from bert_span.presets import load_pretrained, model_directory
from bert_span.presets.span_config import (
  CONFIG_FILE,
  read_span_config,
  span_config,
  write_span_config,
)
from bert_span.search.passage_index import PassageIndex
from bert_span.squad.example import NOT_LOCATED, SquadExample
from bert_span.storage.atomic_file import unfinished_directory
from bert_span.storage.files import is_remote
from bert_span.text.options import WindowOptions
from bert_span.text.preprocessor import SpanPreprocessor
from bert_span.training.run_folder import locked_folder
from bert_span.training.selection import SELECTION_FILE, write_selection


class PassageAnswer(NamedTuple):
  """An answer in one of several passages."""

  passage: int  # number of the passage
  answer: Answer  # with offsets into the passage
  margin: float  # score minus that of "no answer" in the passage, in logits


class SpanExtractor(AnswerForms):
  """Answers questions with spans of their passages.

  ```python
  extractor = SpanExtractor.from_preset("output/model")
  extractor.answer(question="Who came?", context="John Smith came.")
  # Answer(text="John Smith", char_start=0, char_end=10, ...)
  ```

  Args:
    model: a `SpanModel`.
    vocabulary: list of WordPieces, the index is the id; or the `BytePairs` of
      RoBERTa.
    do_lower_case: lower-case and strip accents (uncased models).
    window_options: `WindowOptions`.
    decoder_options: those of its head.
    fixed_length: pad every window to max_seq_length and score the padding,
      as the original; else padding depends on the batch and is not scored.
    head: `AnswerHead` of the model; None finds the package's own.

  Raises:
    ValueError: the model has fewer embeddings than the vocabulary tokens, or
      the options do not fit the model.
  """

  def __init__(
    self,
    model,
    vocabulary,
    do_lower_case=True,
    window_options=None,
    decoder_options=None,
    fixed_length=False,
    head=None,
  ):
    self.model = model
    self.window_options = window_options or WindowOptions()
    head = head or head_of_layer(model.head)
    check_sequence_length(model.backbone, self.window_options.max_seq_length)
    self.preprocessor = SpanPreprocessor(
      vocabulary, do_lower_case, self.window_options, pad_to_max=fixed_length
    )
    rows = encoder_config(model.backbone).vocabulary_size
    tokens = len(self.preprocessor.tokenizer.vocabulary)
    if tokens > rows:
      raise ValueError(
        f"The vocabulary has {tokens} tokens but the encoder only {rows} "
        "embeddings. Use the vocabulary that belongs to the checkpoint."
      )
    super().__init__(head, decoder_options or head.options_type())
    self.graph = self.make_graph()

  def make_graph(self, steps=None, on_windows=None):
    """The `AnswerGraph` with `StepOptions` and a callback of `WindowSteps`."""
    parts = (self.model, self.preprocessor, self.head, self.decoder_options)
    return AnswerGraph(*parts, steps, on_windows)

  def predict(self, examples, batch_size=None, on_logits=None):
    """Answers many questions.

    Args:
      examples: sequence of `SquadExample`.
      batch_size: windows that the model reads at once at most; None takes the
        max_windows_per_step of `StepOptions`.
      on_logits: called with the `WindowLogits` of each `example_batches`.

    Yields:
      Predictions of the head, in the order of `examples`.
    """
    if on_logits:
      for logits in self.window_logits(examples, batch_size):
        on_logits(logits)
        yield from self._decode(logits)
      return
    for batch in example_batches(examples):
      columns = self.graph.answer(*self._arguments(batch, batch_size))
      yield from self.head.predictions_of(batch, columns)

  def answer_over(self, question, contexts, top_k=None, index=None):
    """Answers a question from several passages, with a span head.

    Each passage has its own softmax. So answers are compared by how far their
    score is above that of "no answer" in the same passage, see
    benchmarks/RESULTS.md, "Passages to read".

    Args:
      question: str.
      contexts: list of str.
      top_k: read only so many passages, those that BM25 finds (extra
        "search"); None reads all.
      index: `PassageIndex` of the contexts, for several questions.

    Returns:
      List of `PassageAnswer`, best first, of the passages that have one.
    """
    numbers = range(len(contexts))
    if top_k is not None and top_k < len(contexts):
      numbers = (index or PassageIndex(contexts)).search(question, top_k)
    examples = [SquadExample(str(i), question, contexts[i]) for i in numbers]
    found = [
      PassageAnswer(i, answer_of(prediction), -prediction.null_odds)
      for i, prediction in zip(numbers, self.predict(examples), strict=True)
      if prediction.text
    ]
    return sorted(found, key=lambda item: item.margin, reverse=True)

  def window_logits(self, examples, batch_size=None):
    """Yields the `WindowLogits` of each `example_batches`; see `predict`."""
    for batch in example_batches(examples):
      found = self.graph.window_logits(*self._arguments(batch, batch_size))
      windows, logits = (
        {name: np.asarray(values) for name, values in tensors.items()}
        for tensors in found
      )
      yield WindowLogits(batch, windows, logits)

  @classmethod
  def from_preset(
    cls,
    preset,
    window_options=None,
    decoder_options=None,
    fixed_length=False,
    head=None,
    verify=True,
  ):
    """Loads a trained model.

    Args:
      preset: "minilm_squad", the model that comes with the package; a
        directory that `save_to_preset` or run_squad wrote; or a Hugging Face
        directory of a model with a question-answering head.
      window_options, decoder_options: None takes the saved ones.
      fixed_length: see the class.
      head: its `AnswerHead`; None finds the package's own by its saved name.
      verify: compare the files with the checksums they were saved with.

    Raises:
      ValueError: there is no such model, or it is damaged or has no head.
    """
    loaded = load_pretrained.load_pretrained(preset, verify=verify)
    config = read_span_config(preset) or {}
    head = head or find_head(config.get("head", "span"))
    if not head.weights_of(loaded):
      raise ValueError(
        f"{preset} is an encoder without a {head.name} head, so it cannot "
        "answer questions. Fine-tune it first: bert_span.run_squad --preset."
      )
    source = f"{preset}/{CONFIG_FILE}, decoder"
    saved = config.get("decoder", {})
    saved = options_from_json(head.options_type, saved, source)
    return cls(
      head.model_of(loaded),
      loaded.vocabulary(),
      config.get("do_lower_case", loaded.lower_case),
      window_options or WindowOptions(**config.get("window", {})),
      decoder_options or saved,
      fixed_length,
      head,
    )

  def save_to_preset(self, directory, selection=None, half_precision=False):
    """Writes the model as one directory, on a local disk whole or not at all.

    It holds KerasHub's preset of the encoder, the head, the vocabulary,
    span_config.json and checksums.json. An old model is replaced; other files
    in its directory stay. On a remote file system (gs://...) files are replaced
    one by one, span_config.json last.

    Args:
      directory: a local path or one of tf.io.gfile.
      selection: how the model was selected, for `write_selection`.
      half_precision: write the encoder's weights as float16, half as many
        bytes; they are read as float32.

    Raises:
      ValueError: the directory holds no model, or a weight exceeds float16.
    """
    directory = os.fspath(directory)
    if is_remote(directory):
      with tempfile.TemporaryDirectory() as local:
        self._write_weights(local, half_precision)
        model_directory.copy_to_remote(local, directory)
      self._write_config(directory, selection)
      return
    directory = os.path.realpath(directory)
    is_model = os.path.isfile(os.path.join(directory, CONFIG_FILE))
    is_empty = os.path.isdir(directory) and not os.listdir(directory)
    if os.path.lexists(directory) and not is_model and not is_empty:
      raise ValueError(
        f"{directory} is not replaced: it has no {CONFIG_FILE}, so it is no "
        "model of bert_span. Save the model in a new directory."
      )
    with unfinished_directory(directory) as unfinished:
      self._write_weights(unfinished, half_precision)
      self._write_config(unfinished, selection)
      model_directory.copy_other_files(directory, unfinished, [SELECTION_FILE])

  def fit(self, examples, options=None, output_dir=None, teachers=None):
    """Trains the model with the package's own training loop.

    Args:
      examples: sequence of `SquadExample`. A span head learns the first answer
        of each, none where `is_impossible`; a B/I/O head all annotators'.
      options: `FineTuningOptions`; None takes run_squad's defaults.
      output_dir: folder of checkpoints and event files, where a later call
        with the same arguments resumes; None keeps none.
      teachers: dict of names to `SpanExtractor`s whose outputs are learned,
        too, see fine_tuning/distillation.py.

    Returns:
      The number of steps of this call.

    Raises:
      ValueError: the examples, options or teachers do not fit the model.
    """
    options = options or FineTuningOptions()
    _check_places(examples, self.head.labels.every_annotator)
    training_set = training_set_of(self, examples, options, bool(teachers))
    with tempfile.TemporaryDirectory() as temporary:
      folder = temporary if output_dir is None else output_dir
      with locked_folder(folder):
        return fine_tune(self, training_set, options, folder, teachers=teachers)

  def export(self, path, format="tf_saved_model", **options):
    """Writes the model for a server or for devices, and checks the result.

    Args:
      path: for "tf_saved_model" the folder of all versions of the served model,
        which gets the next version; for "litert" the file, ending with .tflite.
      format: "tf_saved_model", for TensorFlow Serving, or "litert", TFLite.
      **options: of `export_saved_model`: version, steps, dtype, with_warmup; or
        of `TFLiteOptions`: quantization, dynamic_length, with_tokenizer, ...

    Returns:
      The path of the version, or of the file.

    Raises:
      ValueError: a check failed and nothing is written.
    """
    # Both import this module.
    from bert_span.jobs import export_saved_model, export_tflite

    if format == "tf_saved_model":
      return export_saved_model.export_saved_model(self, path, **options)[0]
    if format != "litert":
      raise ValueError(
        f"format must be tf_saved_model or litert. Received: {format!r}."
      )
    options = export_tflite.TFLiteOptions(**options)
    export_tflite.export_tflite(self, path, options)
    return path

  @functools.cached_property
  def _decode(self):
    return WindowDecoder(self.head, self.decoder_options)

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

  def _write_weights(self, directory, half_precision):
    tokenizer = self.preprocessor.tokenizer
    tokens = (tokenizer.full_vocabulary, tokenizer.do_lower_case)
    architecture = architecture_of(self.model.backbone)
    model_directory.save_span_model(self.model, directory, half_precision)
    model_directory.save_tokenizer(directory, *tokens, architecture)
    model_directory.write_checksums(directory)

  def _write_config(self, directory, selection):
    lower_case = self.preprocessor.tokenizer.do_lower_case
    options = (self.window_options, self.decoder_options)
    write_selection(directory, selection)
    config = span_config(lower_case, *options, self.head.name)
    write_span_config(directory, config)


def _check_places(examples, every_annotator):
  """Refuses answers to learn that are not at their place in the passage."""
  for example in examples:
    learned = () if example.is_impossible else example.answers[:1]
    if every_annotator:
      # Labels leave out the spans that a reader could not locate.
      spans = itertools.chain(*example.annotators)
      learned = [span for span in spans if span.char_start != NOT_LOCATED]
    for text, start in map(dataclasses.astuple, learned):
      if start < 0 or not text or not example.context.startswith(text, start):
        raise ValueError(
          f"question {example.qas_id}: the answer {shortened(text)} is not at "
          f"char_start {start} of its passage. Correct the offset, in "
          "characters, or remove the question."
        )
