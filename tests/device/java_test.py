"""export/java gives the answers of TFLiteSpanExtractor."""

import json
import re
import shutil
import struct
import subprocess

import pytest

from bert_span.storage.files import encodable
from bert_span.tflite.port_vectors import vector_examples, write_port_vectors
from tests.support.models import exported_tflite
from tests.support.squad import assert_answer, assert_equal, assert_utf16

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(reader):
  """What the commands of the page print, run in the folder of `reader`."""
  if not shutil.which("javac"):
    pytest.skip("needs javac")
  (reader.folder / "Main.java").write_text(reader.block("java", "Main.java"))
  done = reader.run(reader.block("sh", "Main.java"))
  assert done.returncode == 0, done.stderr
  return done.stdout


def test_the_page_builds_and_answers(page, reader):
  code = reader.block("java", "Main.java")
  (passage,) = re.findall(r'passage = "(.*)";', code)
  (question,) = re.findall(r'answer\("(.*)", passage', code)
  wanted = exported_tflite()[1].answer(question=question, context=passage)
  assert page.splitlines()[-1] == (wanted.text or "No answer")


@pytest.fixture(scope="module")
def rows(page, reader, repository):
  """A function that runs Rows.java on pairs of texts with what was built."""
  installed, classes = reader.folder / "installed", reader.folder / "classes"
  install = "cmake", "--install", "build/java", "--prefix", installed
  subprocess.run(install, cwd=reader.folder, check=True)
  javac = "javac", "--release=11", "-Xlint:all,-try", "-Werror", "-d", classes
  sources = "export/java/bertspan/SpanExtractor.java", "tests/device/Rows.java"
  subprocess.run([*javac, *sources], cwd=repository, check=True)
  # -Xcheck:jni reports wrong calls of the JVM.
  java = (
    "java",
    "-Xcheck:jni",
    f"-Djava.library.path={installed / 'lib'}",
    "-cp",
    classes,
  )

  def run(file, mode, examples):
    texts = [text for e in examples for text in (e.question, e.context)]
    units = [text.encode("utf-16-be", "surrogatepass") for text in texts]
    return subprocess.run(
      [*java, "Rows", file, mode],
      input=b"".join(struct.pack(">I", len(t) // 2) + t for t in units),
      capture_output=True,
      check=False,
    )

  return run


def test_answers(device_files, expected_answers, rows):
  """Of one set of decoding options: those are the library's."""
  name = "temperature"
  file = device_files[name]
  done = rows(file.path, "answers", file.examples)
  assert done.stderr.splitlines()[-1] == b"The extractor is closed."
  answers = map(json.loads, done.stdout.splitlines())
  for given, wanted, example in zip(
    answers, expected_answers[name], file.examples, strict=True
  ):
    for span in (given, *given["n_best"]):
      # substring keeps halves of surrogate pairs, which Python replaces.
      span["text"] = encodable(span["text"])
      assert_utf16(span, example.context)
    assert_answer(given, wanted)


def test_port_vectors_of_the_exporter(rows, tmp_path):
  path, _ = exported_tflite(dynamic_length=True)
  examples, file = vector_examples(), tmp_path / "vectors.json"
  write_port_vectors(path, examples, file)
  expected = json.loads(file.read_text("utf-8"))["vectors"]
  done = rows(path, "steps", examples)
  # No GPU runs windows of any length.
  assert b"CPU" in done.stderr.splitlines(), done.stderr
  given_rows = map(json.loads, done.stdout.splitlines())
  for given, wanted in zip(given_rows, expected, strict=True):
    question, context = wanted.pop("question"), wanted.pop("context")
    assert_equal(given, wanted, question, context)


def test_a_file_that_cannot_be_read_is_an_exception_with_its_name(rows):
  done = rows("mißing\U0001f642.tflite", "answers", [])
  assert done.returncode == 1
  message = (
    "java.io.IOException: bert_span: cannot read mißing\U0001f642.tflite"
  )
  assert message in done.stderr.decode("utf-8")


def test_wrong_arguments_are_exceptions_that_name_them(rows):
  done = rows(exported_tflite()[0], "mistakes", [])
  assert done.returncode == 0, done.stderr
  null = "NullPointerException: {}".format
  closed = "IllegalStateException: The extractor is closed."
  assert done.stdout.decode().splitlines() == [
    *map(null, ("path", "file", "accelerator", "accelerator")),
    "IOException: bert_span: num_threads must be from 0 to 256. Received: -1",
    "IOException: bert_span: the file ends in no archive: export it with "
    "export_tflite",
    *map(null, ("question", "context") * 2),
    *("fine", "fine", closed, closed, closed),
  ]
