"""TFLite files of tiny models, each written once for all tests of a process."""

import atexit
import dataclasses
import functools
import os
import shutil
import tempfile

from tiny_extractor import VOCABULARY, tiny_extractor

from bert_span.heads.span import SPAN_HEAD
from bert_span.jobs import tflite_export


@functools.cache
def exported_tflite(
  head=SPAN_HEAD,
  quantization="none",
  dynamic_length=False,
  with_tokenizer=False,
  temperature=None,
):
  """The path of a TFLite file, and the SpanExtractor it was made of.

  "No answer" is possible.
  """
  extractor = tiny_extractor(version_2=True, head=head)
  if temperature:
    extractor = at_temperature(extractor, temperature)
  folder = tempfile.mkdtemp()
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  path = os.path.join(folder, "tiny.tflite")
  options = tflite_export.TFLiteOptions(
    quantization, dynamic_length, with_tokenizer=with_tokenizer
  )
  with open(path, "wb") as file:
    file.write(tflite_export.tflite_content(extractor, options))
  return path, extractor


def at_temperature(extractor, temperature):
  """A `SpanExtractor` like another one, as if it had been calibrated."""
  options = dataclasses.replace(
    extractor.decoder_options, temperature=temperature
  )
  return type(extractor)(
    extractor.model, VOCABULARY, True, extractor.window_options, options
  )
