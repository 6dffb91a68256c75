r"""Asks a passage questions.

  python -m bert_span.ask --model=DIR --question="Who built the mill?" \
    --context="The mill was built by Anna in 1895."
  python -m bert_span.ask --model=DIR --question="Who?" <passage.txt
  python -m bert_span.ask --model=DIR --context_file=passage.txt
  python -m bert_span.ask --model=DIR --context_file=passage.txt --json \
    <one_question_a_line.txt

Without --question a terminal is asked for questions, one after the other, and
a pipe is read as one question a line; the model is loaded once. Without
--context and --context_file a pipe holds the passage.
"""

import contextlib
import dataclasses
import json
import os
import sys

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.storage.input_file import read_bytes

_MODEL = flags.DEFINE_string(
  "model",
  None,
  "minilm_squad, the model that comes with the package; a model directory that "
  "run_squad or save_to_preset wrote; a Hugging Face directory of a BERT with "
  "a question-answering head; or a .tflite file of export_tflite.",
)
_QUESTION = flags.DEFINE_multi_string(
  "question", None, "Question to answer; repeat the flag to ask several."
)
_CONTEXT = flags.DEFINE_string("context", None, "Passage that is asked.")
_CONTEXT_FILE = flags.DEFINE_string(
  "context_file",
  None,
  "UTF-8 text file with the passage, instead of --context; - is standard "
  "input.",
)
_N_BEST = flags.DEFINE_integer(
  "n_best",
  3,
  "Answers to show, at most --n_best_size; a model with a bio head shows every "
  "span of its answer.",
  lower_bound=1,
)
_JSON = flags.DEFINE_bool(
  "json", False, "Whether to print one JSON object a question, in a line."
)
model_flags.window_flags()
_DECODER = model_flags.decoder_flags()
model_flags.head_flag()
model_flags.bio_decoder_flags()

_BOLD_GREEN = ("\033[1;32m", "\033[0m")
_PLAIN_MARKS = ("[[", "]]")
_STDIN = "standard input"
# --help lists the flags of this module only, and those named here.
flags.adopt_module_key_flags(model_flags)


def main(argv):
  """Reads the passage, loads the model and answers every question."""
  program.refuse_arguments(argv)
  _check_flags()
  context = _read_context()
  # TensorFlow's notes on the machine would stand between the answers.
  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
  extractor = _load_extractor()
  # Lone surrogates and old terminals must not end the program.
  sys.stdout.reconfigure(errors="backslashreplace")
  try:
    for question in _questions():
      print(_answer_text(extractor, question, context), flush=True)
  except BrokenPipeError:
    # `| head` has seen enough. Python would complain once more at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run():
  """Entry point of the installed command."""
  program.run_program(main)


def _check_flags():
  check = program.check
  check(_MODEL.value, "--model is required.")
  check(
    _CONTEXT.value is None or _CONTEXT_FILE.value is None,
    "--context_file stands for --context: give either.",
  )
  if _context_is_piped():
    check(
      not sys.stdin.isatty() or _CONTEXT_FILE.value,
      "The passage is missing: give --context or --context_file, or pipe it "
      "in.",
    )
    check(
      _QUESTION.value,
      "--question is required when standard input holds the passage.",
    )
  for question in _QUESTION.value or ():
    check(question.strip(), "--question is empty: write the question there.")


def _context_is_piped():
  if _CONTEXT_FILE.value is not None:
    return _CONTEXT_FILE.value == "-"
  return _CONTEXT.value is None


def _read_context():
  """The passage, wherever it is from."""
  if _context_is_piped():
    source = _STDIN
    context = _decoded(sys.stdin.buffer.read(), source)
  elif _CONTEXT_FILE.value is not None:
    source = _CONTEXT_FILE.value
    context = _decoded(read_bytes(source), source)
  else:
    source, context = "--context", _CONTEXT.value
  if not context.strip():
    raise ValueError(
      f"{source}: the passage is empty; there is no answer in it."
    )
  return context


def _decoded(content, source):
  try:
    return content.decode("utf-8-sig")  # Accepts a byte order mark.
  except UnicodeDecodeError as error:
    raise ValueError(
      f"{source}: not UTF-8: byte 0x{content[error.start]:02x} at offset "
      f"{error.start} bytes. Convert it, for instance with iconv -t UTF-8."
    ) from error


