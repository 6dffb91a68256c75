"""The job of convert: a model of Hugging Face's format, to and fro."""

import dataclasses
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

from bert_span.convert import ConvertOptions
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.jobs import convert as job
from bert_span.presets.huggingface_writer import save_huggingface
from bert_span.presets.span_config import read_span_config
from tests.support.models import (
  INPUTS,
  extractor_of,
  shared_model,
  tiny_extractor,
)


def _convert(model, output_dir, to="bert_span", **options):
  job.convert(
    ConvertOptions(model=model, output_dir=output_dir, to=to, **options)
  )


# WordPieces and SentencePiece; every_architecture_test.py has all of them.
@pytest.mark.large
@pytest.mark.parametrize("architecture", ["bert", "deberta-v2"])
def test_a_converted_model_computes_the_same(architecture, tmp_path, capsys):
  extractor = extractor_of(architecture)
  extractor.save_to_preset(tmp_path / "model")
  _convert(tmp_path / "model", tmp_path / "there", "huggingface")
  assert f"Architecture: {architecture}\n" in capsys.readouterr().out
  names = ("window_options", "decoder_options")
  options = {name: getattr(extractor, name) for name in names}
  back, given = tmp_path / "back", {}
  for part in options.values():
    given |= dataclasses.asdict(part)
  _convert(tmp_path / "there", back, **given)
  converted = SpanExtractor.from_preset(back)
  assert {name: getattr(converted, name) for name in names} == options
  theirs = converted(INPUTS)
  for name, logits in extractor(INPUTS).items():
    np.testing.assert_allclose(theirs[name], logits, atol=1e-5)


def test_a_result_that_computes_something_else_is_refused(
  tmp_path, monkeypatch
):
  other = tiny_extractor()
  other.head.kernel.assign(1.01 * other.head.kernel)
  monkeypatch.setattr(
    job, "save_huggingface", lambda _, folder: save_huggingface(other, folder)
  )
  new = tmp_path / "new"
  with pytest.raises(ValueError, match=f"{new} and {shared_model()}"):
    _convert(shared_model(), new, "huggingface")


@pytest.mark.large
def test_the_head_of_a_modernbert_is_that_of_transformers_class(tmp_path):
  extractor, rng = extractor_of("modernbert"), np.random.default_rng(0)
  for weight in extractor.head.weights:
    weight.assign(rng.normal(size=weight.shape))
  extractor.save_to_preset(tmp_path / "model")
  _convert(tmp_path / "model", tmp_path / "there", "huggingface")
  tensors = load_file(tmp_path / "there" / "model.safetensors")
  head = {
    "head.dense.weight": extractor.head.transform_kernel,
    "head.norm.weight": extractor.head.transform_gamma,
    "classifier.weight": extractor.head.kernel,
    "classifier.bias": extractor.head.bias,
  }
  for name, weight in head.items():
    np.testing.assert_array_equal(tensors[name], weight.numpy().T)


@pytest.mark.parametrize("to", ["bert_span", "huggingface"])
def test_a_model_card_goes_with_its_model(tmp_path, to):
  model = shutil.copytree(shared_model(), tmp_path / "model")
  (model / "README.md").write_text("license: mit")
  _convert(model, tmp_path / "new", to)
  assert (tmp_path / "new" / "README.md").read_text() == "license: mit"


@pytest.mark.large
def test_what_transformers_cannot_read_is_refused(tmp_path):
  model = shared_model(kind=BioExtractor)
  with pytest.raises(ValueError, match="bio head"):
    _convert(model, tmp_path / "new", "huggingface")
  with pytest.raises(ValueError, match=f"output_dir={tmp_path}"):
    _convert(shared_model(), tmp_path, "huggingface")
  extractor_of("mobilebert", key_query_shared_bottleneck=False).save_to_preset(
    tmp_path / "wide"
  )
  with pytest.raises(ValueError, match="key_query_shared_bottleneck"):
    _convert(tmp_path / "wide", tmp_path / "new", "huggingface")
  assert not (tmp_path / "new").exists()


def test_the_options_that_are_given_are_saved(tmp_path, capsys):
  given = {"version_2_with_negative": True, "null_score_diff_threshold": -1.5}
  _convert(shared_model(), tmp_path / "new", **given)
  assert "-1.5\n" in capsys.readouterr().out
  decoder = read_span_config(tmp_path / "new")["decoder"]
  assert {name: decoder[name] for name in given} == given


def test_a_model_of_a_hub_is_converted(hub_model, tmp_path):
  _convert(hub_model, tmp_path / "new")
  assert read_span_config(tmp_path / "new") == read_span_config(shared_model())
