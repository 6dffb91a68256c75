"""Asks a passage questions in the terminal."""

import argparse
import contextlib
import json
import pathlib
import re
import sys

from bert_span_lite.span_extractor import SpanExtractor

_EPILOG = """\
Without --question the questions are typed, or read from a pipe, one a line.
Without --context and --context_file a pipe holds the passage.
"""
# They must not command the terminal.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def main(argv=None):
  """Prints the answers; returns the exit status."""
  parser = argparse.ArgumentParser(
    "bert_span_lite", description=__doc__, epilog=_EPILOG, allow_abbrev=False
  )
  parser.add_argument("--model", help=".tflite file of export_tflite.py")
  parser.add_argument(
    "--question", action="append", help="may be given several times"
  )
  parser.add_argument("--context", help="text of the passage")
  parser.add_argument("--context_file", help="UTF-8 file with the passage")
  parser.add_argument(
    "--n_best", type=_positive, default=3, help="answers to list, 3 by default"
  )
  parser.add_argument(
    "--num_threads", type=int, default=1, help="1 by default, at most 256"
  )
  parser.add_argument(
    "--json", action="store_true", help="print a line of JSON a question"
  )
  options = parser.parse_args(argv)
  try:
    context = _passage(options)
    extractor = SpanExtractor(options.model, options.num_threads)
    for question in options.question or _entered_questions():
      found = extractor.prediction(question, context)
      if found.answer.question_truncated:
        print(
          "bert_span_lite: the end of this question, longer than "
          f"max_query_length, was not read: {_one_line(question)}",
          file=sys.stderr,
        )
      _show(question, found, extractor.has_tags, options)
  except (OSError, ValueError) as error:
    print(f"bert_span_lite: {error}", file=sys.stderr)
    return 1
  except KeyboardInterrupt:
    return 130
  return 0


def _positive(text):
  number = int(text)
  if number < 1:
    raise ValueError
  return number


def _passage(options):
  if options.context is not None and options.context_file is not None:
    raise ValueError("Give --context or --context_file, not both.")
  if options.context is not None:
    return options.context
  if options.context_file is not None:
    return pathlib.Path(options.context_file).read_text("utf-8")
  if sys.stdin.isatty():
    raise ValueError("Give --context or --context_file, or pipe a passage in.")
  if not options.question:
    raise ValueError("--question is required: a pipe holds the passage.")
  return sys.stdin.buffer.read().decode("utf-8")


def _entered_questions():
  if not sys.stdin.isatty():
    for line in sys.stdin.buffer:
      yield line.decode("utf-8").strip()
    return
  with contextlib.suppress(ImportError):  # Windows does not have it.
    import readline  # noqa: F401 -- gives input() history and cursor keys

  with contextlib.suppress(EOFError):
    while True:
      yield input("Question: ")


def _show(question, prediction, has_tags, options):
  answer, spans = prediction.answer, prediction.spans
  listed = spans if has_tags else prediction.n_best[: options.n_best]
  if not options.json:
    lines = (_line(answer), *(f"  {_line(entry)}" for entry in listed))
    print(*lines, sep="\n", flush=True)
    return
  fields = "char_start", "char_end", "score", "probability"
  if has_tags:
    row = {"null_odds": answer.null_odds}
    row["answers"] = [_values(span, "text", *fields) for span in spans]
  else:
    logits = "start_logit", "end_logit"
    row = {"answer": answer.text, **_values(answer, *fields, "null_odds")}
    row["n_best"] = [_values(x, "text", *fields, *logits) for x in listed]
  print(json.dumps({"question": question, **row}), flush=True)


def _values(answer, *names):
  """Some fields of an answer, for JSON; null for the offsets of "no answer"."""
  values = {name: getattr(answer, name) for name in names}
  if not answer.is_answerable:
    values |= dict.fromkeys(("char_start", "char_end"))
  return values


def _line(answer):
  if not answer.is_answerable:
    return f"No answer  (probability {answer.probability:.4f})"
  return (
    f"{_one_line(answer.text)}  (probability {answer.probability:.4f}, "
    f"characters {answer.char_start}-{answer.char_end})"
  )


def _one_line(text):
  return _CONTROL.sub(" ", text)


if __name__ == "__main__":
  sys.exit(main())
