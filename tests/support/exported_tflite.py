"""TFLite files of tiny models, each written once for all tests of a process."""

import dataclasses
import functools
import json
import pathlib

import numpy as np
from tiny_extractor import new_folder, shared_extractor

from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.presets.span_config import CONFIG_FILE
from bert_span.tflite import file as tflite_file
from bert_span.tflite.export import tflite_content
from bert_span.tflite.options import TFLiteOptions
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor


@functools.cache
def exported_tflite(
  kind=SpanExtractor, quantization="none", dynamic_length=False, **decoder
):
  """The path of a TFLite file, and the SpanExtractor it was made of.

  Questions may be unanswerable. `decoder` has other decoding options.
  """
  extractor = shared_extractor(version_2=True, kind=kind)
  if decoder:
    options = dataclasses.replace(extractor.decoder_options, **decoder)
    extractor = SpanExtractor(
      extractor.backbone, extractor.preprocessor, options, extractor.head
    )
  path = new_folder() / "tiny.tflite"
  options = TFLiteOptions(quantization, dynamic_length)
  path.write_bytes(tflite_content(extractor, options))
  return str(path), extractor


@functools.cache
def opened_tflite(**file):
  """The extractor of an `exported_tflite`, whose graphs are traced once."""
  return TFLiteSpanExtractor(exported_tflite(**file)[0])


def parsed(path):
  """The model in a TFLite file."""
  return tflite_file.parse(pathlib.Path(path).read_bytes())


def with_files_of(path, content=None, **changes):
  """A model, or that of the file, with its files and a changed span_config."""
  config = tflite_file.read_packed_config(path)
  if content is None:
    size = config["tflite"]["model_bytes"]
    content = pathlib.Path(path).read_bytes()[:size]
  config["tflite"].update(tflite_file.fingerprint(content))
  files = tflite_file.read_files(path)
  files[CONFIG_FILE] = json.dumps({**config, **changes}).encode("utf-8")
  return tflite_file.with_files(content, files)


# Fields of span_config.json, and values that no runner takes.
_WRONG_VALUES = {
  "format": [2, "1"],
  "head": ["other", 5, ["span"]],
  "do_lower_case": ["yes", "true", 1, None, [True]],
  "window.max_seq_length": [8, 33, 10**9, "32", None],
  "window.doc_stride": [None, 0, -1, 1.5, "8", 2**31],
  "window.max_query_length": [-1, None, 10**9, [8]],
  "decoder.n_best_size": [0, 2.5, 10_001, "20", None],
  "decoder.max_answer_length": [0, None, "30", 2**31],
  "decoder.version_2_with_negative": ["yes", 0, None],
  "decoder.null_score_diff_threshold": ["0", None, [0.0]],
  "decoder.span_score": ["other", 1, None],
  "decoder.temperature": [0, -1.0, 1e-310, 1001, "1", [2.0]],
  "decoder.log_odds_shift": [501, -800, "1", None, [1.0], {}],
  "tflite.max_length": [0, 10**9, "32", None],
  "tflite.model_bytes": [0, -1, 10**10, "all", None],
  "tflite.model_sha256": [5, None],
  "tflite.vocabulary_sha256": [5, ["a"], None],
  "tflite.dynamic_length": ["no", 0, None],
}


def with_wrong_values(path):
  """Yields (field, bytes) of copies of a file, each with one wrong value."""
  for field, values in _WRONG_VALUES.items():
    *part, name = field.split(".")
    for value in values:
      changes = {name: value}
      if part:
        changes = {part[0]: tflite_file.read_packed_config(path)[part[0]]}
        changes[part[0]][name] = value
      yield name, with_files_of(path, **changes)


def with_nan_weights(path):
  """The bytes of a TFLite file with NaN in the matrices of an encoder layer."""
  model = parsed(path)
  for buffer in model.buffers:
    # float32 [32, 16]
    if buffer.data is not None and len(buffer.data) == 4 * 32 * 16:
      buffer.data = np.full(32 * 16, np.nan, np.float32).view(np.uint8)
  return with_files_of(path, tflite_file.pack(model))
