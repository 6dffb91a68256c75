"""Logits here are those of transformers, in both directions."""

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest
from tiny_extractor import CONTEXT, QUESTION, extractor_of

from bert_span.heads.span import SPAN_HEAD
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.presets.huggingface import save_huggingface
from bert_span.presets.load_pretrained import load_pretrained

pytestmark = pytest.mark.large
_NAMES = [
  *("bert_relu-float32", "bert_new-float32", "electra_base-float32"),
  *(
    f"{name}-{dtype}"
    for name in ARCHITECTURES
    for dtype in ("float32", "float16", "bfloat16")
  ),
]
_PAIRS = [
  (QUESTION, CONTEXT),
  ("who's IN  the cafe\u0301?", "Café 日本 🙂, it's in\n\tthe river.  "),
]


def _inputs():
  """Windows of several lengths, the last without padding."""
  rng = np.random.default_rng(3)
  lengths = np.array([[3], [10], [31], [32]])
  positions = np.arange(32)
  mask = (positions < lengths).astype("int32")
  # From 5: no padding, which RoBERTa does not count as a position.
  ids = rng.integers(5, 20, [4, 32])
  return {
    "token_ids": np.where(mask, ids, 1).astype("int32"),
    "segment_ids": (positions >= lengths // 2).astype("int32") * mask,
    "padding_mask": mask,
  }


@pytest.fixture(name="folder", scope="module")
def _folder(repository, tmp_path_factory):
  """Folder with models ours/* and theirs/*, and the outputs of transformers."""
  for name, title in (("torch", "PyTorch"), ("transformers", "transformers")):
    if not importlib.util.find_spec(name):
      pytest.skip(f"{title} is not installed")
  folder = tmp_path_factory.mktemp("models")
  inputs = _inputs()
  np.savez(
    folder / "inputs.npz",
    input_ids=inputs["token_ids"],
    token_type_ids=inputs["segment_ids"],
    attention_mask=inputs["padding_mask"],
  )
  (folder / "pairs.json").write_text(json.dumps(_PAIRS))
  (folder / "ours").mkdir()
  for name in ARCHITECTURES:
    extractor = extractor_of(name)
    tokenizer = extractor.preprocessor.tokenizer
    save_huggingface(extractor.model, tokenizer, folder / "ours" / name)
  script = repository / "tests/support/transformers_models.py"
  paths = (folder / name for name in ("inputs.npz", "ours", "theirs"))
  subprocess.run([sys.executable, script, *paths], check=True)
  return folder


def _compare(model, directory):
  inputs = _inputs()
  kept = inputs["padding_mask"].astype(bool)
  with np.load(directory / "outputs.npz") as theirs:
    for ours in (model(inputs), InferenceModel(model)(inputs)):
      for name in ("start_logits", "end_logits"):
        found = np.asarray(ours[name])[kept]
        np.testing.assert_allclose(found, theirs[name][kept], atol=1e-4)
        assert found.std() > 0.1


@pytest.mark.parametrize("name", _NAMES)
def test_a_model_of_transformers_has_the_same_logits_here(folder, name):
  directory = folder / "theirs" / name
  _compare(SPAN_HEAD.model_of(load_pretrained(str(directory))), directory)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_model_of_ours_has_the_same_logits_there(folder, name):
  # The model that was written: a seed makes equal ones.
  _compare(extractor_of(name).model, folder / "ours" / name)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_tokenizer_of_ours_has_the_same_ids_there(folder, name):
  tokenizer = extractor_of(name).preprocessor.tokenizer
  separators = [tokenizer.sep_id] * tokenizer.num_separators
  found = []
  for pair in _PAIRS:
    question, context = tokenizer(list(pair)).ids.to_list()
    ids = [*question, *separators, *context, tokenizer.sep_id]
    found.append([tokenizer.cls_id, *ids])
  path = folder / "ours" / name / "pairs.json"
  assert found == json.loads(path.read_text())
