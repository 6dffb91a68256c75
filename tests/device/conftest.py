"""What a port of the TFLite runner is compared with, built once a session.

A port, in any language, is given the same files and the same texts as
`TFLiteSpanExtractor`. Its tokens, answers and offsets must be equal, its scores
within SCORE_TOLERANCE.
"""

import dataclasses
import time
from typing import NamedTuple

import pytest
import tensorflow as tf
from device_texts import HOSTILE, broken_texts, hostile_texts, real_texts
from exported_tflite import with_files_of
from tiny_extractor import tiny_extractor

from bert_span.answers.decoding.options import DecoderOptions
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
def texts(shared_data):
  """The distinct questions and passages of ../shared/data; hostile texts."""
  return [*real_texts(shared_data), *hostile_texts()]


@pytest.fixture(scope="session")
def device_files(shared_data, tmp_path_factory):
  """The packaged model and tiny ones of its vocabulary, as a dict of names."""
  folder = tmp_path_factory.mktemp("device")
  minilm = SpanExtractor.from_preset("minilm_squad", _WINDOWS, _DECODER)
  vocabulary = minilm.preprocessor.tokenizer.vocabulary
  tiny = tiny_extractor(True, _WINDOWS, vocabulary=vocabulary)

  def written(name, content):
    path = folder / f"{name}.tflite"
    path.write_bytes(content)
    return str(path)

  uncased = written("uncased", tflite_content(tiny, TFLiteOptions()))
  paths = {
    "minilm": written("minilm", tflite_content(minilm, TFLiteOptions())),
    "uncased": uncased,
  }
  for name, decoder in _DECODERS.items():
    changes = {"decoder": dataclasses.asdict(decoder)}
    content = with_files_of(uncased, **changes, do_lower_case=name != "cased")
    paths[name] = written(name, content)
  hostile = [*HOSTILE, *(2 * text for text in HOSTILE)]
  others = _examples(shared_data, _TINY)
  for i, text in enumerate(hostile):
    others.append(SquadExample(f"hostile {i}", hostile[-1 - i], text))
  examples = {"minilm": _examples(shared_data, _REAL)}
  return {
    name: DeviceFile(path, examples.get(name, others))
    for name, path in paths.items()
  }


@pytest.fixture(scope="session")
def expected_answers(device_files):
  """For each name the predictions, and the milliseconds of a question."""
  expected = {}
  for name, (path, examples) in device_files.items():
    extractor = TFLiteSpanExtractor(path, num_threads=1)
    list(extractor.predict(examples[:1]))  # traces the graphs
    begin = time.perf_counter()
    predictions = list(extractor.predict(examples))
    seconds = time.perf_counter() - begin
    expected[name] = predictions, 1000 * seconds / len(examples)
  return expected


@pytest.fixture(scope="session")
def token_rows(device_files, texts):
  """Yields [ids, char_starts, char_ends] of `texts`, "cased" or "uncased"."""
  vocabulary = tflite_file.read_vocabulary(device_files["uncased"].path)

  def rows(name):
    tokenizer = WordPieceTokenizer(vocabulary, name == "uncased")
    for begin in range(0, len(texts), 500):
      batch = texts[begin : begin + 500]
      yield from _rows(tokenizer, [encodable(t).encode("utf-8") for t in batch])

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
    for example in read_squad(folder / name).examples[:count]
  ]
