"""The wheel of export/python gives the answers of TFLiteSpanExtractor."""

import dataclasses
import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys
import venv

import pytest

import bert_span
from bert_span.answers.answer import Answer
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.squad.example import SquadExample
from bert_span.text.sentencepiece_model import PIECE_FAMILIES
from bert_span.tflite.export import tflite_content
from bert_span.tflite.options import TFLiteOptions
from bert_span.tflite.port_vectors import vector_examples
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor
from tests.support.models import (
  CONTEXT,
  QUESTION,
  exported_tflite,
  extractor_of,
  opened_tflite,
  shared_model,
  tiny_extractor,
  trained_pieces,
)
from tests.support.squad import HOSTILE, assert_equal

pytestmark = pytest.mark.slow
_PAIRS = [
  *((e.question, e.context) for e in vector_examples()[:60]),
  *(
    (question, context)
    for question in ("\ud800 who", QUESTION)
    for context in HOSTILE
  ),
]
# Prints what calls of an extractor return or raise, as JSON.
_CALLS = """\
import dataclasses, json, sys
import bert_span_lite

def plain(value):
  if isinstance(value, (list, tuple)):
    return list(map(plain, value))
  return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else value

options, calls = json.load(sys.stdin)
results = []
try:
  extractor = bert_span_lite.SpanExtractor(sys.argv[1], **options)
  for arguments in calls:
    try:
      results.append(plain(extractor.answer(**arguments)))
    except ValueError as error:
      results.append(str(error))
except (OSError, ValueError) as error:
  results = [type(error).__name__, str(error)]
print(json.dumps(results))
assert not {"numpy", "tensorflow"} & sys.modules.keys()
"""


class Lite:
  """An environment with bert_span_lite and ai_edge_litert alone."""

  def __init__(self, folder, wheel, litert_folder):
    venv.create(folder, symlinks=True)
    self.python = folder / "bin/python"
    pip = "pip", "--python", self.python, "install", "--no-deps", "--no-index"
    subprocess.run([sys.executable, "-m", *pip, "-q", wheel], check=True)
    (self.packages,) = folder.glob("lib/python*/site-packages")
    litert = importlib.metadata.distribution("ai-edge-litert")
    for path in (litert_folder, pathlib.Path(str(litert._path))):
      (self.packages / path.name).symlink_to(path)

  def run(self, *arguments, **options):
    """Runs the interpreter without anything of this process's environment."""
    return subprocess.run(
      [self.python, "-I", *map(str, arguments)],
      capture_output=True,
      text=True,
      check=False,
      **options,
    )

  def call(self, path, calls, **options):
    """What `answer` returns for each dict of arguments, or the sentences."""
    done = self.run("-c", _CALLS, path, input=json.dumps([options, calls]))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def lite(repository, litert_folder, tmp_path_factory):
  """An environment with a wheel that is built for it, with a model."""
  folder = tmp_path_factory.mktemp("lite")
  done = subprocess.run(
    [
      *(sys.executable, "-m", "pip", "wheel", "--no-deps", "-q"),
      f"-Ccmake.define.BERT_SPAN_MODEL={exported_tflite()[0]}",
      *("-w", folder, repository / "export/python"),
    ],
    capture_output=True,
    text=True,
  )
  assert done.returncode == 0, done.stderr
  (wheel,) = folder.glob("*.whl")
  return Lite(folder / "environment", wheel, litert_folder)


def _assert_answer(given, wanted):
  assert given.pop("text") == wanted.text  # lone surrogates, too
  for name, value in given.items():
    assert_equal(value, getattr(wanted, name), name)


def _assert_answers(lite, path, extractor, **options):
  """Compares what both answer to all pairs; returns what `extractor` does."""
  calls = [
    {"question": q, "context": c, "n_best": n}
    for q, c in _PAIRS
    for n in (1, 20)
  ]
  given = lite.call(path, calls, **options)
  examples = [SquadExample(str(i), *pair) for i, pair in enumerate(_PAIRS)]
  predictions = list(extractor.predictions(examples))
  for best, listed, wanted in zip(
    given[::2], given[1::2], predictions, strict=True
  ):
    _assert_answer(best, wanted.answer)
    for entry, other in zip(listed, wanted.best(20), strict=True):
      _assert_answer(entry, other)
  return predictions


