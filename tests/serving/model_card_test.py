"""The model card of a SavedModel."""

import json
import shutil

import pytest

from bert_span.answers.decoding.options import StepOptions
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.serving import model_card, verification
from bert_span.serving.fresh_process import meta_graph
from tests.support.models import exported_model


@pytest.mark.large
@pytest.mark.parametrize(
  ("kind", "list_output", "width", "logits", "logits_shape"),
  [
    (SpanExtractor, "n_best_answer", 21, "end_logits", [-1, -1]),
    (BioExtractor, "span_text", -1, "tag_logits", [-1, -1, 3]),
  ],
)
def test_the_card_describes_every_tensor_of_every_signature(
  tmp_path, kind, list_output, width, logits, logits_shape
):
  exported, extractor = exported_model(kind)
  directory = shutil.copytree(exported, tmp_path / "1")
  (tmp_path / "eval_results.json").write_text('{"a|b": 88.5}')
  (tmp_path / "run.flags").write_text("--do_train")
  verified = verification.Verification(4, 0.0, ("MatMul",), ("NormalizeUTF8",))
  model_card.write_model_card(
    *(directory, "span", extractor, StepOptions(3), "float32", verified),
    source=str(tmp_path),
  )
  folder = directory / "assets.extra"
  lines = (folder / "README.md").read_text().splitlines()
  assert {"# span", "| a\\|b | 88.5 |", "    --do_train"} <= set(lines)
  card = json.loads((folder / "model_card.json").read_text())
  signatures = card["signatures"]
  default = signatures["serving_default"]
  question = default["inputs"]["question"]
  assert (question["dtype"], question["shape"]) == ("string", [-1])
  assert default["outputs"]["score"]["dtype"] == "float32"
  assert default["outputs"][list_output]["shape"] == [-1, width]
  assert signatures["logits"]["outputs"][logits]["shape"] == logits_shape
  # Names of inputs and outputs, read without the guide.
  definitions = meta_graph(exported).signature_def
  named = {name for name in definitions if not name.startswith("__")}
  assert named == set(signatures)
  assert named == {"serving_default", "logits"}
  for name, signature in signatures.items():
    assert signature["method"] == "tensorflow/serving/predict"
    for side in ("inputs", "outputs"):
      assert set(signature[side]) == set(getattr(definitions[name], side))
      assert all(tensor["description"] for tensor in signature[side].values())
