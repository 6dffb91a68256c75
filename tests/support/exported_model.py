"""SavedModels of tiny models, written once for all tests of a process."""

import atexit
import functools
import os
import shutil
import tempfile

from tiny_extractor import tiny_extractor

from bert_span.answers.decoding.options import StepOptions
from bert_span.serving.signatures import ServedModel
from bert_span.serving.version_folder import write_saved_model


@functools.cache
def exported_model(head):
  """The directory of a SavedModel, and the SpanExtractor it was made of.

  "No answer" is possible, and three windows run at once.

  Args:
    head: `AnswerHead`.
  """
  extractor = tiny_extractor(version_2=True, head=head)
  folder = tempfile.mkdtemp()
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  directory = os.path.join(folder, "1")
  write_saved_model(
    ServedModel(extractor, StepOptions(3)),
    extractor.preprocessor.tokenizer.vocabulary,
    directory,
  )
  return directory, extractor