@pytest.mark.parametrize("options", [{}, {"null_score_diff_threshold": -3.0}])
def test_answers_are_those_of_the_large_extractor(options, lite):
  path, _ = exported_tflite(dynamic_length=True)
  extractor = opened_tflite(dynamic_length=True)
  if options:
    decoder = dataclasses.replace(extractor.decoder_options, **options)
    extractor = TFLiteSpanExtractor(path, decoder_options=decoder)
  predictions = _assert_answers(lite, path, extractor, **options)
  assert len({p.answer.is_answerable for p in predictions}) == 2


@pytest.mark.parametrize("family", PIECE_FAMILIES)
def test_sentence_pieces_give_the_answers_of_the_large_extractor(
  family, lite, tmp_path
):
  path = tmp_path / "qa.tflite"
  model = extractor_of(family, vocabulary=trained_pieces(family))
  path.write_bytes(tflite_content(model, TFLiteOptions()))
  predictions = _assert_answers(lite, path, TFLiteSpanExtractor(path))
  assert len({p.answer.text for p in predictions}) > 20


@pytest.mark.parametrize("name", ["modernbert", "bio"])
def test_every_exported_file_answers(name, lite, tmp_path):
  path = tmp_path / "qa.tflite"
  if name == "bio":
    extractor = tiny_extractor(kind=BioExtractor)
    extractor.head.kernel.assign(0.1 * extractor.head.kernel)
  else:
    extractor = extractor_of(name)
  path.write_bytes(tflite_content(extractor, TFLiteOptions()))
  both = {"question": QUESTION, "context": CONTEXT}
  calls = [both, both | {"n_best": 20}, both | {"n_best": 0}]
  *given, refused = lite.call(path, calls)
  extractor = TFLiteSpanExtractor(path)
  wanted = [extractor.answer(**call) for call in calls[:2]]
  _assert_answer(given[0], wanted[0])
  for entry, other in zip(given[1], wanted[1], strict=True):
    _assert_answer(entry, other)
  with pytest.raises(ValueError, match=re.escape(refused)):
    extractor.answer(**calls[2])
  code = (
    "import bert_span_lite, dataclasses, json, sys\n"
    "extractor = bert_span_lite.SpanExtractor(sys.argv[1])\n"
    "answers = extractor.answers(*sys.argv[2:])\n"
    "assert [answers] == extractor.answers([sys.argv[2]], sys.argv[3])\n"
    "print(json.dumps(list(map(dataclasses.asdict, answers))))"
  )
  done = lite.run("-c", code, path, QUESTION, CONTEXT)
  spans = extractor.answers(QUESTION, CONTEXT)
  for given, wanted in zip(json.loads(done.stdout), spans, strict=True):
    _assert_answer(given, wanted)
  done = lite.run(
    *("-m", "bert_span_lite", "--json", "--model", path),
    *("--question", QUESTION, "--context", CONTEXT),
  )
  (prediction,) = extractor.predictions([SquadExample("q", QUESTION, CONTEXT)])
  expected = extractor.columns.json_answer(prediction, 3)
  row = json.loads(done.stdout)
  assert row.keys() == {"question", *expected}
  assert_equal(row, expected)


def test_a_model_in_the_wheel_is_the_default(lite, tmp_path):
  code = (
    "import bert_span_lite, sys\n"
    "print(bert_span_lite.SpanExtractor().answer(*sys.argv[1:]).text)"
  )
  done = lite.run("-c", code, QUESTION, CONTEXT)
  wanted = exported_tflite()[1].answer(QUESTION, CONTEXT)
  assert done.stdout == f"{wanted.text}\n"
  # As in a wheel without a model.
  (model,) = lite.packages.glob("bert_span_lite/*.tflite")
  away = model.rename(tmp_path / model.name)
  assert "path" in lite.run("-c", code, QUESTION, CONTEXT).stderr
  away.rename(model)


