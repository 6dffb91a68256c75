"""What a port of the TFLite runner is compared with, built once a session.

A port, in any language, is given the same files and the same texts as
`TFLiteSpanExtractor`. Its tokens, answers and offsets must be equal, its scores
within SCORE_TOLERANCE.
"""

import dataclasses
import importlib.util
import os
import pathlib
import re
import shutil
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


class DeviceFile(NamedTuple):
  """A .tflite file, and the questions that are asked of it."""

  path: str
  examples: list[SquadExample]


@pytest.fixture(scope="session")
def litert_folder():
  """The folder of LiteRT's library, or a skip."""
  litert = importlib.util.find_spec("ai_edge_litert")
  folder = litert and pathlib.Path(litert.origin).parent
  if not folder or not (folder / "libLiteRt.so").exists():
    pytest.skip("needs ai-edge-litert with libLiteRt.so")
  return folder


@pytest.fixture(scope="session")
def cmake_build(repository, litert_folder, tmp_path_factory):
  """A function that builds export/cpp with options and returns the folder."""
  if not (shutil.which("cmake") and shutil.which("c++")):
    pytest.skip("needs cmake and a C++ compiler")

  def run(*options):
    source, folder = repository / "export/cpp", tmp_path_factory.mktemp("cpp")
    command = "cmake", "-S", source, "-B", folder, f"-DLITERT={litert_folder}"
    subprocess.run([*command, *options], check=True)
    subprocess.run(["cmake", "--build", folder, "--parallel", "2"], check=True)
    return folder

  return run


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
    """Runs commands, but installs nothing."""
    python = pathlib.Path(sys.executable).parent
    return subprocess.run(
      ["bash", "-e", "-c", f"pip() {{ :; }}\napt-get() {{ :; }}\n{commands}"],
      cwd=self.folder,
      env={**os.environ, "PATH": f"{python}:{os.environ['PATH']}"},
      capture_output=True,
      text=True,
      check=False,
    )


@pytest.fixture
def reader(repository, tmp_path):
  """A `Reader` in an empty folder."""
  return Reader(repository, tmp_path)


@pytest.fixture(scope="session")
def texts(shared_data):
  """The `texts_to_tokenize`, with those of ../shared/data."""
  return texts_to_tokenize(shared_data)


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

  def written(name, content, examples=tiny_examples):
    path = folder / f"{name}.tflite"
    path.write_bytes(content)
    return DeviceFile(str(path), examples)

  real = _examples(shared_data, _REAL)
  content = tflite_content(minilm, TFLiteOptions())
  files = {"minilm": written("minilm", content, real)}
  content = tflite_content(tiny, TFLiteOptions())
  files["uncased"] = written("uncased", content)
  # Windows have lengths of 32 to 128.
  content = tflite_content(tiny, TFLiteOptions(dynamic_length=True))
  files["dynamic"] = written("dynamic", content)
  for name, decoder in _DECODERS.items():
    content = with_files_of(
      files["uncased"].path,
      decoder=dataclasses.asdict(decoder),
      do_lower_case=name != "cased",
    )
    files[name] = written(name, content)
  return files


@pytest.fixture(scope="session")
def expected_answers(device_files):
  """The predictions for the questions of each file."""
  return {
    name: list(TFLiteSpanExtractor(path).predictions(examples))
    for name, (path, examples) in device_files.items()
  }


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
    for example in read_squad(folder / name).examples[:count]
  ]
