"""export/cpp gives the tokens, answers and scores of TFLiteSpanExtractor."""

import dataclasses
import functools
import io
import json
import operator
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys

import pytest
import tensorflow as tf
from device_texts import (
  HOSTILE,
  assert_answer,
  assert_equal,
  assert_utf16,
  encoded,
)
from exported_tflite import (
  exported_tflite,
  with_files_of,
  with_wrong_values,
)
from tiny_extractor import CONTEXT, QUESTION, extractor_of

from bert_span.text.sentencepiece_model import sentence_pieces
from bert_span.text.sentencepiece_tokenizer import SentencePieceTokenizer
from bert_span.tflite import file as tflite_file
from bert_span.tflite.export import tflite_content
from bert_span.tflite.options import TFLiteOptions
from bert_span.tflite.port_vectors import vector_examples, write_port_vectors
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor

pytestmark = pytest.mark.large
_SANITIZERS = (
  "-O1 -g -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"
)
_AARCH64_COMPILERS = "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++"
# Of each processor; LiteRT ends the process if they are not those of an ARM.
_CPUINFO = """\
processor	: {}
Features	: fp asimd aes crc32 atomics fphp asimdhp asimdrdm asimddp i8mm
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x3
CPU part	: 0xd0c
CPU revision	: 1

"""
# A program in C, which finds the installed package.
_PROJECT = """\
cmake_minimum_required(VERSION 3.18)
project(consumer LANGUAGES C)
find_package(bert_span 1.0 REQUIRED)
add_executable(consumer consumer.c)
target_compile_options(consumer PRIVATE -Wall -Wextra -Werror -std=c99)
target_link_libraries(consumer bert_span::bert_span)
"""


@pytest.fixture(scope="module")
def build(cmake_build):
  """The folder of programs with sanitizers."""
  return cmake_build(
    f"-DCMAKE_CXX_FLAGS={_SANITIZERS}", "-DBERT_SPAN_PROGRAMS=rows"
  )


@pytest.fixture(scope="module")
def rows(build):
  """A function that runs rows.cc on texts; see there."""
  return functools.partial(_rows, [build / "rows"])


@pytest.fixture(scope="module")
def aarch64_rows(cmake_build, tmp_path_factory):
  """The same, compiled for aarch64 and run by QEMU."""
  for program in (*_AARCH64_COMPILERS, "qemu-aarch64"):
    if not shutil.which(program):
      pytest.skip(f"needs {program}")
  litert = os.environ.get("BERT_SPAN_AARCH64_LITERT")
  if not litert:
    pytest.skip("needs BERT_SPAN_AARCH64_LITERT, a folder with libLiteRt.so")
  c, cxx = _AARCH64_COMPILERS
  build = cmake_build(
    *("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64"),
    *(f"-DCMAKE_C_COMPILER={c}", f"-DCMAKE_CXX_COMPILER={cxx}"),
    *("-DCMAKE_CXX_FLAGS=-Werror", "-DBERT_SPAN_PROGRAMS=rows"),
    f"-DLITERT={litert}",
  )
  root = tmp_path_factory.mktemp("aarch64")
  (root / "lib").symlink_to("/usr/aarch64-linux-gnu/lib")
  (root / "proc").mkdir()
  (root / "proc/cpuinfo").write_text(
    "".join(map(_CPUINFO.format, range(os.cpu_count())))
  )
  # QEMU 7.2 and LiteRT disagree about SME: other logits of 8-bit weights.
  qemu = "qemu-aarch64", "-cpu", "max,sme=off", "-L", root
  return functools.partial(_rows, [*qemu, build / "rows"])


def _rows(command, file, mode, texts):
  content = [encoded(text) for text in texts]
  done = subprocess.run(
    [*command, file, mode],
    input=b"".join(struct.pack("<I", len(t)) + t for t in content),
    capture_output=True,
    check=False,
  )
  assert done.returncode == 0, done.stderr.decode()
  parsed = [json.loads(line) for line in done.stdout.splitlines()]
  if mode == "tokens":
    return [list(tokens.values()) for tokens in parsed]
  return parsed


def _texts(examples):
  return [text for e in examples for text in (e.question, e.context)]


