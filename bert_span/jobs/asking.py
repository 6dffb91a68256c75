"""What ask does: answers questions on a passage, as text or as JSON."""

import contextlib
import dataclasses
import json
import os
import sys

import tensorflow as tf
import tqdm

from bert_span.extractor import SpanExtractor
from bert_span.reporting.passages import (
  marked_passage,
  marked_spans,
  one_line,
)
from bert_span.search.answer_over import answer_over
from bert_span.search.documents import read_passages
from bert_span.search.passage_index import PassageIndex
from bert_span.squad.example import SquadExample
from bert_span.storage.log import log_line
from bert_span.tflite.file import is_tflite
from bert_span.tflite.tflite_extractor import open_tflite

# Characters of a passage up to which a single question is answered sooner op by
# op than by a graph, which takes two seconds to trace.
_SHORT_PASSAGE = 10_000
# Characters above which reading takes long enough for a progress bar.
_LONG_PASSAGE = 100_000


@dataclasses.dataclass(frozen=True)
class AnswerLayout:
  """How answers are printed.

  Attributes:
    n_best: answers of a span head to show.
    is_json: print one JSON object a question, in a line.
    blank_lines: print an empty line after each answer.
    show_questions: print the question before each answer.
  """

  n_best: int = 3
  is_json: bool = False
  blank_lines: bool = False
  show_questions: bool = False


def ask(
  model,
  context,
  questions,
  window_options=None,
  decoder_options=None,
  layout=None,
  verify=True,
):
  """Prints the answers to questions on a passage, each as soon as it is known.

  Args:
    model: model directory, name of a model that comes with the package, or
      .tflite file; it is loaded before the first question is read.
    context: the passage.
    questions: list of str, or an iterable of questions not known yet.
    window_options, decoder_options: None for those of the model.
    layout: `AnswerLayout`.
    verify: see `SpanExtractor.from_preset`.
  """
  if is_tflite(model):
    extractor = open_tflite(model, window_options, decoder_options)
  else:
    extractor = SpanExtractor.from_preset(
      model, window_options, decoder_options, verify=verify
    )
  layout = layout or AnswerLayout()
  is_single = isinstance(questions, list) and len(questions) == 1
  is_brief = is_single and len(context) <= _SHORT_PASSAGE
  if len(context) > _LONG_PASSAGE:
    log_line(f"Reading a passage of {len(context):,} characters ...")
    if isinstance(extractor, SpanExtractor):
      extractor.graph = extractor.make_graph(on_windows=_WindowsBar())
  with _op_by_op() if is_brief else contextlib.nullcontext():
    for question in questions:
      print(_answer_text(extractor, question, context, layout), flush=True)


def ask_folder(
  model,
  search,
  questions,
  window_options=None,
  decoder_options=None,
  layout=None,
  verify=True,
):
  """Prints the best answers to questions over many documents.

  Args:
    model, verify: see `SpanExtractor.from_preset`; with a span head.
    search: `SearchOptions`.
    questions: iterable of str.
    window_options, decoder_options: None for those of the model.
    layout: `AnswerLayout`.
  """
  layout = layout or AnswerLayout()
  passages = read_passages(search.context_glob, search.context_field)
  texts = [passage.text for passage in passages]
  index = PassageIndex(texts, search.search_index)
  extractor = SpanExtractor.from_preset(
    model, window_options, decoder_options, verify=verify
  )
  if not extractor.head.scores_ends:
    raise ValueError(
      f"{model} has a {extractor.head.name} head, whose answers cannot be "
      "compared over passages. Use a model with a span head."
    )

  def printed(question):
    found = answer_over(extractor, question, texts, search.top_k, index)
    answers = [
      _located(passages[item.passage], item) for item in found[: layout.n_best]
    ]
    if layout.is_json:
      return json.dumps({"question": question, "answers": answers})
    return _ranked_text(question, answers, texts, found, layout)

  for question in questions:
    print(printed(question), flush=True)


class _WindowsBar:
  """A progress bar of the windows that were read, one for each question."""

  def __init__(self):
    self._bar = None

  def __call__(self, done, total):
    done, total = int(done), int(total)
    if self._bar is None:
      self._bar = tqdm.tqdm(
        total=total,
        desc="Reading",
        unit="window",
        leave=False,
        disable=not sys.stderr.isatty(),
      )
    self._bar.update(done - self._bar.n)
    if done == total:
      self._bar.close()
      self._bar = None


