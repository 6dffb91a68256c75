"""A SavedModel of the tiny model, written once for all tests of a process."""

import atexit
import functools
import os
import shutil
import tempfile

from tiny_extractor import tiny_extractor

from bert_span.serving.saved_model import write_saved_model
from bert_span.serving.span_server import ServingOptions, SpanServer


@functools.cache
def exported_model():
  """The directory of a SavedModel, and the SpanExtractor it was made of.

  "No answer" is possible, and three windows run at once.
  """
  extractor = tiny_extractor(version_2=True)
  folder = tempfile.mkdtemp()
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  directory = os.path.join(folder, "1")
  write_saved_model(
    server_of(extractor, ServingOptions(3)),
    extractor.preprocessor.tokenizer.vocabulary,
    directory,
  )
  return directory, extractor


def server_of(extractor, options=None):
  """The `SpanServer` of a `SpanExtractor`."""
  return SpanServer(
    extractor.model,
    extractor.preprocessor,
    extractor.decoder_options,
    options,
  )
