"""Test vectors, against ids by hand and the answers of the extractor."""

import json

import pytest

from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.squad.example import SquadExample
from bert_span.tflite.port_vectors import write_port_vectors
from tests.support.models import (
  CONTEXT,
  QUESTION,
  exported_tflite,
  opened_tflite,
)

_EXAMPLES = [
  SquadExample("one", QUESTION, CONTEXT),
  SquadExample("none", "Who?", ""),
  SquadExample("many", "Who?", 3 * CONTEXT),
]


@pytest.mark.large
@pytest.mark.parametrize(
  "model", [{}, {"kind": BioExtractor, "dynamic_length": True}]
)
def test_a_vector_holds_every_step(tmp_path, model):
  path, _ = exported_tflite(**model)
  file = tmp_path / "vectors.json"
  write_port_vectors(path, _EXAMPLES, file)
  content = json.loads(file.read_text("utf-8"))
  assert content["do_lower_case"] is True
  assert content["window"]["doc_stride"] == 8
  one, none, many = content["vectors"]
  # who built the mill ?
  assert one["question_tokens"]["ids"] == [15, 8, 5, 6, 22]
  assert one["question_tokens"]["char_ends"] == [3, 9, 13, 18, 19]
  (window,) = one["windows"]
  assert window["input_ids"][:9] == [2, 15, 8, 5, 6, 22, 3, 5, 6]
  assert window["first_context_position"] == 7
  assert window["is_max_context"] == window["context_length"] * [1]
  for logits in window["logits"].values():
    assert len(logits) == len(window["input_ids"])
  assert none["windows"] == []
  assert none["answer"]["text"] == ""
  # 39 tokens, and room for 27. Of windows that overlap, each token begins
  # answers in one.
  assert [w["context_start"] for w in many["windows"]] == [0, 8, 16]
  assert sum(sum(w["is_max_context"]) for w in many["windows"]) == len(
    many["context_tokens"]["ids"]
  )
  predictions = opened_tflite(**model).predictions(_EXAMPLES)
  for vector, prediction in zip(content["vectors"], predictions, strict=True):
    answer = vector["answer"]
    assert answer["text"] == prediction.answer.text
    assert answer["score"] == pytest.approx(prediction.answer.score, abs=1e-5)
    entries = "spans" if "kind" in model else "n_best"
    texts = [entry.text for entry in getattr(prediction, entries)]
    assert [entry["text"] for entry in answer[entries]] == texts
