"""What a port of the TFLite runner is compared with, built once a session.

A port, in any language, is given the same files and the same texts as
`TFLiteSpanExtractor`. Its tokens, answers and offsets must be equal, its scores
within SCORE_TOLERANCE.
"""

import dataclasses
import importlib.util
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
from typing import NamedTuple

import pytest
import tensorflow as tf

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.squad.example import SquadExample
from bert_span.squad.reader import read_squad
from bert_span.text.options import WindowOptions
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.tflite import file as tflite_file
from bert_span.tflite.export import tflite_content
from bert_span.tflite.options import TFLiteOptions
from bert_span.tflite.port_vectors import vector_examples, write_port_vectors
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor
from tests.support.models import (
  CONTEXT,
  exported_tflite,
  tiny_extractor,
  with_files_of,
)
from tests.support.squad import HOSTILE, encoded, texts_to_tokenize

# LiteRT.js runs files of a fixed length only. Short windows: more of them.
_WINDOWS = WindowOptions(max_seq_length=128, doc_stride=64, max_query_length=32)
_DECODER = DecoderOptions(version_2_with_negative=True)
# Of two more files with the tiny model.
_DECODERS = {
  "cased": DecoderOptions(span_score="mean_probability", n_best_size=5),
  "temperature": DecoderOptions(
    version_2_with_negative=True,
    null_score_diff_threshold=-1.5,
    temperature=1.7,
    log_odds_shift=2.5,
    max_answer_length=11,
  ),
}
# Questions of each file of real data, by the model that answers them: a real
# one takes seconds for an article of COVID-QA, a tiny one milliseconds.
_REAL = {"squad2_part.json": 148, "covidqa_part.json": 2}
_TINY = {
  "covidqa_part.json": 97,
  "squad2_part.json": 203,
  "xquad_ar.json": 20,
  "xquad_zh.json": 20,
}
# One of so many questions and of so many texts is taken.
_STEPS = (1, 1) if os.environ.get("BERT_SPAN_ALL_TEXTS") else (4, 20)


class DeviceFile(NamedTuple):
  """A .tflite file, and the questions that are asked of it."""

  path: str
  examples: list[SquadExample]


@pytest.fixture(scope="session")
def litert_folder():
  """The folder of LiteRT's library, to build with; or a skip."""
  if not (shutil.which("cmake") and shutil.which("c++")):
    pytest.skip("needs cmake and a C++ compiler")
  litert = importlib.util.find_spec("ai_edge_litert")
  folder = litert and pathlib.Path(litert.origin).parent
  if not folder or not (folder / "libLiteRt.so").exists():
    pytest.skip("needs ai-edge-litert with libLiteRt.so")
  return folder


