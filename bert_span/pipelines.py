"""The question-answering pipeline of transformers 4, which version 5 dropped.

from bert_span.pipelines import pipeline

qa = pipeline("question-answering", model="minilm_squad")
qa(question="Who came?", context="John Smith came.")
# {"score": 0.98, "start": 0, "end": 10, "answer": "John Smith"}
"""

import dataclasses
import functools
import os
import re

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.squad.example import SquadExample, question_pairs
from bert_span.text.options import NUM_SPECIAL_TOKENS, WindowOptions

# Letters and digits; each Chinese character is a word of its own.
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[^\W_{_HAN}]+")
_SIZES = (
  ("max_seq_len", "max_seq_length"),
  ("max_question_len", "max_query_length"),
)


def pipeline(task="question-answering", model="minilm_squad", **settings):
  """Makes a `QuestionAnsweringPipeline`.

  Args:
    task: "question-answering", the only one.
    model: what `SpanExtractor.from_preset` takes, or a `SpanExtractor`; or the
      name of a Hugging Face model, such as "deepset/tinyroberta-squad2", that
      is in the local cache. Nothing is downloaded.
    **settings: arguments of its calls that become their defaults.

  Raises:
    ValueError: the task is another one, or there is no such model.
  """
  if task != "question-answering":
    raise ValueError(
      f"bert_span has the task 'question-answering' only. Received: {task!r}."
    )
  if not isinstance(model, SpanExtractor):
    sizes = {new: settings[old] for old, new in _SIZES if old in settings}
    model = SpanExtractor.from_preset(_cached_folder(os.fspath(model)), **sizes)
  return QuestionAnsweringPipeline(model, **settings)


