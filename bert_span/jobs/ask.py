"""What ask does: answers questions on a passage or on many documents."""

import contextlib
import functools
import json
import os
import sys
import typing
from typing import NamedTuple

import tensorflow as tf
import tqdm

from bert_span.data.preprocessor import cut_question_line
from bert_span.extractors.extractor import Extractor
from bert_span.extractors.loading import (
  check_n_best,
  load_extractor,
  merged_options,
)
from bert_span.presets.span_config import CONFIG_FILE
from bert_span.reporting.answer_text import (
  answer_text,
  ranked_answers,
  ranked_text,
)
from bert_span.reporting.passages import one_line
from bert_span.search.documents import LIMIT_REMEDY, read_passages
from bert_span.search.passage_index import PassageIndex
from bert_span.squad.example import SquadExample
from bert_span.storage.files import decode_utf8, read_bytes
from bert_span.storage.log import log_line
from bert_span.tflite.file import is_tflite, read_packed_config
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor

if typing.TYPE_CHECKING:
  from bert_span.ask import AskOptions

_STDIN = "standard input"
# Characters of a passage up to which a single question is answered faster
# eagerly than by a graph, which takes two seconds to trace.
_SHORT_PASSAGE = 10_000
# Characters above which reading takes long enough for a progress bar.
_LONG_PASSAGE = 100_000


class _Layout(NamedTuple):
  """How answers are printed."""

  n_best: int  # answers of a span head to print
  is_json: bool  # one JSON object a question, in a line
  blank_lines: bool  # an empty line after each answer
  show_questions: bool  # the question before each answer

  def show(self, question, text):
    if self.show_questions:
      print(f"Question: {one_line(question)}")
    print(text, *[""] * self.blank_lines, sep="\n", flush=True)


def ask(options: "AskOptions"):
  """Prints the answers to questions on a passage or documents, one by one."""
  # Before the model is loaded, so that a wrong path is reported first.
  if options.context_glob is None:
    context = _read_passage(options)
  else:
    passages = read_passages(
      options.context_glob, options.context_field, options.max_document_bytes
    )
    texts = [passage.text for passage in passages]
    index = PassageIndex(texts, options.search_index)
  extractor = _load(options)
  check_n_best(options, extractor.decoder_options)
  has_several = len(options.question) != 1
  is_typed = not options.question and sys.stdin.isatty()
  questions = options.question or _entered_questions()
  layout = _Layout(
    options.n_best,
    options.json,
    blank_lines=has_several,
    show_questions=has_several and not is_typed,
  )
  if options.context_glob is None:
    _ask_passage(extractor, context, questions, layout)
    return
  for question in questions:
    _log_cut_question(extractor, question)
    answers = extractor.answer_over(question, texts, options.top_k, index)
    answers = [(passages[a.passage], a) for a in answers[: layout.n_best]]
    _show_ranked(question, answers, layout)


def _load(options):
  """Returns the extractor of a model directory or of a .tflite file."""
  model = options.model
  if not is_tflite(model):
    return load_extractor(options, dtype=options.dtype)
  if options.is_given("dtype"):
    raise ValueError("`dtype` is fixed in a .tflite file. Leave it out.")
  if options.context_glob is not None:
    raise ValueError(
      "context_glob needs a model directory: a .tflite file answers questions "
      "about one passage, context_file."
    )
  config = read_packed_config(model)
  path = f"{model}, {CONFIG_FILE}"
  return TFLiteSpanExtractor(model, *merged_options(options, config, path))


def _read_passage(options):
  """Returns the passage; without context and context_file from stdin."""
  source, context, path = "`context`", options.context, options.context_file
  if path not in (None, "-"):
    content = read_bytes(path, options.max_document_bytes, LIMIT_REMEDY)
    source, context = path, decode_utf8(content, f"{path}:")
  elif context is None:
    source = _STDIN
    context = decode_utf8(sys.stdin.buffer.read(), f"{_STDIN}:")
  if not context.strip():
    raise ValueError(
      f"{source}: the passage is empty, so it has no answer. Give its text."
    )
  return context


def _entered_questions():
  """Yields the questions typed at a terminal, or the lines of a pipe."""
  if sys.stdin.isatty():
    yield from _typed_questions()
    return
  for number, line in enumerate(sys.stdin.buffer, start=1):
    source = f"{_STDIN}, line {number}"
    question = decode_utf8(line, f"{source}:").strip()
    if not question:
      raise ValueError(f"{source}: the question is empty. Remove the line.")
    yield question


def _typed_questions():
  with contextlib.suppress(ImportError):  # Windows does not have it.
    import readline  # noqa: F401 -- gives input() history and cursor keys

  print("Ctrl-D ends.", file=sys.stderr)
  while True:
    try:
      question = input("Question: ").strip()
    except (EOFError, KeyboardInterrupt):
      print(file=sys.stderr)
      return
    if question:
      yield question
    else:
      print("The question is empty.", file=sys.stderr)


def _ask_passage(extractor, context, questions, layout):
  predictions = extractor.predictions
  if len(context) > _LONG_PASSAGE:
    log_line(f"Reading a passage of {len(context):,} characters ...")
    if isinstance(extractor, Extractor):
      graph = extractor.make_graph(on_windows=_WindowsBar())
      predictions = functools.partial(predictions, graph=graph)
  is_single = isinstance(questions, tuple) and len(questions) == 1
  before = tf.config.functions_run_eagerly()
  if is_single and len(context) <= _SHORT_PASSAGE:
    tf.config.run_functions_eagerly(True)
  try:
    for question in questions:
      _log_cut_question(extractor, question)
      (prediction,) = predictions([SquadExample("question", question, context)])
      _show_answer(extractor, prediction, question, context, layout)
  finally:
    tf.config.run_functions_eagerly(before)


class _WindowsBar:
  """Shows a progress bar of the windows of each question."""

  _bar = None

  def __call__(self, done, total):
    done, total = int(done), int(total)
    if self._bar is None:
      names = {"desc": "Reading", "unit": "window"}
      self._bar = tqdm.tqdm(total=total, leave=False, disable=None, **names)
    self._bar.update(done - self._bar.n)
    if done == total:
      self._bar.close()
      self._bar = None


def _log_cut_question(extractor, question):
  if extractor.preprocessor.is_cut([question])[0]:
    log_line(
      cut_question_line(extractor.window_options, repr(one_line(question)))
    )


def _show_answer(extractor, prediction, question, context, layout):
  if layout.is_json:
    fields = extractor.columns.json_answer(prediction, layout.n_best)
    print(json.dumps({"question": question, **fields}), flush=True)
    return
  text = answer_text(extractor, prediction, context, layout.n_best, _marks())
  layout.show(question, text)


def _show_ranked(question, answers, layout):
  if layout.is_json:
    fields = {"question": question, "answers": ranked_answers(answers)}
    print(json.dumps(fields), flush=True)
    return
  layout.show(question, ranked_text(answers, _marks()))


def _marks():
  """What marks an answer: bold green on a terminal, see no-color.org."""
  has_color = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
  if has_color and not os.environ.get("NO_COLOR"):
    return "\033[1;32m", "\033[0m"
  return "[[", "]]"
