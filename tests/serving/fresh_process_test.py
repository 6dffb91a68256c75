"""What a process that knows nothing of the package says about a SavedModel."""

import json
import subprocess
import sys

import pytest
import tensorflow as tf

from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.serving import fresh_process
from tests.support.models import CONTEXT, QUESTION, exported_model

_TEXT = tf.TensorSpec([None], tf.string)


class _Lengths(tf.Module):
  @tf.function(input_signature=[_TEXT, _TEXT])
  def serve(self, question, context):
    lengths = tf.map_fn(tf.strings.length, context, fn_output_signature="int32")
    return {"answer": tf.strings.upper(question), "length": lengths}


def test_batches_are_answered_and_ops_within_functions_are_named(tmp_path):
  module = _Lengths()
  tf.saved_model.save(
    module, str(tmp_path), signatures=module.serve.get_concrete_function()
  )
  batches = [{"question": ["a", "b"], "context": ["c", "café"]}]
  reply = fresh_process.answer_batches(
    str(tmp_path), [*batches, {"question": ["é"], "context": [""]}]
  )
  first, second = reply["answers"]
  assert first == {"answer": [b"A", b"B"], "length": [1, 5]}
  assert second["length"] == [0]
  assert {"StringUpper", "StringLength"} <= set(reply["ops"])
  assert reply["ops"] == sorted(reply["ops"])
  names = {
    function.signature.name
    for function in fresh_process.meta_graph(
      tmp_path
    ).graph_def.library.function
  }
  assert names and not names & set(reply["ops"])
  assert reply["custom_ops"] == []


@pytest.mark.large
def test_as_a_script_it_answers_and_names_the_ops_of_tensorflow_text():
  directory, extractor = exported_model(SpanExtractor)
  batch = {"question": [QUESTION, ""], "context": [CONTEXT, "É 🙂"]}
  done = subprocess.run(
    [sys.executable, "-P", fresh_process.__file__],
    input=json.dumps({"saved_model": directory, "batches": [batch]}),
    capture_output=True,
    encoding="utf-8",
  )
  assert done.returncode == 0, done.stderr
  reply = json.loads(done.stdout.splitlines()[-1])
  ((answers, _),) = (each["answer"] for each in reply["answers"])
  assert answers == extractor.answer(QUESTION, CONTEXT).text
  assert reply["custom_ops"] == [
    "FastWordpieceTokenizeWithOffsets",
    "NormalizeUTF8",
  ]
