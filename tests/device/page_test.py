"""export/cpp as docs/tflite.md has it: built, installed, called from C."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from bert_span.tflite.export import tflite_content
from bert_span.tflite.options import TFLiteOptions
from tests.support.models import (
  CONTEXT,
  QUESTION,
  exported_tflite,
  extractor_of,
)

pytestmark = pytest.mark.large
# A program in C, which finds the installed package.
_PROJECT = """\
cmake_minimum_required(VERSION 3.18)
project(consumer LANGUAGES C)
find_package(bert_span 1.0 REQUIRED)
add_executable(consumer consumer.c)
target_compile_options(consumer PRIVATE -Wall -Wextra -Werror -std=c99)
target_link_libraries(consumer bert_span::bert_span)
"""


def _cmake(folder, build, *options, **environment):
  """Configures export/cpp in a folder that has it."""
  return subprocess.run(
    ["cmake", "-S", "export/cpp", "-B", build, *options],
    cwd=folder,
    env={**os.environ, **environment},
    capture_output=True,
    text=True,
  )


@pytest.mark.parametrize("version", [None, "2.1.0", "3.0.0"])
def test_cmake_says_what_to_install(version, reader, tmp_path):
  python = tmp_path / "python3"
  python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
  python.chmod(0o755)
  if version:
    wheel = tmp_path / f"ai_edge_litert-{version}.dist-info"
    wheel.mkdir()
    metadata = (
      f"Metadata-Version: 2.1\nName: ai-edge-litert\nVersion: {version}\n"
    )
    (wheel / "METADATA").write_text(metadata)
  path = f"{tmp_path}:{os.environ['PATH']}"
  run = _cmake(
    reader.folder, tmp_path / "build", PATH=path, PYTHONPATH=str(tmp_path)
  )
  assert run.returncode != 0
  assert "pip install 'ai-edge-litert==2.3.*'" in run.stderr
  assert "-DLITERT=" in run.stderr


def test_cmake_names_what_is_missing(reader, litert_folder, tmp_path):
  litert = f"-DLITERT={litert_folder}"
  for options, name in (
    (["-DLITERT=missing"], str(reader.folder / "missing")),
    ([f"{litert}/libLiteRt.so"], str(litert_folder / "libLiteRt.so")),
    (
      [litert, "-DBERT_SPAN_JNI=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_JNI=ON"],
      "JAVA_HOME",
    ),
    (
      [litert, "-DBERT_SPAN_SENTENCEPIECE=ON", "-DSENTENCEPIECE_INCLUDE="],
      "libsentencepiece-dev",
    ),
  ):
    run = _cmake(reader.folder, tmp_path / "build", *options)
    assert run.returncode != 0
    assert name in run.stderr


@pytest.fixture(scope="module")
def page(reader):
  """The commands of the page in C, and what they print, run in `reader`."""
  (reader.folder / "main.c").write_text(reader.block("c", "main.c"))
  commands = reader.block("sh", "build/main")
  done = reader.run(commands)
  assert done.returncode == 0, done.stderr
  return commands, done.stdout


def test_the_page_builds_installs_and_answers(page, reader):
  commands, output = page
  code = reader.block("c", "main.c")
  question, passage = re.findall(r'\[\] = "(.*)";', code)
  wanted = exported_tflite()[1].answer(question=question, context=passage)
  assert output.splitlines()[-1] == (wanted.text or "No answer")

  # An error is printed and ends with another status.
  compiled = commands[commands.index("cc main.c") :]
  for changed, message in (
    (code.replace("qa.tflite", "missing.tflite"), "cannot read missing.tflite"),
    (code.replace("strlen(question)", "(size_t)-1"), "question"),
  ):
    (reader.folder / "main.c").write_text(changed)
    done = reader.run(compiled)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("bert_span: ")
    assert message in done.stderr


@pytest.mark.usefixtures("page")
def test_sentence_pieces_are_refused_with_the_option_that_reads_them(
  reader, tmp_path
):
  path = tmp_path / "pieces.tflite"
  content = tflite_content(extractor_of("xlm-roberta"), TFLiteOptions())
  path.write_bytes(content)
  run = reader.run(f"build/cpp/bert_span_answer {path} passage.txt Who?")
  assert run.returncode == 1
  assert "SentencePieces" in run.stderr
  assert "-DBERT_SPAN_SENTENCEPIECE=ON" in run.stderr


@pytest.mark.usefixtures("page")
def test_an_installed_library_answers_a_program_in_c(reader, tmp_path):
  (tmp_path / "CMakeLists.txt").write_text(_PROJECT)
  shutil.copy(pathlib.Path(__file__).with_name("consumer.c"), tmp_path)
  installed = f"-DCMAKE_PREFIX_PATH={reader.folder / 'build/installed'}"
  for command in (
    ["cmake", "-S", tmp_path, "-B", tmp_path, installed],
    ["cmake", "--build", tmp_path],
  ):
    subprocess.run(command, check=True)
  path, extractor = exported_tflite()
  wanted = extractor.answer(question=QUESTION, context=CONTEXT)
  run = subprocess.run(
    [tmp_path / "consumer", path, QUESTION, CONTEXT],
    capture_output=True,
    text=True,
    check=True,
  )
  num_windows, text, *errors = run.stdout.splitlines()
  assert int(num_windows) > 0
  assert text == wanted.text
  assert errors == [
    "bert_span: the question was stopped",
    "bert_span: cannot read \ufffdmissing",
    "bert_span: num_threads must be from 0 to 256. Received: 100000",
    "bert_span: num_threads must be from 0 to 256. Received: -1",
    "bert_span: accelerator must be from 0 to 2. Received: 7",
    "bert_span: null_score_diff_threshold must be a finite number. Received: "
    "inf",
    "bert_span: path is NULL",
    *["bert_span: bytes is NULL"] * 2,
    *["bert_span: question is NULL", "bert_span: context is NULL"] * 2,
    *["bert_span: question has an impossible size: 18446744073709551615"] * 2,
    *["bert_span: extractor is NULL: bert_span_open failed, read its error"]
    * 4,
  ]


@pytest.mark.usefixtures("page")
def test_a_library_of_a_relative_folder_is_moved(reader, litert_folder):
  folder = reader.folder / "litert"
  folder.mkdir()
  library = folder / "libLiteRt.so"
  library.symlink_to(litert_folder / "libLiteRt.so")
  build = "cmake -S export/cpp -B build/cpp -DLITERT=litert"
  install = "cmake --install build/cpp --prefix installed"
  done = reader.run(f"{build}\ncmake --build build/cpp\n{install}")
  assert done.returncode == 0, done.stderr
  ask = f"installed/bin/bert_span_answer qa.tflite passage.txt '{QUESTION}'"
  in_place = reader.run(
    f"cd /\n{reader.folder}/{ask.replace(' ', ' $OLDPWD/', 2)}"
  )
  assert in_place.returncode == 0, in_place.stderr
  library.rename(reader.folder / library.name)
  assert library.name in reader.run(ask).stderr
  moved = reader.run(f"cp {library.name} installed/lib*\n{ask}")
  assert moved.stdout == in_place.stdout
