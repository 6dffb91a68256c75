"""The job of export_tflite; export_saved_model_test.py has more of both."""

import json

import pytest

from bert_span.ask import AskOptions
from bert_span.jobs.ask import ask
from bert_span.jobs.export_tflite import export_tflite
from export.export_tflite import ExportTfliteOptions
from tests.support.models import CONTEXT, QUESTION, eagerly, shared_model


@pytest.mark.large
def test_ask_answers_from_the_file_as_from_the_model(
  tmp_path, few_samples, capsys
):
  model, vectors = shared_model(version_2=True), tmp_path / "vectors.json"
  path = tmp_path / "qa.tflite"
  export_tflite(
    ExportTfliteOptions(model=model, output=path, test_vectors=vectors)
  )
  printed = capsys.readouterr()
  number = len(few_samples)
  assert f"{number} of {number}" in printed.out
  assert str(path) in printed.err and str(vectors) in printed.err
  assert "MATMUL" not in (printed.out + printed.err).upper()  # no list of ops
  assert len(json.loads(vectors.read_text("utf-8"))["vectors"]) > number
  for source in (model, path):
    with eagerly():
      ask(
        AskOptions(
          model=source, question=(QUESTION,), context=CONTEXT, json=True
        )
      )
  of_model, of_file = map(json.loads, capsys.readouterr().out.splitlines())
  assert of_file["char_start"] == of_model["char_start"]
  assert of_file["answer"] == of_model["answer"]
  assert of_file["score"] == pytest.approx(of_model["score"], abs=1e-3)
