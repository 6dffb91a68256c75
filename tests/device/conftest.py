"""What a port of the TFLite runner is compared with, built once a session.

A port, in any language, is given the same files and the same texts as
`TFLiteSpanExtractor`. Its tokens, answers and offsets must be equal, its scores
within SCORE_TOLERANCE.
"""

import dataclasses
import functools
import json
import pathlib
import time
from typing import NamedTuple

import pytest
import tensorflow as tf
from device_texts import HOSTILE, broken_texts, hostile_texts
from exported_tflite import with_files_of
from tiny_extractor import tiny_extractor

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.answers.decoding.predictions import Prediction
from bert_span.extractor import SpanExtractor
from bert_span.jobs.tflite_export import tflite_content
from bert_span.squad.example import SquadExample
from bert_span.squad.reader import read_squad
from bert_span.storage.json_fields import encodable
from bert_span.text.options import WindowOptions
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.tflite import file as tflite_file
from bert_span.tflite.options import TFLiteOptions
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor

# LiteRT.js runs files of a fixed length only. Short windows: more of them.
_WINDOWS = WindowOptions(max_seq_length=128, doc_stride=64, max_query_length=32)
_DECODER = DecoderOptions(version_2_with_negative=True)
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


class Expected(NamedTuple):
  """Answers of `TFLiteSpanExtractor`, and what they took."""

  predictions: list[Prediction]
  ms_per_question: float


@pytest.fixture(scope="session")
def texts(shared_data):
  """The distinct questions and passages of ../shared/data; hostile texts."""
  texts = {}

  def collect(value, key=None):
    if isinstance(value, dict):
      for name, inner in value.items():
        collect(inner, name)
    elif isinstance(value, list) and value and isinstance(value[0], str):
      # MultiSpanQA gives words.
      collect(" ".join(value), key)
    elif isinstance(value, list):
      for inner in value:
        collect(inner, key)
    elif isinstance(value, str) and key in ("context", "question"):
      texts[value] = None

  for path in sorted(shared_data.glob("*.json")):
    collect(json.loads(path.read_text("utf-8")))
  return [*texts, *hostile_texts()]


@pytest.fixture(scope="session")
def device_files(shared_data, tmp_path_factory):
  """Dict of a name to its `DeviceFile`; float32 weights, fixed length.

  The model that comes with the package answers SQuAD 2.0 questions, and tiny
  random ones of its vocabulary, with other options, the long articles.
  """
  folder = tmp_path_factory.mktemp("device")
  minilm = SpanExtractor.from_preset("minilm_squad", _WINDOWS, _DECODER)
  vocabulary = minilm.preprocessor.tokenizer.vocabulary
  tiny = tiny_extractor(True, _WINDOWS, vocabulary=vocabulary)

  def written(name, content):
    path = folder / f"{name}.tflite"
    path.write_bytes(content)
    return str(path)

  uncased = written("uncased", tflite_content(tiny, TFLiteOptions()))
  decoders = {
    "cased": DecoderOptions(span_score="mean_probability", n_best_size=5),
    "temperature": DecoderOptions(
      version_2_with_negative=True,
      null_score_diff_threshold=-1.5,
      temperature=1.7,
      log_odds_shift=2.5,
      max_answer_length=11,
    ),
  }
  paths = {
    "minilm": written("minilm", tflite_content(minilm, TFLiteOptions())),
    "uncased": uncased,
  }
  for name, decoder in decoders.items():
    changes = {
      "decoder": dataclasses.asdict(decoder),
      "do_lower_case": name != "cased",
    }
    paths[name] = written(name, with_files_of(uncased, **changes))
  examples = {"minilm": _examples(shared_data, _REAL)}
  others = _examples(shared_data, _TINY) + _hostile_examples()
  return {
    name: DeviceFile(path, examples.get(name, others))
    for name, path in paths.items()
  }


@pytest.fixture(scope="session")
def expected_answers(device_files):
  """Dict of a name of `device_files` to its `Expected`."""
  expected = {}
  for name, (path, examples) in device_files.items():
    extractor = TFLiteSpanExtractor(path, num_threads=1)
    list(extractor.predict(examples[:1]))  # traces the graphs
    begin = time.perf_counter()
    predictions = list(extractor.predict(examples))
    seconds = time.perf_counter() - begin
    expected[name] = Expected(predictions, 1000 * seconds / len(examples))
  return expected


@pytest.fixture(scope="session")
def token_rows(device_files, texts, tmp_path_factory):
  """A function of "cased" or "uncased": yields a row for each of `texts`.

  A row is [ids, char_starts, char_ends].
  """
  vocabulary = tflite_file.read_vocabulary(device_files["uncased"].path)
  folder = tmp_path_factory.mktemp("tokens")

  @functools.cache
  def write(name):
    tokenizer = WordPieceTokenizer(vocabulary, name == "uncased")
    path = folder / name
    with path.open("w") as file:
      for begin in range(0, len(texts), 500):
        batch = [
          encodable(text).encode("utf-8") for text in texts[begin : begin + 500]
        ]
        for row in _rows(tokenizer, batch):
          file.write(json.dumps(row) + "\n")
    return path

  def rows(name):
    with write(name).open() as file:
      yield from map(json.loads, file)

  return rows


@pytest.fixture(scope="session")
def broken_token_rows(device_files):
  """The rows, as of `token_rows`, of `broken_texts`."""
  vocabulary = tflite_file.read_vocabulary(device_files["uncased"].path)
  return _rows(WordPieceTokenizer(vocabulary), broken_texts())


def _rows(tokenizer, texts):
  parts = (part.to_list() for part in tokenizer(tf.constant(texts)))
  return [list(row) for row in zip(*parts, strict=True)]


def _examples(folder, counts):
  return [
    example
    for name, count in counts.items()
    for example in read_squad(str(pathlib.Path(folder, name))).examples[:count]
  ]


def _hostile_examples():
  texts = [*HOSTILE, *(2 * text for text in HOSTILE)]
  return [
    SquadExample(f"hostile {i}", texts[-1 - i], text)
    for i, text in enumerate(texts)
  ]