def test_arguments_are_taken_and_refused_as_by_the_large_extractor(lite):
  path, _ = exported_tflite(dynamic_length=True)
  both = {"question": QUESTION, "context": CONTEXT}
  calls = [
    {"question": [QUESTION, "Who?"], "context": CONTEXT},
    {"question": [QUESTION], "context": [CONTEXT], "n_best": 2},
    {"question": [], "context": CONTEXT},
    # Refused.
    {"question": QUESTION, "context": [CONTEXT]},
    {"question": [QUESTION], "context": []},
    {"question": None, "context": CONTEXT},
    {"question": QUESTION, "context": 5},
    {"question": [QUESTION, None], "context": 1000 * CONTEXT},
    {"question": [QUESTION], "context": [["deep", {"a": 1}, 2, 3, 4]]},
    both | {"n_best": 0},
    both | {"n_best": 21},
  ]
  given = lite.call(path, calls)
  extractor = opened_tflite(dynamic_length=True)
  for row, call in zip(given, calls, strict=True):
    try:
      wanted = extractor.answer(**call)
    except ValueError as error:
      assert row == str(error)
      continue
    assert [type(x) for x in row] == [
      dict if isinstance(x, Answer) else list for x in wanted
    ]
    flat = [x[0] if isinstance(x, list) else x for x in row]
    for answer, other in zip(flat, wanted, strict=True):
      _assert_answer(answer, other[0] if isinstance(other, list) else other)


def test_a_question_that_was_cut_is_said(lite):
  call = {"question": 9 * QUESTION, "context": CONTEXT}
  (answer,) = lite.call(exported_tflite()[0], [call])
  assert answer["question_truncated"]


def test_what_cannot_be_read_is_named(lite, tmp_path):
  path, _ = exported_tflite()
  missing = tmp_path / "m\xefssing.tflite"
  assert lite.call(missing, []) == [
    "FileNotFoundError",
    f"[Errno 2] No such file or directory: '{missing}'",
  ]
  assert lite.call(tmp_path, [])[0] == "IsADirectoryError"
  copy = tmp_path / "copy.tflite"
  content = bytearray(pathlib.Path(path).read_bytes())
  content[5000] ^= 1
  copy.write_bytes(content)
  kind, sentence = lite.call(copy, [])
  assert kind == "ValueError"
  assert str(copy) in sentence
  assert "damaged" in sentence
  for options in (
    {"num_threads": 0},
    {"num_threads": 257},
    {"num_threads": "2"},
    {"null_score_diff_threshold": "0"},
    {"null_score_diff_threshold": float("nan")},
  ):
    kind, sentence = lite.call(path, [], **options)
    assert kind == "ValueError"
    assert next(iter(options)) in sentence


def test_another_version_of_litert_is_refused(lite, tmp_path):
  (tmp_path / "ai_edge_litert").mkdir()
  (tmp_path / "ai_edge_litert/__init__.py").touch()
  (tmp_path / "ai_edge_litert-2.1.0.dist-info").mkdir()
  code = (
    f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport bert_span_lite"
  )
  done = lite.run("-c", code)
  assert "ai-edge-litert==2.3.*" in done.stderr


# Threads that hold the GIL would never let another one see them ask.
_THREADS = """\
import sys, threading, time
import bert_span_lite
extractor = bert_span_lite.SpanExtractor(sys.argv[1], num_threads=2)
question, context = "Who built the mill?", 20_000 * "The mill was built. "
asking, asked = threading.Event(), []

def ask():
  asking.set()
  asked.append(extractor.answer(question, context))

sys.setswitchinterval(1000)
threads = [threading.Thread(target=ask) for _ in range(3)]
for thread in threads:
  thread.start()
asking.wait()
assert not asked
for thread in threads:
  thread.join()
assert asked[0] == asked[1] == asked[2] == extractor.answer(question, context)
"""


def test_threads_release_the_gil_and_wait_for_each_other(lite):
  done = lite.run("-c", _THREADS, exported_tflite(dynamic_length=True)[0])
  assert done.returncode == 0, done.stderr


_FORK = """\
import os, sys
import bert_span_lite
extractor = bert_span_lite.SpanExtractor(sys.argv[1], num_threads=2)
asked = "Who built the mill?", "The mill was built by Anna."
answer = extractor.answer(*asked)
if os.fork() == 0:
  os._exit(extractor.answer(*asked) != answer)
assert os.wait()[1] == 0
"""