class Reader:
  """Runs blocks of docs/tflite.md in a folder with the files that they name."""

  def __init__(self, repository, folder):
    self.folder = folder
    self._page = (repository / "docs/tflite.md").read_text("utf-8")
    (folder / "export").symlink_to(repository / "export")
    shutil.copy(exported_tflite()[0], folder / "qa.tflite")
    (folder / "passage.txt").write_text(CONTEXT, "utf-8")

  def block(self, language, word):
    """The block of a language that has a word."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", self._page, re.M | re.S)
    (found,) = (block for block in blocks if word in block)
    return found

  def run(self, commands):
    """Runs commands, but installs nothing. A warning of the compiler fails."""
    python = pathlib.Path(sys.executable).parent
    return subprocess.run(
      ["bash", "-e", "-c", f"pip() {{ :; }}\napt-get() {{ :; }}\n{commands}"],
      cwd=self.folder,
      env={
        **os.environ,
        "CMAKE_BUILD_PARALLEL_LEVEL": "2",
        "CXXFLAGS": "-Werror",
        "PATH": f"{python}:{os.environ['PATH']}",
      },
      capture_output=True,
      text=True,
      check=False,
    )


@pytest.fixture(scope="module")
def reader(repository, litert_folder, tmp_path_factory):
  """A `Reader` in a folder that is empty before the first test of a file."""
  return Reader(repository, tmp_path_factory.mktemp("reader"))


@pytest.fixture(scope="session")
def rows_of():
  """A function of a command of rows.cc, a file, a mode, and what it is given.

  That are texts for the mode "tokens", else `SquadExample`s.
  """

  def run(command, file, mode, inputs):
    if mode != "tokens":
      inputs = [text for e in inputs for text in (e.question, e.context)]
    content = list(map(encoded, inputs))
    done = subprocess.run(
      [*command, file, mode],
      input=b"".join(struct.pack("<I", len(t)) + t for t in content),
      capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    parsed = [json.loads(line) for line in done.stdout.splitlines()]
    if mode == "tokens":
      return [list(tokens.values()) for tokens in parsed]
    return parsed

  return run


@pytest.fixture
def port_vectors(tmp_path):
  """A function of a file and a function that runs a port's rows on it.

  It yields each test vector as given and as wanted, and its passage; of all
  vectors, or of some drawn ones.
  """

  def vectors(path, rows, are_all=False):
    file, examples = tmp_path / "vectors.json", vector_examples()
    if not are_all:
      number = len(examples) // _STEPS[0]
      examples = random.Random(0).sample(examples, number)
    write_port_vectors(path, examples, file)
    expected = json.loads(file.read_text("utf-8"))["vectors"]
    given = rows(path, "vectors", examples)
    for row, wanted in zip(given, expected, strict=True):
      del wanted["question"]
      yield row, wanted, wanted.pop("context")

  return vectors


@pytest.fixture(scope="session")
def texts(shared_data):
  """The `texts_to_tokenize`, with those of ../shared/data."""
  return texts_to_tokenize(shared_data, _STEPS[1])


class _Made(dict):
  """A dict that makes a value by its key when it is asked for."""

  def __init__(self, make):
    self._make = make

  def __missing__(self, key):
    self[key] = self._make(key)
    return self[key]


@pytest.fixture(scope="session")
def device_files(shared_data, tmp_path_factory):
  """The packaged model and tiny ones of its vocabulary, as a dict of names."""
  folder = tmp_path_factory.mktemp("device")
  minilm = SpanExtractor.from_preset("minilm_squad", _WINDOWS, _DECODER)
  vocabulary = minilm.preprocessor.tokenizer.vocabulary
  tiny = tiny_extractor(True, _WINDOWS, vocabulary=vocabulary)
  tiny_examples = _examples(shared_data, _TINY)
  hostile = [*HOSTILE, *(2 * text for text in HOSTILE)]
  for i, text in enumerate(hostile):
    tiny_examples.append(SquadExample(f"hostile {i}", hostile[-1 - i], text))

  def make(name):
    examples = tiny_examples
    if name == "minilm":
      examples = _examples(shared_data, _REAL)
      content = tflite_content(minilm, TFLiteOptions())
    elif name in _DECODERS:
      content = with_files_of(
        files["uncased"].path,
        decoder=dataclasses.asdict(_DECODERS[name]),
        do_lower_case=name != "cased",
      )
    else:  # In the dynamic one windows have lengths of 32 to 128.
      options = TFLiteOptions(dynamic_length=name == "dynamic")
      content = tflite_content(tiny, options)
    path = folder / f"{name}.tflite"
    path.write_bytes(content)
    return DeviceFile(str(path), examples)

  files = _Made(make)
  return files


@pytest.fixture(scope="session")
def expected_answers(device_files):
  """The predictions for the questions of each file, as a dict of names."""

  def make(name):
    path, examples = device_files[name]
    return list(TFLiteSpanExtractor(path).predictions(examples))

  return _Made(make)


@pytest.fixture(scope="session")
def token_rows(device_files, texts):
  """Yields [ids, char_starts, char_ends] of each of `texts`, by their name."""
  vocabulary = tflite_file.read_vocabulary(device_files["uncased"].path)

  def rows(name):
    tokenizer = WordPieceTokenizer(vocabulary, name != "cased")
    for begin in range(0, len(texts[name]), 500):
      batch = [encoded(text) for text in texts[name][begin : begin + 500]]
      parts = (part.to_list() for part in tokenizer(tf.constant(batch)))
      yield from map(list, zip(*parts, strict=True))

  return rows


def _examples(folder, counts):
  return [
    example
    for name, count in counts.items()
    for example in read_squad(folder / name).examples[: count : _STEPS[0]]
  ]
