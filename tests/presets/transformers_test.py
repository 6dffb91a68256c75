"""Logits here are those of transformers, in both directions."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from tiny_extractor import extractor_of

from bert_span.heads.span import SPAN_HEAD
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.presets.huggingface import save_huggingface
from bert_span.presets.load_pretrained import load_pretrained

pytestmark = pytest.mark.large
_NAMES = [
  f"{name}-float32" for name in ("bert_relu", "bert_new", "electra_base")
]
_NAMES += [
  f"{name}-{dtype}"
  for name in ARCHITECTURES
  for dtype in ("float32", "float16", "bfloat16")
]


@pytest.fixture(name="transformers", scope="module")
def _transformers(repository):
  """A function that runs transformers_models.py, or a skip."""
  for name, title in (("torch", "PyTorch"), ("transformers", "transformers")):
    if not importlib.util.find_spec(name):
      pytest.skip(f"{title} is not installed")
  script = repository / "tests/support/transformers_models.py"
  return lambda *arguments: subprocess.run(
    [sys.executable, script, *arguments], check=True
  )


@pytest.fixture(name="models", scope="module")
def _models(transformers, tmp_path_factory):
  directory = tmp_path_factory.mktemp("models")
  transformers("make", directory)
  return directory


def _inputs():
  """Windows of several lengths, the last without padding."""
  rng = np.random.default_rng(3)
  lengths = np.array([[3], [10], [31], [32]])
  positions = np.arange(32)
  mask = (positions < lengths).astype("int32")
  # From 5: no padding, which RoBERTa does not count as a position.
  ids = rng.integers(5, 20, [4, 32]).astype("int32")
  return {
    "token_ids": np.where(mask, ids, 1).astype("int32"),
    "segment_ids": (positions >= lengths // 2).astype("int32") * mask,
    "padding_mask": mask,
  }


def _compare(transformers, model, directory, tmp_path):
  inputs = _inputs()
  paths = tmp_path / "inputs.npz", tmp_path / "outputs.npz"
  np.savez(
    paths[0],
    input_ids=inputs["token_ids"],
    token_type_ids=inputs["segment_ids"],
    attention_mask=inputs["padding_mask"],
  )
  transformers("answer", directory, *paths)
  kept = inputs["padding_mask"].astype(bool)
  with np.load(paths[1]) as theirs:
    for ours in (model(inputs), InferenceModel(model)(inputs)):
      for name in ("start_logits", "end_logits"):
        found = np.asarray(ours[name])[kept]
        np.testing.assert_allclose(found, theirs[name][kept], atol=1e-4)
        assert found.std() > 0.1


@pytest.mark.parametrize("name", _NAMES)
def test_a_model_of_transformers_has_the_same_logits_here(
  transformers, models, name, tmp_path
):
  loaded = load_pretrained(str(models / name))
  _compare(transformers, SPAN_HEAD.model_of(loaded), models / name, tmp_path)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_model_of_ours_has_the_same_logits_there(
  transformers, architecture, tmp_path
):
  extractor = extractor_of(architecture)
  directory = tmp_path / "model"
  tokenizer = extractor.preprocessor.tokenizer
  save_huggingface(extractor.model, tokenizer, directory)
  _compare(transformers, extractor.model, directory, tmp_path)
