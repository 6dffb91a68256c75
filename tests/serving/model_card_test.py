"""The model card tells what is in the SavedModel and beside the model."""

import json
import os

import pytest
from exported_model import exported_model

from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD
from bert_span.serving import model_card


@pytest.mark.large
@pytest.mark.parametrize(
  ("head", "list_output", "width", "logits", "logits_shape"),
  [
    (SPAN_HEAD, "n_best_answer", 21, "end_logits", [-1, -1]),
    (BIO_HEAD, "span_text", -1, "tag_logits", [-1, -1, 3]),
  ],
)
def test_every_tensor_of_every_signature_is_described(
  head, list_output, width, logits, logits_shape
):
  directory, _ = exported_model(head)
  signatures = model_card.signatures_of(directory, head.served)
  default = signatures["serving_default"]
  assert default["method"] == "tensorflow/serving/predict"
  assert default["inputs"]["question"]["dtype"] == "string"
  assert default["inputs"]["question"]["shape"] == [-1]
  assert default["outputs"]["score"]["dtype"] == "float32"
  assert default["outputs"]["byte_end"]["shape"] == [-1]
  assert default["outputs"][list_output]["shape"] == [-1, width]
  assert signatures["logits"]["outputs"][logits]["shape"] == logits_shape
  assert all(
    tensor["description"]
    for signature in signatures.values()
    for tensor in (
      *signature["inputs"].values(),
      *signature["outputs"].values(),
    )
  )
  found = _tensor_names(directory)
  described = {
    name: (set(signature["inputs"]), set(signature["outputs"]))
    for name, signature in signatures.items()
  }
  assert described == found


def _tensor_names(directory):
  """Names of inputs and outputs, read without the guide."""
  from tensorflow.core.protobuf import saved_model_pb2

  with open(os.path.join(directory, "saved_model.pb"), "rb") as file:
    saved_model = saved_model_pb2.SavedModel.FromString(file.read())
  return {
    name: (set(signature.inputs), set(signature.outputs))
    for name, signature in saved_model.meta_graphs[0].signature_def.items()
    if not name.startswith("__")
  }


def test_what_stands_beside_a_model_of_run_squad_is_told(tmp_path):
  model = tmp_path / "model"
  model.mkdir()
  (model / "metadata.json").write_text('{"keras_version": "3"}')
  (tmp_path / "run.flags").write_text("--do_train\n--seed=7\n")
  (tmp_path / "eval_results.json").write_text('{"exact": 80.5}')
  assert model_card.training_run(f"{model}/") == {
    "metadata": {"keras_version": "3"},
    "flags": ["--do_train", "--seed=7"],
    "scores": {"exact": 80.5},
  }


def test_files_beside_a_folder_of_another_name_are_not_its_own(tmp_path):
  (tmp_path / "bert").mkdir()
  (tmp_path / "eval_results.json").write_text('{"exact": 80.5}')
  assert model_card.training_run(str(tmp_path / "bert")) == {}


def test_a_damaged_file_is_named(tmp_path):
  (tmp_path / "eval_results.json").write_text("{")
  with pytest.raises(ValueError, match=r"eval_results.json.*not JSON"):
    model_card.training_run(str(tmp_path))


def test_card_is_written_as_json_and_as_text(tmp_path):
  tensor = {"dtype": "string", "shape": [-1], "description": "a | b"}
  card = {
    "name": "span",
    "signatures": {
      "serving_default": {
        "method": "predict",
        "inputs": {"question": tensor},
        "outputs": {"answer": tensor},
      }
    },
    "options": {"head": "span", "dtype": "float32", "max_seq_length": 384},
    "encoder": {"layers": 12},
    "training": {"scores": {"f1": 88.5}, "flags": ["--do_train"]},
    "versions": {"tensorflow": "2.21.0"},
    "verification": {"questions": 124},
    "text_ops": ["NormalizeUTF8"],
    "ops": ["MatMul", "NormalizeUTF8"],
  }
  model_card.write_model_card(tmp_path, card)
  folder = tmp_path / "assets.extra"
  assert json.loads((folder / "model_card.json").read_text()) == card
  text = (folder / "README.md").read_text()
  assert text.startswith("# span\n")
  for line in (
    "| question | string | [-1] | a \\| b |",
    "| max_seq_length | 384 |",
    "| f1 | 88.5 |",
    "    --do_train",
    "| tensorflow | 2.21.0 |",
    "MatMul, NormalizeUTF8",
  ):
    assert line in text.splitlines()
