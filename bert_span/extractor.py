"""SpanExtractor: tokenizer, windows, model and decoder as one object."""

import os
import shutil
import tempfile
import uuid
from typing import NamedTuple

import tensorflow as tf

from bert_span import heads
from bert_span.best_model import write_selection
from bert_span.data.atomic_file import replace_directory
from bert_span.data.input_pipeline import INPUT_SPECS, window_batches
from bert_span.data.squad_example import SquadExample
from bert_span.fine_tuning import FineTuningOptions, fine_tune
from bert_span.modeling import initialization, model_directory
from bert_span.modeling.encoder import check_sequence_length
from bert_span.span_config import (
  CONFIG_FILE,
  read_span_config,
  write_span_config,
)
from bert_span.text.preprocessor import SpanPreprocessor
from bert_span.text.tokenizer_files import save_tokenizer
from bert_span.text.vocabulary import load_vocabulary
from bert_span.text.windows import WindowOptions
from bert_span.window_scorer import WindowScorer


class Answer(NamedTuple):
  """An answer: `context[char_start:char_end]`.

  Attributes:
    text: the answer's characters; "" for "no answer".
    char_start, char_end: half-open offsets into the context in characters.
    score: what answers are compared by, see `SpanDecoder`.
    probability: see `SpanDecoder`.
  """

  text: str
  char_start: int
  char_end: int
  score: float
  probability: float


class SpanExtractor:
  """Answers questions with spans of their passages.

  Example:

  ```python
  extractor = SpanExtractor.from_preset("output/model")
  extractor.answer(question="Who came?", context="John Smith came.")
  # Answer(text="John Smith", char_start=0, char_end=10, ...)
  ```

  Args:
    model: a `SpanModel`, or a `TagModel` for answers of several spans.
    vocabulary: list of tokens, the index is the id.
    do_lower_case: lower-case and strip accents (uncased models).
    window_options: `WindowOptions`.
    decoder_options: `DecoderOptions`, or `TagDecoderOptions` for a `TagModel`.
    fixed_length: pad every window to max_seq_length, as the original; else
      padding depends on the batch, and no position of it is ever scored.
  """

  def __init__(
    self,
    model,
    vocabulary,
    do_lower_case=True,
    window_options=None,
    decoder_options=None,
    fixed_length=False,
  ):
    self.model = model
    self.window_options = window_options or WindowOptions()
    self.head = heads.head_of(model)
    self.decoder_options = decoder_options or heads.decoder_options(self.head)
    check_sequence_length(model.backbone, self.window_options.max_seq_length)
    self._check_vocabulary_size(vocabulary)
    self.preprocessor = SpanPreprocessor(
      vocabulary, do_lower_case, self.window_options, pad_to_max=fixed_length
    )
    # Traced once, for whoever asks one question at a time.
    self._make_windows = tf.function(
      self.preprocessor, input_signature=[INPUT_SPECS]
    )
    self._decode = heads.window_decoder(self.head, self.decoder_options)
    self._score_windows = WindowScorer(model, fixed_length)

  @classmethod
  def from_preset(
    cls, preset, window_options=None, decoder_options=None, fixed_length=False
  ):
    """Loads a trained model.

    Args:
      preset: directory that `save_to_preset` or run_squad wrote, or a Hugging
        Face directory of a BERT with a question-answering head.
      window_options: `WindowOptions`; None takes those the model was saved
        with.
      decoder_options: those of its head, likewise.
      fixed_length: see the class.

    Returns:
      A `SpanExtractor`.

    Raises:
      ValueError: there is no such model, or it has no trained head.
    """
    loaded = initialization.load_pretrained(preset)
    config = read_span_config(preset) or {}
    head = config.get("head", heads.SPAN)
    if not heads.has_head(loaded, head):
      raise ValueError(
        f"{preset} is an encoder without a {head} head, so it cannot answer "
        "questions yet. Fine-tune it with bert_span.run_squad --preset first."
      )
    return cls(
      heads.model_of(loaded, head),
      load_vocabulary(loaded.vocabulary_path),
      config.get("do_lower_case", loaded.lower_case),
      window_options or WindowOptions(**config.get("window", {})),
      decoder_options or heads.decoder_options(head, config.get("decoder")),
      fixed_length,
    )

  def save_to_preset(self, directory, selection=None):
    """Writes the model as one directory, on a local disk whole or not at all.

    It holds KerasHub's preset of the encoder, the head, the vocabulary
    and span_config.json. An old model of that name is replaced; on a remote
    file system (gs://...) file by file, span_config.json last.

    Args:
      directory: a local path or one of tf.io.gfile.
      selection: how the model was chosen, for `write_selection`.

    Raises:
      ValueError: something else than a model stands there.
    """
    directory = os.fspath(directory)
    if model_directory.is_remote(directory):
      self._write_files(directory, selection)
      return
    directory = os.path.realpath(directory)
    _check_may_replace(directory)
    unfinished = f"{directory}.{uuid.uuid4().hex}.tmp"
    os.makedirs(unfinished)
    try:
      self._write_files(unfinished, selection)
      replace_directory(unfinished, directory)
    finally:
      shutil.rmtree(unfinished, ignore_errors=True)

  def fit(self, examples, options=None, output_dir=None):
    """Trains the model with the package's own training loop.

    Args:
      examples: sequence of `SquadExample`; the first answer of each is
        trained on, none where `is_impossible`. A B/I/O head learns from all
        of its annotators.
      options: `FineTuningOptions`; None takes run_squad's defaults.
      output_dir: folder of checkpoints and event files, where a later call
        with the same arguments goes on; None keeps none.

    Returns:
      The number of steps made by this call.
    """
    options = options or FineTuningOptions()
    if output_dir is not None:
      return fine_tune(self, examples, options, output_dir)
    with tempfile.TemporaryDirectory() as temporary_dir:
      return fine_tune(self, examples, options, temporary_dir)

  def answer(self, question, context, n_best=1):
    """Answers one question, or several.

    Args:
      question: str, or a list of str.
      context: str, or a list of as many str.
      n_best: answers for each question; of a B/I/O head its spans with the
        best scores.

    Returns:
      For one question an `Answer`, or with n_best above 1 a list of `Answer`,
      by score; for a list of questions a list of these. Whether there is an
      answer at all is decided by n_best=1 alone: it weighs the null threshold.
    """
    if isinstance(question, str) != isinstance(context, str):
      raise _mixed_error(question, context)
    largest = getattr(self.decoder_options, "n_best_size", n_best)
    if not 1 <= n_best <= largest:
      raise ValueError(
        "n_best must be between 1 and the decoder's n_best_size, "
        f"{largest}. Received: {n_best}."
      )
    if isinstance(question, str):
      return self.answer([question], [context], n_best)[0]
    predictions = self.predict(_examples(question, context))
    return [_answers(p, n_best) for p in predictions]

  def answers(self, question, context):
    """The answer to one question, or to several, as a list of spans.

    A B/I/O head finds any number of spans, a span head one at most.

    Args:
      question: str, or a list of str.
      context: str, or a list of as many str.

    Returns:
      For one question a list of `Answer` in order of position, [] for "no
      answer"; for a list of questions a list of these.
    """
    if isinstance(question, str) and isinstance(context, str):
      return self.answers([question], [context])[0]
    if self.head == heads.SPAN:
      best = self.answer(question, context)
      return [[answer] if answer.text else [] for answer in best]
    predictions = self.predict(_examples(question, context))
    return [[Answer(*_fields(s)) for s in p.spans] for p in predictions]

  def predict(self, examples, batch_size=8, on_logits=None):
    """Answers many questions.

    Args:
      examples: sequence of `SquadExample`.
      batch_size: windows the model reads at once.
      on_logits: called with the logits of each chunk of examples, see
        `window_logits`.

    Yields:
      `Prediction`, or `TagPrediction` of a B/I/O head, in the order of
      `examples`.
    """
    for logits in self.window_logits(examples, batch_size):
      if on_logits:
        on_logits(logits)
      yield from self.decode(logits)

  def window_logits(self, examples, batch_size=8):
    """Runs the model on the windows of many questions.

    Args:
      examples: sequence of `SquadExample`.
      batch_size: windows the model reads at once.

    Yields:
      `WindowLogits` of the examples of one `example_batches` at a time, in
      order.
    """
    for batch, windows in window_batches(examples, self._make_windows):
      logits = self._score_windows(windows, batch_size)
      yield heads.window_logits(self.head, batch, windows, logits)

  def decode(self, logits):
    """Turns logits into answers.

    Args:
      logits: what `window_logits` gives.

    Returns:
      List of `Prediction` or `TagPrediction`, one per example.
    """
    return self._decode(logits)

  def _write_files(self, directory, selection):
    tokenizer = self.preprocessor.tokenizer
    write_selection(directory, selection)
    model_directory.save_span_model(self.model, directory)
    save_tokenizer(directory, tokenizer.vocabulary, tokenizer.do_lower_case)
    write_span_config(
      directory,
      tokenizer.do_lower_case,
      self.window_options,
      self.decoder_options,
      self.head,
    )

  def _check_vocabulary_size(self, vocabulary):
    rows = self.model.backbone.vocabulary_size
    if len(vocabulary) > rows:
      raise ValueError(
        f"The vocabulary has {len(vocabulary)} tokens but the encoder only "
        f"{rows} embeddings. Use the vocab.txt that belongs to the checkpoint."
      )


