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
from collections import abc

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.options.messages import shortened
from bert_span.presets import hub
from bert_span.squad.example import SquadExample, question_pairs
from bert_span.storage.log import log_line
from bert_span.text.options import NUM_SPECIAL_TOKENS, WindowOptions

# Letters and digits. Each Chinese character is a word.
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[^\W_{_HAN}]+")
# Settings of the pipeline -> fields of `WindowOptions`.
_WINDOW_FIELDS = {
  "max_seq_len": "max_seq_length",
  "max_question_len": "max_query_length",
}
# The smallest values of settings that are whole numbers.
_MINIMA = {
  **dict.fromkeys(("top_k", "max_answer_len", "batch_size"), 1),
  **dict.fromkeys(("max_seq_len", "max_question_len"), 1),
  "doc_stride": 0,
}
_BOOLEANS = ("handle_impossible_answer", "align_to_words")
# Arguments of transformers on which no answer depends here.
_UNUSED = (
  *("device", "device_map", "framework", "torch_dtype", "dtype", "num_workers"),
  *("use_fast", "padding", "truncation", "low_cpu_mem_usage", "modelcard"),
  *("feature_extractor", "image_processor", "processor", "trust_remote_code"),
  "binary_output",
)


def pipeline(
  task="question-answering",
  model=None,
  config=None,
  tokenizer=None,
  revision=None,
  token=None,
  use_auth_token=None,
  local_files_only=False,
  model_kwargs=None,
  **settings,
):
  """Makes a `QuestionAnsweringPipeline`.

  Args:
    task: "question-answering", the only one.
    model: a `SpanExtractor`, or what `SpanExtractor.from_preset` takes, or the
      name of a model on Hugging Face's hub, such as
      "deepset/minilm-uncased-squad2". None takes minilm_squad.
    config, tokenizer: None, or the name of the model again.
    revision, token, use_auth_token, local_files_only: for a name on the hub,
      see `bert_span.presets.hub.fetch`.
    model_kwargs: dict of further settings.
    **settings: defaults of the arguments of its calls. Arguments of
      transformers on which no answer depends, such as device, framework and
      torch_dtype, are named in the log and not used.

  Raises:
    ValueError: there is no such task or model, the model has another head, or
      an argument is wrong or unknown.
  """
  if task != "question-answering":
    raise ValueError(
      f"bert_span has the task 'question-answering' only. Received: {task!r}."
    )
  settings = _checked_settings({**settings, **(model_kwargs or {})})
  _check_is_of_model("config", config, model)
  _check_is_of_model("tokenizer", tokenizer, model)
  if model is None:
    model = "minilm_squad"
    log_line(f"No model was given: {model}, which comes with the package.")
  if not isinstance(model, SpanExtractor):
    if not isinstance(model, (str, os.PathLike)):
      raise ValueError(
        "model must be a directory, a name or a SpanExtractor. Received: "
        f"{type(model).__name__}."
      )
    window_options = {
      field: settings[name]
      for name, field in _WINDOW_FIELDS.items()
      if name in settings
    }
    name = os.fspath(model)
    if not os.path.isdir(name):
      name = hub.with_scheme(name)
    if revision:
      name = f"{name}@{revision}"
    folder = hub.fetch(name, token or use_auth_token, local_files_only)
    # As in transformers, "no answer" is for handle_impossible_answer to allow.
    model = SpanExtractor.from_preset(
      folder,
      version_2_with_negative=bool(settings.get("handle_impossible_answer")),
      **window_options,
    )
  return QuestionAnsweringPipeline(model, **settings)