def _load_extractor():
  # Seconds: only once flags and passage are known to be right.
  from bert_span.extractor import SpanExtractor
  from bert_span.presets.span_config import read_span_config
  from bert_span.tflite import file as tflite_file
  from bert_span.tflite.tflite_text_extractor import open_tflite

  is_tflite = tflite_file.is_tflite(_MODEL.value)
  read_config = tflite_file.read_span_config if is_tflite else read_span_config
  saved = read_config(_MODEL.value)
  head = model_flags.head_of_model(saved)
  decoder_options = model_flags.decoder_options(saved, head)
  if head == "span":
    program.check(
      not _N_BEST.present or _N_BEST.value <= decoder_options.n_best_size,
      f"--n_best={_N_BEST.value} is more than the "
      f"{decoder_options.n_best_size} answers that are kept. Raise "
      "--n_best_size.",
    )
  load = open_tflite if is_tflite else SpanExtractor.from_preset
  return load(_MODEL.value, model_flags.window_options(saved), decoder_options)


def _questions():
  """Yields the questions of the flag, of the terminal or of the pipe."""
  if _QUESTION.value:
    yield from _QUESTION.value
  elif _is_typed():
    yield from _typed_questions()
  else:
    for number, line in enumerate(sys.stdin.buffer, start=1):
      question = _decoded(line, f"{_STDIN}, line {number}").strip()
      if not question:
        raise ValueError(f"{_STDIN}, line {number}: the question is empty.")
      yield question


def _is_typed():
  return not _QUESTION.value and sys.stdin.isatty()


def _typed_questions():
  with contextlib.suppress(ImportError):  # Windows has none.
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


def _answer_text(extractor, question, context):
  """What is printed for a question."""
  from bert_span.squad.example import SquadExample

  example = SquadExample("question", question, context)
  (prediction,) = extractor.predict([example])
  is_bio = extractor.head == "bio"
  if _JSON.value:
    convert = _json_object_of_spans if is_bio else _json_object
    return json.dumps(convert(question, prediction))
  lines = [_best_answer(extractor, prediction, context)]
  lines += _n_best_lines(
    prediction.spans if is_bio else prediction.n_best[: _N_BEST.value]
  )
  if len(_QUESTION.value or ()) != 1:
    lines.append("")  # Before the next question.
    if not _is_typed():
      lines.insert(0, f"Question: {_shown(question)}")
  return "\n".join(lines)


def _json_object(question, prediction):
  from bert_span.answers.files.prediction_files import json_entry

  is_span = bool(prediction.text)
  return {
    "question": question,
    "answer": prediction.text,
    "char_start": prediction.char_start if is_span else None,
    "char_end": prediction.char_end if is_span else None,
    "score": prediction.score,
    "probability": prediction.probability,
    "null_odds": prediction.null_odds,
    "n_best": [
      {**json_entry(entry), "score": entry.score}
      for entry in prediction.n_best[: _N_BEST.value]
    ],
  }


def _json_object_of_spans(question, prediction):
  return {
    "question": question,
    "answers": [dataclasses.asdict(span) for span in prediction.spans],
    "null_odds": prediction.null_odds,
  }


def _best_answer(extractor, prediction, context):
  """The answer and the passage around it, or that there is none."""
  from bert_span.reporting.terminal_passage import marked_passage

  if extractor.head == "bio":
    return _spans_answer(prediction, context)
  if prediction.text:
    marked = marked_passage(
      context, prediction.char_start, prediction.char_end, _marks()
    )
    return f"Answer: {_shown(prediction.text)}\n\n{marked}\n"
  options = extractor.decoder_options
  if options.version_2_with_negative and any(e.text for e in prediction.n_best):
    return (
      "No answer: the model finds none in this passage (null odds "
      f"{prediction.null_odds:.3f} above the threshold "
      f"{options.null_score_diff_threshold:.3f}).\n"
    )
  return "No answer: no span of this passage is possible.\n"


def _spans_answer(prediction, context):
  """All spans and the passage with each marked, or that there is none."""
  from bert_span.reporting.terminal_passage import marked_spans

  if not prediction.spans:
    return f"No answer (null odds {prediction.null_odds:.3f}).\n"
  texts = "; ".join(_shown(span.text) for span in prediction.spans)
  offsets = [(span.char_start, span.char_end) for span in prediction.spans]
  return f"Answer: {texts}\n\n{marked_spans(context, offsets, _marks())}\n"


def _n_best_lines(entries):
  """A table of the best answers, scores before texts of any length."""
  lines = [f"{'score':>9} {'probability':>12} {'characters':>13}  text"]
  for entry in entries:
    place = f"{entry.char_start}-{entry.char_end}" if entry.text else "-"
    text = _shown(entry.text) if entry.text else "(no answer)"
    lines.append(
      f"{entry.score:9.3f} {entry.probability:12.4f} {place:>13}  {text}"
    )
  return lines


def _shown(text):
  from bert_span.reporting.terminal_passage import one_line

  return one_line(text)


def _marks():
  """Colour on a terminal that takes it (https://no-color.org), else [[ ]]."""
  colour = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
  if colour and not os.environ.get("NO_COLOR"):
    return _BOLD_GREEN
  return _PLAIN_MARKS


if __name__ == "__main__":
  run()
