"""export/cpp on aarch64: built as docs/tflite.md has it, run by QEMU."""

import functools
import operator
import os
import shutil

import pytest

from tests.support.models import CONTEXT, exported_tflite
from tests.support.squad import HOSTILE, assert_answer, assert_equal

pytestmark = pytest.mark.large
_PROGRAMS = "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "qemu-aarch64"


@pytest.fixture(scope="module")
def page(reader):
  """What the commands of the page print, built in the folder of `reader`."""
  for program in _PROGRAMS:
    if not shutil.which(program):
      pytest.skip(f"needs {program}")
  litert = os.environ.get("BERT_SPAN_AARCH64_LITERT")
  if not litert:
    pytest.skip("needs BERT_SPAN_AARCH64_LITERT: make test-aarch64")
  commands = reader.block("sh", "qemu-aarch64")
  _, commands = commands.split("build/aarch64_wheel\n", 1)  # A download.
  wheel = reader.folder / "build/aarch64_wheel"
  wheel.mkdir(parents=True)
  (wheel / "ai_edge_litert").symlink_to(litert)
  done = reader.run(commands)
  assert done.returncode == 0, done.stderr
  return done.stdout


def test_the_page_builds_for_aarch64(page):
  wanted = exported_tflite()[1].answer(
    question="Who built the mill?", context=CONTEXT
  )
  assert page.splitlines()[-1].startswith(wanted.text or "No answer")


@pytest.fixture(scope="module")
def rows(page, reader, repository, rows_of):
  """A function that runs rows.cc, built and run as the page's program."""
  (reader.folder / "tests").symlink_to(repository / "tests")
  done = reader.run(
    "cmake -S export/cpp -B build/aarch64 -DBERT_SPAN_PROGRAMS=rows\n"
    "cmake --build build/aarch64"
  )
  assert done.returncode == 0, done.stderr
  build = reader.folder / "build"
  # QEMU 7.2 and LiteRT disagree about SME: other logits of 8-bit weights.
  qemu = "qemu-aarch64", "-cpu", "max,sme=off", "-L", build / "root"
  return functools.partial(rows_of, [*qemu, build / "aarch64/rows"])


@pytest.mark.parametrize("dynamic_length", [False, True])
def test_port_vectors_of_the_exporter(dynamic_length, rows, port_vectors):
  path, _ = exported_tflite(dynamic_length=dynamic_length)
  for given, wanted, context in port_vectors(path, rows, are_all=True):
    for each in (given, wanted):  # Rounding orders spans of equal scores.
      each["answer"]["n_best"].sort(key=operator.itemgetter("text"))
    assert_equal(given, wanted, context)


def test_hostile_texts(rows, device_files, expected_answers, texts, token_rows):
  file = device_files["temperature"]
  tokens = rows(file.path, "tokens", texts["broken"])
  assert tokens == list(token_rows("broken"))
  hostile = slice(-2 * len(HOSTILE), None)
  answers = rows(file.path, "answers", file.examples[hostile])
  expected = expected_answers["temperature"][hostile]
  for given, wanted in zip(answers, expected, strict=True):
    assert_answer(given, wanted)
