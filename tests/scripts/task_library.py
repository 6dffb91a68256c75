r"""Compares the Task Library's answers with ours; `make test-task-library`.

  python tests/scripts/task_library.py --model=DIR --environment=FOLDER

Exports the model as none and dynamic, asks the Task Library's
BertQuestionAnswerer, in an environment of its own, and `TFLiteSpanExtractor`
the questions of the embedded sample whose passages are ASCII and fit one
window, and prints how many answers agree and why the others do not. Status 1
where a difference has no known cause.
"""

import collections
import json
import os
import pathlib
import subprocess
import tempfile

from absl import flags, logging

from bert_span.cli import program

_MODEL = flags.DEFINE_string("model", None, "Model directory.")
_ENVIRONMENT = flags.DEFINE_string(
  "environment", None, "Folder that task_library_setup.sh made."
)
_CHECK = pathlib.Path(__file__).with_name("task_library_check.py")
_SEQ_LENGTH = 384  # the only one that the library takes
_TOLERANCE = 1e-2  # of scores: its runtime is of 2023
_UNKNOWN = "NO KNOWN CAUSE"


def main(argv):
  """Exports, asks both, and prints what they have in common."""
  logging.set_verbosity(logging.WARNING)
  from bert_span import SpanExtractor, TFLiteSpanExtractor, WindowOptions
  from bert_span.tflite.export import tflite_content
  from bert_span.tflite.options import TFLiteOptions

  extractor = SpanExtractor.from_preset(
    _MODEL.value, WindowOptions(_SEQ_LENGTH, 128, 64)
  )
  examples = _examples(extractor.preprocessor)
  unknown = 0
  for quantization in ("none", "dynamic"):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, "model.tflite")
      content = tflite_content(extractor, TFLiteOptions(quantization))
      pathlib.Path(path).write_bytes(content)
      theirs = _task_library_answers(path, examples, folder)
      ours = list(TFLiteSpanExtractor(path).predictions(examples))
    causes = collections.Counter(
      _cause(example.context, our, text, score)
      for example, our, (text, score) in zip(
        examples, ours, theirs, strict=True
      )
    )
    print(f"quantization={quantization}: {len(examples)} questions")
    for name, count in causes.most_common():
      print(f"  {count:4} {name}")
    unknown += causes[_UNKNOWN]
  if unknown:
    raise ValueError(f"{unknown} answers differ without a known cause.")


def _examples(preprocessor):
  """Questions on ASCII passages of one window, neither empty nor cut."""
  from bert_span.data.window_batches import example_arrays
  from bert_span.squad.options import FULL
  from bert_span.squad.sample_examples import sample_examples

  chosen = [
    example
    for example in sample_examples(FULL)
    if (example.context + example.question).isascii()
    and example.context.strip()
    and example.question
    and not preprocessor.is_cut([example.question])[0]
  ]
  texts = example_arrays(chosen)
  windows = preprocessor.windows(texts)["example_index"].numpy()
  counts = collections.Counter(windows.tolist())
  return [e for i, e in enumerate(chosen) if counts[i] == 1]


def _task_library_answers(path, examples, folder):
  """Pairs (text, score) of the best answers, from the other environment."""
  questions = pathlib.Path(folder, "questions.json")
  answers = pathlib.Path(folder, "answers.json")
  questions.write_text(json.dumps([[e.question, e.context] for e in examples]))
  environment = os.path.abspath(_ENVIRONMENT.value)
  subprocess.run(
    [f"{environment}/bin/python", _CHECK, path, questions, answers],
    env={**os.environ, "LD_LIBRARY_PATH": f"{environment}/libusb"},
    check=True,
  )
  return json.loads(answers.read_text())


def _cause(context, our, text, score):
  """Why the library's best answer, text or "", is not our `Prediction`."""
  answer = our.answer
  if text == answer.text:
    return "the same answer"
  words = text.split()
  if words == _widened(context, answer):
    return "the library gives whole words between blanks"
  ours = [e for e in our.n_best if words == _widened(context, e)]
  # Several of our spans may be the same whole words; the best one is theirs.
  # Its score is another one, or so near to our answer's that either may win.
  if ours and (
    abs(ours[0].score - score) > _TOLERANCE
    or abs(ours[0].score - answer.score) <= _TOLERANCE
  ):
    return "the library's runtime rounds otherwise"
  if not text or answer.score > score + _TOLERANCE:
    return "the library tries 5 starts and 5 ends, here 20"
  if score > answer.score + _TOLERANCE:
    return "the library takes answers of up to 32 WordPieces, here 30"
  return _UNKNOWN


def _widened(context, answer):
  """The words between the blanks around an answer."""
  start = context.rfind(" ", 0, answer.char_start) + 1
  behind = context.find(" ", answer.char_end)
  return context[start : behind if behind >= 0 else len(context)].split()


if __name__ == "__main__":
  program.run_program(main)