def test_a_forked_process_answers(lite):
  done = lite.run("-c", _FORK, exported_tflite()[0], timeout=60)
  assert done.returncode == 0, done.stderr


@pytest.fixture
def ask(lite):
  """A function that runs the program `bert_span_lite`."""

  def run(*arguments, stdin=""):
    command = lite.python.with_name("bert_span_lite"), *arguments
    return subprocess.run(
      command, input=stdin, capture_output=True, text=True, check=False
    )

  return run


def test_the_program_prints_the_lines_of_ask(ask, tmp_path):
  path, _ = exported_tflite()
  passage = tmp_path / "passage.txt"
  passage.write_text(CONTEXT, "utf-8")
  model = f"--model={path}"
  done = ask(
    model, f"--context_file={passage}", "--json", stdin=f"{QUESTION}\nWho?\n"
  )
  extractor, rows = opened_tflite(), done.stdout.splitlines()
  for question, row in zip((QUESTION, "Who?"), rows, strict=True):
    (wanted,) = extractor.predictions([SquadExample("q", question, CONTEXT)])
    expected = extractor.columns.json_answer(wanted, 3)
    given = json.loads(row)
    assert given.keys() == {"question", *expected}
    assert_equal(given, {"question": question, **expected})
  one = ask(model, f"--question={QUESTION}", "--n_best=1", stdin=CONTEXT)
  answer, entry = one.stdout.splitlines()
  assert answer.startswith(
    extractor.answer(QUESTION, CONTEXT).text or "No answer"
  )
  assert entry.startswith("  ")
  cut = ask(model, f"--context={CONTEXT}", f"--question={9 * QUESTION}")
  assert f"max_query_length, was not read: {QUESTION}" in cut.stderr


def test_the_benchmark_compares_the_package_with_the_large_extractor(lite):
  done = subprocess.run(
    [
      *(sys.executable, "-m", "benchmarks.lite", "--sides=lite,tflite"),
      *("--questions=3", "--starts=1", f"--lite_python={lite.python}"),
      f"--model={shared_model(version_2=True)}",
    ],
    capture_output=True,
    text=True,
    check=False,
  )
  assert done.returncode == 0, done.stderr
  rows = done.stdout.splitlines()[-2:]
  cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
  assert [row[0] for row in cells] == ["lite", "tflite"]
  assert [row[-2] for row in cells] == ["3", "3"]
  assert float(cells[0][-1]) < 1e-5


def test_nothing_in_a_passage_commands_the_terminal(ask):
  context = CONTEXT.replace(" ", "\n\x1b[31m\x9b1m ")
  done = ask(
    f"--model={exported_tflite()[0]}",
    "--context",
    context,
    "--question",
    QUESTION,
  )
  assert "[31m" in done.stdout
  assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.stdout)


@pytest.mark.parametrize(
  ("arguments", "named", "status"),
  [
    (["--context=a", "--context_file=b"], "--context_file", 1),
    ([], "--question", 1),
    (["--context=a", "--n_best=0"], "--n_best", 2),
    (["--context=a", "--num_threads=0"], "num_threads", 1),
    (["--context_file=missing"], "missing", 1),
  ],
)
def test_a_wrong_option_is_named(arguments, named, status, ask):
  done = ask(f"--model={exported_tflite()[0]}", *arguments)
  assert done.returncode == status
  assert named in done.stderr
  assert "Traceback" not in done.stderr
  assert not done.stdout


def test_the_wheel_has_version_license_and_the_mark_of_types(lite):
  code = (
    "import bert_span_lite, importlib.metadata as m\n"
    "print(bert_span_lite.__version__, m.version('bert_span_lite'))\n"
    "print(bert_span_lite.__file__)"
  )
  versions, file = lite.run("-c", code).stdout.splitlines()
  assert versions.split() == [bert_span.__version__] * 2
  folder = pathlib.Path(file).parent
  files = {str(path.relative_to(folder)) for path in folder.rglob("*")}
  assert {"LICENSE", "py.typed"} <= files
  linked = {
    file.removeprefix("licenses/sentencepiece/third_party/").split("/")[0]
    for file in files
    if file.endswith("/LICENSE")
  }
  assert linked == {"licenses", "absl", "darts_clone", "protobuf-lite"}
