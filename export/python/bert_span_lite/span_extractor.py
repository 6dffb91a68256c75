"""Answers questions by the library in C of bert_span, which runs by LiteRT."""

import collections.abc
import ctypes
import importlib.util
import json
import os
import pathlib
import reprlib
import threading
import weakref
from typing import Literal, TypeAlias, overload

from bert_span_lite.answer import Answer, Prediction

_FOLDER = pathlib.Path(__file__).parent
_LITERT = "ai_edge_litert"
_LITERT_VERSION = "2.3"
_MAX_THREADS = 256
# Any collection is taken; a str, which is one of str, has its own signature.
_Texts: TypeAlias = list[str] | tuple[str, ...]
# Unlike repr, it writes out neither megabytes nor deep nesting.
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxstring = _SHORT.maxother = 60
_SHORT.maxlist = _SHORT.maxdict = 3


class _Options(ctypes.Structure):
  """`bert_span_options` of bert_span.h."""

  _fields_ = (
    ("num_threads", ctypes.c_int),
    ("accelerator", ctypes.c_int),
    ("library_folder", ctypes.c_char_p),
    ("null_score_diff_threshold", ctypes.POINTER(ctypes.c_double)),
  )


class SpanExtractor:
  """Answers questions with a .tflite file that bert_span exported.

  It gives the answers of bert_span's `TFLiteSpanExtractor`. Threads that share
  an extractor wait for each other; those with their own run at the same time.

  Example:

  ```python
  extractor = SpanExtractor("qa.tflite")
  extractor.answer(question="Who came?", context="John Smith came.")
  # Answer(text="John Smith", char_start=0, char_end=10, ...)
  ```

  Args:
    path: a file of export_tflite.py; None for the model in this package, if it
      was built with one.
    num_threads: threads of the processor, 1 to 256.
    null_score_diff_threshold: the answer is "no answer" where null_odds is
      above it; None for that of the file. It has no effect on a file whose
      questions always have answers.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is not such a file, it is damaged, or an argument is wrong.
  """

  def __init__(
    self,
    path: str | os.PathLike[str] | None = None,
    num_threads: int = 1,
    null_score_diff_threshold: float | None = None,
  ) -> None:
    if type(num_threads) is not int or not 1 <= num_threads <= _MAX_THREADS:
      raise ValueError(
        f"num_threads must be from 1 to {_MAX_THREADS}. Received: "
        f"{_SHORT.repr(num_threads)}."
      )
    path = _packaged_model() if path is None else os.fspath(path)
    with open(path, "rb"):  # An OSError says more than the library.
      pass
    options = _Options(num_threads=num_threads)
    if null_score_diff_threshold is not None:
      if not isinstance(null_score_diff_threshold, (int, float)):
        raise ValueError(
          "null_score_diff_threshold must be a number. Received: "
          f"{_SHORT.repr(null_score_diff_threshold)}."
        )
      options.null_score_diff_threshold.contents = ctypes.c_double(
        null_score_diff_threshold
      )
    pointer = _library.bert_span_open(os.fsencode(path), ctypes.byref(options))
    if not pointer:
      raise ValueError(f"{path}: {_error()}")
    self._pointer = ctypes.c_void_p(pointer)
    weakref.finalize(self, _library.bert_span_close, self._pointer)
    self._n_best_size: int = _library.bert_span_n_best_size(self._pointer)
    self._lock = threading.Lock()

  @property
  def has_tags(self) -> bool:
    """Whether it has a B/I/O head, whose answers have any number of spans."""
    return self._n_best_size == 0

  @overload
  def answer(
    self, question: str, context: str, n_best: Literal[1] = 1
  ) -> Answer: ...

  @overload
  def answer(
    self, question: str, context: str, n_best: int
  ) -> Answer | list[Answer]: ...

  @overload
  def answer(
    self, question: _Texts, context: str | _Texts, n_best: Literal[1] = 1
  ) -> list[Answer]: ...

  @overload
  def answer(
    self, question: _Texts, context: str | _Texts, n_best: int
  ) -> list[Answer] | list[list[Answer]]: ...

  def answer(self, question, context, n_best=1):
    """Answers one question, or several.

    Args:
      question: the question, or a list of questions.
      context: the passage, or a list with one for each question. A single
        passage serves a list of questions.
      n_best: number of answers to a question, at most the n_best_size of a span
        head.

    Returns:
      An `Answer`, or with n_best > 1 a list of them, best first; a list of
      these for a list of questions.

    Raises:
      ValueError: an argument is not one of these.
    """
    largest = self._n_best_size or n_best
    if not 1 <= n_best <= largest:
      raise ValueError(
        "n_best must be between 1 and the decoder's n_best_size, "
        f"{largest}. Received: {n_best}."
      )
    pairs = _pairs(question, context)
    found = [p.best(n_best) for p in map(self.prediction, *pairs)]
    return found[0] if isinstance(question, str) else found

  @overload
  def answers(self, question: str, context: str) -> list[Answer]: ...

  @overload
  def answers(
    self, question: _Texts, context: str | _Texts
  ) -> list[list[Answer]]: ...

  def answers(self, question, context):
    """All spans of the answer to one question, or to several.

    Args and errors are those of `answer`.

    Returns:
      A list of `Answer`, in order of position: any number of a B/I/O head, at
      most one of a span head; a list of these for a list of questions.
    """
    pairs = _pairs(question, context)
    found = [list(p.spans) for p in map(self.prediction, *pairs)]
    return found[0] if isinstance(question, str) else found

  def prediction(self, question: str, context: str) -> Prediction:
    """Answers one question; returns all that is known, a `Prediction`."""
    _check_text(question, "question")
    _check_text(context, "context")
    texts = map(_encoded, (question, context))
    sized = [part for text in texts for part in (text, len(text))]
    with self._lock:  # The call itself releases the GIL.
      line = _library.bert_span_ask_json(self._pointer, *sized, 0)
    if not line:
      raise ValueError(_error())
    try:
      row = json.loads(ctypes.string_at(line))
    finally:
      _library.bert_span_free_text(line)

    def answer_of(span, logits=()):
      start, end = span["char_start"], span["char_end"]
      return Answer(
        # With the lone surrogates of the passage, which UTF-8 cannot hold.
        context[start:end],
        start,
        end,
        span["score"],
        span["probability"],
        row["null_odds"],
        row["question_truncated"],
        *logits,
      )

    n_best = row["n_best"]
    if self.has_tags:
      entries = map(answer_of, n_best)
    else:
      logits = ((entry["start_logit"], entry["end_logit"]) for entry in n_best)
      entries = map(answer_of, n_best, logits)
    spans = map(answer_of, row["spans"])
    return Prediction(answer_of(row), tuple(entries), tuple(spans))