class QuestionAnsweringPipeline:
  """Answers as transformers' class of that name, with a `SpanExtractor`.

  Arguments and answers are those of transformers 4, with these differences:

  - "score" is a probability over all windows of the passage, calibrated if the
    model is. In transformers each window has its own probabilities, so that a
    window without the answer can have a high score.
  - With handle_impossible_answer the model's null threshold decides, by the
    scores over all windows. It is 0 if the model has none.
  - Windows share at least doc_stride tokens, not exactly as many.
  - A question is cut at max_question_len, and the log says so once.
    transformers' fast tokenizers do not cut it.
  """

  def __init__(self, extractor, **settings):
    if extractor.head_name != SpanExtractor.head_name:
      raise ValueError(
        f"The pipeline needs a model with a {SpanExtractor.head_name} head. "
        f"Received: a model with a {extractor.head_name} head. Ask it without "
        "a pipeline: bert_span.Extractor.from_preset(...).answers(question, "
        "context)."
      )
    self.extractor = extractor
    self._logged = set()
    self._settings = self._used_settings(settings)
    # The graph of an extractor with other options is traced once.
    self._extractor_with = functools.lru_cache(4)(self._extractor_with)

  def __call__(
    self,
    *inputs,
    question=None,
    context=None,
    data=None,
    X=None,
    **settings,
  ):
    """Answers questions.

    Args:
      *inputs: rows, or one list, iterator or dataset of rows, or two str. A row
        is a dict of question and context, or a `SquadExample` of this package
        or of transformers; a dict of lists is several rows.
      question, context: str, or lists of str; several questions may have one
        passage.
      data, X: further inputs.
      top_k: highest number of answers for a question; topk is the same.
      doc_stride: lowest number of tokens that two windows share; at most three
        quarters of a window.
      max_answer_len: tokens of the longest answer.
      max_seq_len: tokens of a window.
      max_question_len: tokens of the question that are read.
      handle_impossible_answer: whether "" can be an answer.
      align_to_words: whether answers are widened to whole words.
      batch_size: highest number of windows that are read at once.
      **settings: all these are settings, see `pipeline`; None takes the
        default.

    Returns:
      A dict of score, start, end (characters of the passage, half-open) and
      answer; with top_k above 1 a list of them. For several questions, an
      iterator or a dataset it is a list of these.

    Raises:
      ValueError: an input or a setting is wrong.
    """
    settings = {**self._settings, **self._used_settings(settings)}
    for rows in (data, X):
      inputs = inputs if rows is None else (*inputs, rows)
    pairs, is_list = _pairs(inputs, question, context)
    results = self._answer_pairs(pairs, **settings)
    return results[0] if len(results) == 1 and not is_list else results

  @staticmethod
  def create_sample(question, context):
    """Returns a `SquadExample`, for lists a list of them."""
    pairs = question_pairs(question, context)
    examples = [SquadExample(str(i), *pair) for i, pair in enumerate(pairs)]
    return examples[0] if isinstance(question, str) else examples

  def _used_settings(self, settings):
    """Returns the settings that are used; logs the others once."""
    settings = _checked_settings(settings)
    unused = [name for name in settings if name in _UNUSED]
    self._log_once(
      unused, f"Not used, as no answer depends on it: {', '.join(unused)}"
    )
    return {n: value for n, value in settings.items() if n not in unused}

  def _log_once(self, names, line):
    if not self._logged.issuperset(names):
      log_line(line)
    self._logged.update(names)

  def _answer_pairs(
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
  ):
    longest = self.extractor.backbone.max_sequence_length
    max_seq_len = max_seq_len or min(longest, 384)
    if doc_stride is None:
      doc_stride = min(max_seq_len // 2, 128)
    if doc_stride >= max_seq_len:
      raise ValueError(
        "doc_stride, the tokens that two windows share, must be less than "
        f"max_seq_len ({max_seq_len}). Received: {doc_stride}."
      )
    # `room` is the number of passage tokens in a window with the longest
    # question. The step is at least a quarter of it, to limit the windows.
    separators = self.extractor.preprocessor.sliding_windows.num_separators
    num_special = NUM_SPECIAL_TOKENS - 1 + separators
    room = max_seq_len - max_question_len - num_special
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
    extractor = self._extractor_with(windows, decoder)
    examples = [SquadExample(str(i), *pair) for i, pair in enumerate(pairs)]
    results = []
    predictions = extractor.predictions(examples, batch_size)
    for example, prediction in zip(examples, predictions, strict=True):
      if prediction.answer.question_truncated:
        self._log_once(
          ["max_question_len"],
          f"The question {shortened(example.question)} has more tokens than "
          f"max_question_len={max_question_len}: the rest of it is not read.",
        )
      answers = _merged_answers(prediction, example.context, align_to_words)
      answers = answers[:top_k]
      results.append(answers[0] if len(answers) == 1 else answers)
    return results

  def _extractor_with(self, windows, decoder):
    """Returns the extractor with other options; weights are shared."""
    preprocessor = self.extractor.preprocessor
    config = preprocessor.get_config() | {
      "options": dataclasses.asdict(windows)
    }
    preprocessor = type(preprocessor).from_config(config)
    return SpanExtractor(
      self.extractor.backbone, preprocessor, decoder, self.extractor.head
    )


def _checked_settings(settings):
  """Returns the settings that are not None; ValueError for a wrong one."""
  settings = {n: value for n, value in settings.items() if value is not None}
  if "topk" in settings:
    settings.setdefault("top_k", settings["topk"])
    del settings["topk"]
  for name, value in settings.items():
    if name in _MINIMA:
      is_valid = type(value) is int and value >= _MINIMA[name]
      rule = f"a whole number of at least {_MINIMA[name]}"
    elif name in _BOOLEANS:
      is_valid, rule = isinstance(value, bool), "True or False"
    elif name not in _UNUSED:
      raise ValueError(
        f"The pipeline has no argument {name}. It has "
        f"{', '.join((*_MINIMA, *_BOOLEANS))}, and takes without using them "
        f"{', '.join(_UNUSED)}."
      )
    else:
      continue
    if not is_valid:
      raise ValueError(f"{name} must be {rule}. Received: {value!r}.")
  return settings


def _check_is_of_model(argument, value, model):
  """Raises ValueError for a tokenizer or config that may be another model's."""
  if value is None:
    return
  # In transformers it may be a pair of a name and options, or an object.
  name = value[0] if isinstance(value, tuple) else value
  name = getattr(name, "name_or_path", name)
  paths = [x for x in (name, model) if isinstance(x, (str, os.PathLike))]
  if len(paths) < 2 or len({*map(os.path.abspath, paths)}) > 1:
    raise ValueError(
      f"{argument} must be the name of the model again. Received: "
      f"{shortened(value)}. Leave it out, or put its files into the directory "
      "of the model."
    )


def _pairs(inputs, question, context):
  """Returns the pairs of question and passage, and whether to return a list."""
  if inputs and not (question is None and context is None):
    raise ValueError("Give question and context by name, or other inputs.")
  if not inputs:
    inputs = [{"question": question, "context": context}]
  elif len(inputs) == 2 and all(isinstance(text, str) for text in inputs):
    inputs = [{"question": inputs[0], "context": inputs[1]}]
  is_list = False
  if len(inputs) == 1 and not _is_row(inputs[0]):
    (inputs,) = inputs
    if isinstance(inputs, str) or not isinstance(inputs, abc.Iterable):
      raise ValueError(
        "The input must be a dict with question and context, a SquadExample, "
        f"or several of them. Received: {shortened(inputs)}."
      )
    is_list = not isinstance(inputs, (list, tuple))
  pairs = []
  for i, row in enumerate(inputs):
    texts = _row_texts(row)
    if texts is None:
      raise ValueError(
        f"input {i} must be a dict with question and context, or a "
        f"SquadExample. Received: {shortened(row)}."
      )
    is_list |= any(isinstance(value, abc.Iterator) for value in texts)
    try:
      pairs += question_pairs(
        *(list(x) if isinstance(x, abc.Iterator) else x for x in texts)
      )
    except ValueError as error:
      raise ValueError(f"input {i}: {error}") from error
  for i, pair in enumerate(pairs):
    for name, text in zip(("question", "context"), pair, strict=True):
      if not text:
        raise ValueError(f"The {name} of input {i} cannot be empty.")
  return pairs, is_list


def _is_row(row):
  return isinstance(row, abc.Mapping) or _row_texts(row) is not None


def _row_texts(row):
  """Returns the question and the context of a row; None if it lacks one."""
  if isinstance(row, abc.Mapping):
    names = ("question", "context")
    return tuple(row[n] for n in names) if {*names} <= {*row} else None
  for names in (("question", "context"), ("question_text", "context_text")):
    if all(hasattr(row, name) for name in names):
      return tuple(getattr(row, name) for name in names)
  return None


def _merged_answers(prediction, context, align_to_words):
  """Returns the answers of a `Prediction` as dicts, its own answer first.

  Entries of the n-best list with the same span are one answer, with the sum of
  their probabilities.
  """
  scores = {}
  for i, entry in enumerate((prediction.answer, *prediction.n_best)):
    start, end = entry.char_start, entry.char_end
    if align_to_words and start < end:
      start, end = _widened_span(context, start, end)
    # The answer itself is an entry of the n-best list, too.
    score = entry.probability if i else 0.0
    scores[start, end] = scores.get((start, end), 0.0) + score
  (first, *alternatives) = scores.items()
  alternatives.sort(key=lambda item: -item[1])
  return [
    {"score": score, "start": start, "end": end, "answer": context[start:end]}
    for (start, end), score in (first, *alternatives)
  ]


def _widened_span(text, start, end):
  """Returns the offsets of a span, moved to the ends of words."""
  while start > 0 and _WORD.fullmatch(text[start - 1 : start + 1]):
    start -= 1
  while end < len(text) and _WORD.fullmatch(text[end - 1 : end + 1]):
    end += 1
  return start, end