def _mixed_error(question, context):
  return ValueError(
    "question and context must both be strings or both be lists. "
    f"Received: {type(question).__name__} and {type(context).__name__}."
  )


def _examples(questions, contexts):
  """Questions and passages as examples."""
  if isinstance(questions, str) or isinstance(contexts, str):
    raise _mixed_error(questions, contexts)
  if len(questions) != len(contexts):
    raise ValueError(
      "question and context must have the same length. Received: "
      f"{len(questions)} and {len(contexts)}."
    )
  return [
    SquadExample(str(i), question, context)
    for i, (question, context) in enumerate(
      zip(questions, contexts, strict=True)
    )
  ]


def _check_may_replace(directory):
  """Refuses to remove what is no model: a home directory, say."""
  if not os.path.lexists(directory):
    return
  if os.path.isdir(directory) and (
    not os.listdir(directory)
    or os.path.isfile(os.path.join(directory, CONFIG_FILE))
  ):
    return
  raise ValueError(
    f"{directory} is no model of bert_span (it has no {CONFIG_FILE}), so it is "
    "not replaced by one. Save the model in a new directory."
  )


def _answers(prediction, n_best):
  if n_best > 1:
    return [Answer(*_fields(entry)) for entry in prediction.n_best[:n_best]]
  return Answer(*_fields(prediction))


def _fields(answer):
  """The fields of `Answer` in its order."""
  return (getattr(answer, name) for name in Answer._fields)