def _packaged_model() -> pathlib.Path:
  """The only .tflite file beside this module."""
  for path in _FOLDER.glob("*.tflite"):
    return path
  raise ValueError(
    "path must name a .tflite file of export_tflite.py: this bert_span_lite "
    "was built without a model. Received: None."
  )


def _pairs(question, context):
  """The lists of questions and of passages, of texts or of lists."""
  has_lists = _is_list(question)
  if has_lists and isinstance(context, str):
    context = [context] * len(question)
  if has_lists != _is_list(context):
    raise ValueError(
      "question and context must both be strings or both be lists. "
      f"Received: {type(question).__name__} and {type(context).__name__}."
    )
  if not has_lists:
    _check_text(question, "question")
    _check_text(context, "context")
    return [question], [context]
  if len(question) != len(context):
    raise ValueError(
      "question and context must have the same length. Received: "
      f"{len(question)} and {len(context)}."
    )
  for i, (one_question, one_context) in enumerate(
    zip(question, context, strict=True)
  ):
    _check_text(one_question, f"question[{i}]")
    _check_text(one_context, f"context[{i}]")
  return question, context


def _is_list(texts):
  is_collection = isinstance(texts, collections.abc.Collection)
  return is_collection and not isinstance(texts, (str, bytes))


def _check_text(text, name):
  if not isinstance(text, str):
    raise ValueError(
      f"{name} must be a str. Received: {_SHORT.repr(text)}. Decode bytes, and "
      "leave out rows without a text."
    )


def _encoded(text: str) -> bytes:
  """A text as UTF-8, with U+FFFD for each lone surrogate."""
  try:
    return text.encode()
  except UnicodeEncodeError:
    codes = ("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return "".join(codes).encode()


def _error() -> str:
  """Why the library's last call of this thread failed."""
  message = _library.bert_span_error().decode()
  return message.removeprefix("bert_span: ")


def _load_library() -> ctypes.CDLL:
  """The library of this package, after LiteRT's, which it calls."""
  # importlib.metadata would take a tenth of a second to say the version.
  spec = importlib.util.find_spec(_LITERT)
  litert = pathlib.Path(spec.origin).parent if spec and spec.origin else None
  versions = f"{_LITERT}-{_LITERT_VERSION}.*.dist-info"
  if not litert or not any(litert.parent.glob(versions)):
    raise ImportError(
      f"bert_span_lite needs ai-edge-litert {_LITERT_VERSION}: its functions "
      "have other arguments in other versions. Install it: pip install "
      f"'ai-edge-litert=={_LITERT_VERSION}.*'"
    )
  ctypes.CDLL(str(litert / "libLiteRt.so"))
  library = ctypes.CDLL(str(_FOLDER / "libbert_span.so"))
  sized_text = ctypes.c_char_p, ctypes.c_size_t
  for name, result, *arguments in (
    ("open", ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(_Options)),
    ("close", None, ctypes.c_void_p),
    ("n_best_size", ctypes.c_size_t, ctypes.c_void_p),
    (
      *("ask_json", ctypes.c_void_p, ctypes.c_void_p),
      *(*sized_text, *sized_text, ctypes.c_int),
    ),
    ("free_text", None, ctypes.c_void_p),
    ("error", ctypes.c_char_p),
  ):
    function = getattr(library, f"bert_span_{name}")
    function.restype, function.argtypes = result, arguments
  return library


_library = _load_library()