@contextlib.contextmanager
def _op_by_op():
  """Makes TensorFlow run its functions without tracing them first."""
  before = tf.config.functions_run_eagerly()
  tf.config.run_functions_eagerly(True)
  try:
    yield
  finally:
    tf.config.run_functions_eagerly(before)


def _answer_text(extractor, question, context, layout):
  """The printed answer to a question."""
  example = SquadExample("question", question, context)
  (prediction,) = extractor.predict([example])
  head = extractor.head
  if layout.is_json:
    fields = head.json_fields(prediction, layout.n_best)
    return json.dumps({"question": question, **fields})
  if head.scores_ends:
    best = _best_answer(extractor.decoder_options, prediction, context)
    entries = prediction.n_best[: layout.n_best]
  else:
    entries = head.spans_of(prediction)
    best = _spans_answer(entries, prediction.null_odds, context)
  lines = [
    *([f"Question: {one_line(question)}"] if layout.show_questions else []),
    best,
    f"{'score':>9} {'probability':>12} {'characters':>13}  text",
  ]
  for entry in entries:
    place = f"{entry.char_start}-{entry.char_end}" if entry.text else "-"
    text = one_line(entry.text) if entry.text else "(no answer)"
    lines.append(
      f"{entry.score:9.3f} {entry.probability:12.4f} {place:>13}  {text}"
    )
  return "\n".join([*lines, ""] if layout.blank_lines else lines)


def _best_answer(options, prediction, context):
  """The answer and the passage around it, or why there is none."""
  if prediction.text:
    marked = marked_passage(
      context, prediction.char_start, prediction.char_end, _marks()
    )
    return f"Answer: {one_line(prediction.text)}\n\n{marked}\n"
  if options.version_2_with_negative and any(e.text for e in prediction.n_best):
    return (
      "No answer: the model finds none in this passage (null odds "
      f"{prediction.null_odds:.3f} above the threshold "
      f"{options.null_score_diff_threshold:.3f}).\n"
    )
  return "No answer: no span of this passage is possible.\n"


def _spans_answer(spans, null_odds, context):
  """All spans and the passage with each marked, or "no answer"."""
  if not spans:
    return f"No answer (null odds {null_odds:.3f}).\n"
  texts = "; ".join(one_line(span.text) for span in spans)
  offsets = [(span.char_start, span.char_end) for span in spans]
  return f"Answer: {texts}\n\n{marked_spans(context, offsets, _marks())}\n"


def _located(passage, found):
  """An answer as JSON fields, with offsets into its document."""
  answer = found.answer
  return {
    "text": answer.text,
    "document": passage.document,
    "char_start": passage.char_start + answer.char_start,
    "char_end": passage.char_start + answer.char_end,
    "margin": found.margin,
    "score": answer.score,
    "probability": answer.probability,
  }


def _ranked_text(question, answers, texts, found, layout):
  """The printed answers to a question, the best one in its passage."""
  lines = [f"Question: {one_line(question)}"] if layout.show_questions else []
  if not answers:
    lines.append("No answer: no passage that was read answers the question.")
  for number, answer in enumerate(answers):
    place = "{document}, characters {char_start}-{char_end}".format(**answer)
    if number == 0:
      marked = marked_passage(
        texts[found[0].passage],
        found[0].answer.char_start,
        found[0].answer.char_end,
        _marks(),
      )
      lines += [f"Answer: {one_line(answer['text'])}", "", marked, ""]
      lines.append(f"{'margin':>9} {'probability':>12}  text (place)")
    lines.append(
      f"{answer['margin']:9.3f} {answer['probability']:12.4f}  "
      f"{one_line(answer['text'])} ({one_line(place)})"
    )
  return "\n".join([*lines, ""] if layout.blank_lines else lines)


def _marks():
  """What an answer is marked with: bold green (see no-color.org) or [[ ]]."""
  colour = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
  if colour and not os.environ.get("NO_COLOR"):
    return "\033[1;32m", "\033[0m"
  return "[[", "]]"