@pytest.mark.parametrize("name", ["uncased", "cased", "newer", "broken"])
def test_tokens_of_all_texts(name, rows, device_files, texts, token_rows):
  file = device_files["cased" if name == "cased" else "uncased"]
  tokens = rows(file.path, "tokens", texts[name])
  rows_of_text = zip(texts[name], tokens, token_rows(name), strict=True)
  assert not [text for text, given, wanted in rows_of_text if given != wanted]


@pytest.mark.parametrize(
  "name", ["minilm", "uncased", "cased", "temperature", "dynamic"]
)
def test_answers(name, device_files, expected_answers, rows):
  file = device_files[name]
  answers = rows(file.path, "answers", _texts(file.examples))
  for given, wanted, example in zip(
    answers, expected_answers[name], file.examples, strict=True
  ):
    assert_answer(given, wanted)
    span = encoded(example.context)[given["byte_start"] : given["byte_end"]]
    assert span.decode("utf-8") == given["text"]
    for span in (given, *given["n_best"]):
      assert_utf16(span, example.context)


@pytest.mark.parametrize("dynamic_length", [False, True])
@pytest.mark.parametrize("processor", ["rows", "aarch64_rows"])
def test_port_vectors_of_the_exporter(
  processor, dynamic_length, request, tmp_path
):
  path, file = exported_tflite(dynamic_length=dynamic_length)[0], tmp_path / "v"
  examples = vector_examples()
  write_port_vectors(path, examples, file)
  expected = json.loads(file.read_text("utf-8"))["vectors"]
  run = request.getfixturevalue(processor)
  vectors = run(path, "vectors", _texts(examples))
  for given, wanted in zip(vectors, expected, strict=True):
    question, context = wanted.pop("question"), wanted.pop("context")
    if processor == "aarch64_rows":  # Rounding orders spans of equal scores.
      for each in (given, wanted):
        each["answer"]["n_best"].sort(key=operator.itemgetter("text"))
    assert_equal(given, wanted, question, context)


def test_hostile_texts_on_aarch64(
  aarch64_rows, device_files, expected_answers, texts, token_rows
):
  file = device_files["temperature"]
  tokens = aarch64_rows(file.path, "tokens", texts["broken"])
  assert tokens == list(token_rows("broken"))
  hostile = slice(-2 * len(HOSTILE), None)
  answers = aarch64_rows(file.path, "answers", _texts(file.examples[hostile]))
  expected = expected_answers["temperature"][hostile]
  for given, wanted in zip(answers, expected, strict=True):
    assert_answer(given, wanted)


@pytest.fixture(scope="module")
def answer(build, tmp_path_factory):
  """A function that runs bert_span_answer on a file."""
  program = build / "bert_span_answer"
  passage = tmp_path_factory.mktemp("passage") / "passage.txt"
  passage.write_bytes(CONTEXT.encode("utf-8"))

  def run(path, *questions, **options):
    return subprocess.run(
      [program, str(path), str(passage), *questions],
      capture_output=True,
      text=True,
      check=False,
      **options,
    )

  return run


def test_the_program_answers_an_argument_and_every_line(answer, tmp_path):
  path, extractor = exported_tflite()
  wanted = extractor.answer(question=QUESTION, context=CONTEXT)
  one = answer(path, QUESTION)
  assert json.loads(one.stdout)["text"] == wanted.text, one.stderr
  many = answer(path, input=f"{QUESTION}\n\n{QUESTION}\n")
  first, _, third = many.stdout.splitlines(keepends=True)
  assert first == third == one.stdout
  for path in ("missing.tflite", tmp_path):
    run = answer(path, QUESTION)
    assert run.returncode == 1
    assert run.stderr == f"bert_span: cannot read {path}\n"


def test_damaged_files_are_refused_and_never_crash(answer, tmp_path):
  path, _ = exported_tflite()
  content = pathlib.Path(path).read_bytes()
  size = tflite_file.read_span_config(path)["tflite"]["model_bytes"]
  rng = random.Random(3)
  copy = tmp_path / "copy.tflite"

  def code_of(damaged):
    copy.write_bytes(damaged)
    run = answer(copy, QUESTION)
    assert run.returncode in (0, 1), run.stderr
    assert run.returncode == 0 or run.stderr.startswith("bert_span: ")
    return run.returncode

  assert code_of(content) == 0
  for end in (0, 1, 21, 22, size, len(content) - 300, len(content) - 1):
    assert code_of(content[:end]) == 1, end
  for place in rng.sample(range(size), 5):
    assert code_of(_changed(content, place)) == 1, place
  for text in (b"[UNK]", b"near", b'"n_best_size"'):
    assert code_of(_changed(content, content.index(text, size))) == 1, text
  # A date in the archive may be any.
  codes = {
    code_of(_changed(content, rng.randrange(size, len(content))))
    for _ in range(40)
  }
  assert 1 in codes


