"""The model card and the warm-up requests of a SavedModel."""

import json
import shutil

import pytest
import tensorflow as tf
from exported_model import exported_model, served_model
from tiny_extractor import CONTEXT, QUESTION

from bert_span.answers.decoding.options import StepOptions
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.serving import assets_extra, verification
from bert_span.serving.fresh_process import meta_graph


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
  assets_extra.write_model_card(
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


def test_what_is_beside_a_model_of_run_squad_is_in_its_training_run(tmp_path):
  model = tmp_path / "model"
  model.mkdir()
  (model / "metadata.json").write_text('{"keras_version": "3"}')
  (tmp_path / "run.flags").write_text("--do_train\n--seed=7\n")
  (tmp_path / "README.md").write_text("# Mine\n")
  (tmp_path / "eval_results.json").write_text('{"exact": 80.5}')
  assert assets_extra.training_run(f"{model}/") == {
    "card": ["# Mine"],
    "metadata": {"keras_version": "3"},
    "flags": ["--do_train", "--seed=7"],
    "scores": {"exact": 80.5},
  }
  # Of a folder with another name only its own files count.
  own = model.rename(tmp_path / "bert")
  assert set(assets_extra.training_run(str(own))) == {"metadata"}
  (own / "eval_results.json").write_text("{")
  with pytest.raises(ValueError, match=r"eval_results.json.*not JSON"):
    assets_extra.training_run(str(own))


@pytest.mark.large
def test_the_requests_of_every_signature_are_answered(tmp_path):
  prediction_log_pb2 = pytest.importorskip(
    "tensorflow_serving.apis.prediction_log_pb2",
    reason="needs tensorflow-serving-api",
  )
  pairs = [(QUESTION, CONTEXT), ("When?", "É " + CONTEXT * 5), ("Who?", "")]
  assets_extra.write_warmup_requests(tmp_path, "span", [pairs[:1], pairs], 24)
  path = tmp_path / "assets.extra" / "tf_serving_warmup_requests"
  records = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
  logs = list(map(prediction_log_pb2.PredictionLog.FromString, records))
  assert len(logs) == 4
  served, extractor = served_model(SpanExtractor)
  expected = extractor.answer(*map(list, zip(*pairs, strict=True)))
  seen = set()
  for log in logs:
    request = log.predict_log.request
    name = request.model_spec.signature_name
    seen.add(name)
    inputs = {
      n: tf.constant(tf.make_ndarray(x)) for n, x in request.inputs.items()
    }
    outputs = served.functions[name](**inputs)
    assert request.model_spec.name == "span"
    if name == "logits":
      assert outputs["start_logits"].shape[1] == 24
      continue
    answers = [text.decode() for text in outputs["answer"].numpy()]
    assert answers == [e.text for e in expected[: len(answers)]]
  assert seen == set(served.functions)


def test_requests_without_their_package_are_refused(monkeypatch):
  monkeypatch.setattr(assets_extra.importlib.util, "find_spec", lambda _: None)
  assert not assets_extra.check_warmup(None)
  with pytest.raises(ValueError, match="--nowarmup"):
    assets_extra.check_warmup(True)
