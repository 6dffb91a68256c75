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
  config = tflite_file.read_span_config(path)
  if content is None:
    size = config["tflite"]["model_bytes"]
    content = pathlib.Path(path).read_bytes()[:size]
  config["tflite"].update(tflite_file.fingerprint(content))
  files = tflite_file.read_files(path)
  files[CONFIG_FILE] = json.dumps({**config, **changes}).encode("utf-8")
  return tflite_file.with_files(content, files)


def with_nan_weights(path):
  """The bytes of a TFLite file with NaN in the matrices of an encoder layer."""
  model = parsed(path)
  for buffer in model.buffers:
    # float32 [32, 16]
    if buffer.data is not None and len(buffer.data) == 4 * 32 * 16:
      buffer.data = np.full(32 * 16, np.nan, np.float32).view(np.uint8)
  return with_files_of(path, tflite_file.pack(model))