def test_a_wrong_value_in_the_metadata_is_refused_by_its_name(answer, tmp_path):
  path, _ = exported_tflite()
  copy = tmp_path / "copy.tflite"
  about_file = tflite_file.read_span_config(path)["tflite"]
  for name, content in (
    *with_wrong_values(path),
    # Of the right type, but not those of the model.
    *(
      (name, with_files_of(path, tflite=about_file | {name: value}))
      for name, value in (("max_length", 64), ("dynamic_length", True))
    ),
  ):
    copy.write_bytes(content)
    run = answer(copy, QUESTION)
    assert run.returncode == 1, (name, run.stderr)
    # The runtime may say more before it.
    message = run.stderr.splitlines()[-1]
    assert message.startswith("bert_span: "), (name, run.stderr)
    assert name in message or "tokenizer" in message, (name, message)


def test_sentence_pieces_are_refused_by_name(answer, tmp_path):
  path = tmp_path / "pieces.tflite"
  content = tflite_content(extractor_of("xlm-roberta"), TFLiteOptions())
  path.write_bytes(content)
  run = answer(path, QUESTION)
  assert run.returncode == 1
  assert "SentencePieces" in run.stderr
  assert "-DBERT_SPAN_SENTENCEPIECE=ON" in run.stderr


def test_byte_pairs_are_refused_by_name(answer, tmp_path):
  path = tmp_path / "pairs.tflite"
  path.write_bytes(tflite_content(extractor_of("roberta"), TFLiteOptions()))
  run = answer(path, QUESTION)
  assert run.returncode == 1
  assert "byte pairs" in run.stderr


@pytest.fixture(scope="module")
def piece_rows(cmake_build):
  """The function `rows` of a library that reads SentencePieces."""
  header = "-include", "sentencepiece_processor.h", "-E", "-x", "c++"
  compiler = shutil.which("c++") or pytest.skip("needs a C++ compiler")
  found = subprocess.run(
    [compiler, *header, "/dev/null"], capture_output=True, check=False
  )
  if found.returncode:
    pytest.skip("needs sentencepiece_processor.h")
  build = cmake_build(
    f"-DCMAKE_CXX_FLAGS={_SANITIZERS}",
    *("-DBERT_SPAN_SENTENCEPIECE=ON", "-DBERT_SPAN_PROGRAMS=rows"),
  )
  return functools.partial(_rows, [build / "rows"])


@pytest.fixture(scope="module", params=[False, True])
def pieces(texts, request):
  """A Unigram model of some of the texts, normalized as XLM-R's."""
  sentencepiece = pytest.importorskip("sentencepiece")
  content = io.BytesIO()
  text = b"\n".join(encoded(text) for text in texts["uncased"][:-2500:20])
  sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(text.decode().split("\n")),
    model_writer=content,
    byte_fallback=request.param,
    vocab_size=3_000,
    minloglevel=2,
    unk_id=0,
    bos_id=1,
    eos_id=2,
  )
  return sentence_pieces(content.getvalue(), "xlm-roberta", "pieces")


def test_sentence_pieces_of_all_texts(piece_rows, pieces, texts, tmp_path):
  path = tmp_path / "pieces.tflite"
  extractor = extractor_of("xlm-roberta", vocabulary=pieces)
  path.write_bytes(tflite_content(extractor, TFLiteOptions()))
  tokenizer = SentencePieceTokenizer(*pieces)
  for name in ("uncased", "broken"):
    for begin in range(0, len(texts[name]), 5000):
      batch = [encoded(text) for text in texts[name][begin : begin + 5000]]
      parts = (part.to_list() for part in tokenizer(tf.constant(batch)))
      wanted = map(list, zip(*parts, strict=True))
      given = piece_rows(path, "tokens", batch)
      pairs = zip(batch, given, wanted, strict=True)
      assert not [text for text, row, other in pairs if row != other]