class QuestionAnsweringPipeline:
  """Answers as transformers' class of that name, over a `SpanExtractor`.

  The arguments are those of transformers 4, the answers, too, but for this:

  - "score" is a probability over all windows of the passage, calibrated if the
    model is. In transformers each window has probabilities of its own, so that
    one without the answer can give a high one.
  - With handle_impossible_answer the model's null threshold decides, 0 if it
    has none, by the scores over all windows.
  - Windows share doc_stride tokens at least, not exactly.
  """

  def __init__(self, extractor, **settings):
    self.extractor = extractor
    self._settings = settings
    # With the settings of one call: their graph is traced once.
    self._with_options = functools.lru_cache(4)(self._with_options)

  def __call__(self, *inputs, question=None, context=None, **settings):
    """Answers questions.

    Args:
      *inputs: dicts or a list of dicts of question and context, or two str.
      question, context: str, or lists of str; one passage serves several
        questions.
      top_k: answers for a question at most.
      doc_stride: tokens that two windows share at least, or three quarters of
        a window if it is more.
      max_answer_len: tokens of the longest answer.
      max_seq_len: tokens of a window.
      max_question_len: tokens of the question that are read.
      handle_impossible_answer: whether "" can be an answer.
      align_to_words: widen answers to whole words.
      batch_size: windows that are read at once.
      padding: accepted for transformers' sake; no answer depends on it.

    Returns:
      A dict of score, start, end (characters of the passage, half-open) and
      answer; with top_k above 1 a list of them. Of several questions a list of
      these.

    Raises:
      ValueError: an input or a setting is wrong.
    """
    settings = {**self._settings, **settings}
    pairs = _pairs(inputs, question, context)
    results = self._answers(pairs, **settings)
    return results[0] if len(results) == 1 else results

  def _answers(
    self,
    pairs,
    top_k=1,
    doc_stride=None,
    max_answer_len=15,
    max_seq_len=None,
    max_question_len=64,
    handle_impossible_answer=False,
    align_to_words=True,
    batch_size=None,
    padding=None,
  ):
    if top_k < 1:
      raise ValueError(f"top_k must be at least 1. Received: {top_k}.")
    longest = self.extractor.backbone.max_sequence_length
    max_seq_len = max_seq_len or min(longest, 384)
    if doc_stride is None:
      doc_stride = min(max_seq_len // 2, 128)
    if not 0 <= doc_stride < max_seq_len:
      raise ValueError(
        "doc_stride, the tokens that two windows share, must be less than "
        f"max_seq_len ({max_seq_len}). Received: {doc_stride}."
      )
    # Passage tokens of a window with the longest question, and of them those
    # from its start to that of the next: not so few that windows are countless.
    room = max_seq_len - max_question_len - NUM_SPECIAL_TOKENS
    step = max(room - doc_stride, room // 4, 1)
    windows = WindowOptions(max_seq_len, step, max_question_len)
    saved = self.extractor.decoder_options
    decoder = DecoderOptions(
      n_best_size=max(saved.n_best_size, 2 * top_k + 10),
      max_answer_length=max_answer_len,
      version_2_with_negative=handle_impossible_answer,
      null_score_diff_threshold=saved.null_score_diff_threshold,
      temperature=saved.temperature or 1.0,
      log_odds_shift=saved.log_odds_shift,
    )
    extractor = self._with_options(windows, decoder)
    examples = [SquadExample(str(i), *pair) for i, pair in enumerate(pairs)]
    results = []
    predictions = extractor.predictions(examples, batch_size)
    for example, found in zip(examples, predictions, strict=True):
      answers = _merged(found, example.context, align_to_words)[:top_k]
      results.append(answers[0] if len(answers) == 1 else answers)
    return results

  def _with_options(self, windows, decoder):
    """The extractor with other options; weights are shared."""
    old = self.extractor.preprocessor
    config = old.get_config() | {"options": dataclasses.asdict(windows)}
    preprocessor = type(old).from_config(config)
    return SpanExtractor(
      self.extractor.backbone, preprocessor, decoder, self.extractor.head
    )


def _pairs(inputs, question, context):
  """Pairs of question and passage, of the arguments of a call."""
  if inputs:
    if all(isinstance(each, str) for each in inputs) and len(inputs) == 2:
      inputs = [dict(zip(("question", "context"), inputs, strict=True))]
    elif len(inputs) == 1 and not isinstance(inputs[0], dict):
      inputs = inputs[0]
    for i, each in enumerate(inputs):
      if not isinstance(each, dict) or not {"question", "context"} <= {*each}:
        raise ValueError(
          f"input {i} must be a dict with question and context. Received: "
          f"{each!r:.80}."
        )
    question = [each["question"] for each in inputs]
    context = [each["context"] for each in inputs]
  elif isinstance(context, str) and not isinstance(question, str):
    context = [context] * len(question or ())
  pairs = list(question_pairs(question, context))
  for i, pair in enumerate(pairs):
    for name, text in zip(("question", "context"), pair, strict=True):
      if not text:
        raise ValueError(f"The {name} of input {i} cannot be empty.")
  return pairs


def _merged(prediction, text, align_to_words):
  """The answers of a `Prediction`, the one that it gives first."""
  answers = {}
  for entry in (prediction, *prediction.n_best):
    start, end = entry.char_start, entry.char_end
    if align_to_words and start < end:
      start, end = _widened(text, start, end)
    score = 0.0 if entry is prediction else entry.probability
    answers[start, end] = answers.get((start, end), 0.0) + score
  (first, *others) = answers.items()
  others.sort(key=lambda item: -item[1])
  return [
    {"score": score, "start": start, "end": end, "answer": text[start:end]}
    for (start, end), score in (first, *others)
  ]


def _widened(text, start, end):
  """Offsets of a span, moved to the ends of words."""
  while start > 0 and _WORD.fullmatch(text[start - 1 : start + 1]):
    start -= 1
  while end < len(text) and _WORD.fullmatch(text[end - 1 : end + 1]):
    end += 1
  return start, end


def _cached_folder(model):
  """The folder of a model's name in the cache of Hugging Face, or the name."""
  if os.path.isdir(model) or not re.fullmatch(r"[\w.-]+/[\w.-]+", model):
    return model
  import huggingface_hub  # Half a second, for such names only.

  try:
    return huggingface_hub.snapshot_download(model, local_files_only=True)
  except OSError as error:
    raise ValueError(
      f"There is no directory {model!r}, and no model of that name in the "
      f"local cache. Download it first: hf download {model}"
    ) from error