@pytest.mark.parametrize("decoder", [{}, {"temperature": 1.7}])
def test_answers_of_sentence_pieces(
  decoder, piece_rows, pieces, device_files, tmp_path
):
  path, examples = tmp_path / "pieces.tflite", device_files["cased"].examples
  extractor = extractor_of("xlm-roberta", version_2=True, vocabulary=pieces)
  path.write_bytes(tflite_content(extractor, TFLiteOptions()))
  decoder = dataclasses.asdict(extractor.decoder_options) | decoder
  path.write_bytes(with_files_of(path, decoder=decoder))
  answers = piece_rows(path, "answers", _texts(examples))
  expected = TFLiteSpanExtractor(path).predictions(examples)
  for given, wanted in zip(answers, expected, strict=True):
    assert_answer(given, wanted)


@pytest.mark.parametrize("family", ["xlm-roberta", "camembert", "deberta-v2"])
def test_port_vectors_of_sentence_pieces(family, piece_rows, tmp_path):
  path, file = tmp_path / "pieces.tflite", tmp_path / "vectors.json"
  path.write_bytes(tflite_content(extractor_of(family), TFLiteOptions()))
  examples = vector_examples()
  write_port_vectors(path, examples, file)
  expected = json.loads(file.read_text("utf-8"))["vectors"]
  vectors = piece_rows(path, "vectors", _texts(examples))
  for given, wanted in zip(vectors, expected, strict=True):
    question, context = wanted.pop("question"), wanted.pop("context")
    assert_equal(given, wanted, question, context)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_an_installed_library_answers_a_program_in_c(
  compiler, cmake_build, tmp_path
):
  if not shutil.which(compiler):
    pytest.skip(f"needs {compiler}")
  build = cmake_build(
    f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_CXX_FLAGS=-Werror"
  )
  installed, project = tmp_path / "installed", tmp_path / "project"
  subprocess.run(
    ["cmake", "--install", build, "--prefix", installed], check=True
  )
  project.mkdir()
  (project / "CMakeLists.txt").write_text(_PROJECT)
  shutil.copy(pathlib.Path(__file__).with_name("consumer.c"), project)
  subprocess.run(
    [
      *("cmake", "-S", project, "-B", project),
      f"-DCMAKE_PREFIX_PATH={installed}",
    ],
    check=True,
  )
  subprocess.run(["cmake", "--build", project], check=True)
  path, extractor = exported_tflite()
  wanted = extractor.answer(question=QUESTION, context=CONTEXT)
  run = subprocess.run(
    [project / "consumer", path, QUESTION, CONTEXT],
    capture_output=True,
    text=True,
    check=True,
  )
  num_windows, text, stopped, missing, threads = run.stdout.splitlines()
  assert int(num_windows) > 0
  assert text == wanted.text
  assert stopped == "bert_span: the question was stopped"
  assert missing == "bert_span: cannot read \ufffdmissing"
  assert threads == (
    "bert_span: num_threads must be from 0 to 256. Received: 100000"
  )


def test_python_without_tensorflow(repository, cmake_build, tmp_path):
  page = (repository / "docs/tflite.md").read_text("utf-8")
  (block,) = re.findall(r"```python\n(import ctypes.*?)```", page, re.S)
  (tmp_path / "build").mkdir()
  (tmp_path / "build/cpp").symlink_to(cmake_build())
  path, extractor = exported_tflite()
  shutil.copy(path, tmp_path / "qa.tflite")
  script, context = tmp_path / "script.py", CONTEXT.replace(" ", "\ud800 ")
  script.write_text(
    f"passage = {context!r}\n{block}"
    f"print(json.dumps(answer({QUESTION!r}, passage)))\n"
    "import sys\nassert 'tensorflow' not in sys.modules\n"
  )
  run = subprocess.run(
    [sys.executable, "-S", script],
    cwd=tmp_path,
    capture_output=True,
    check=True,
  )
  wanted = extractor.answer(question=QUESTION, context=context)
  given = json.loads(run.stdout)
  assert given["char_start"] == wanted.char_start
  assert given["score"] == pytest.approx(wanted.score, abs=1e-4)


def _changed(content, place):
  return content[:place] + bytes([content[place] ^ 0x15]) + content[place + 1 :]
