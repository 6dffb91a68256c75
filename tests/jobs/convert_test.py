"""bert_span.convert and its job: every architecture, to and fro."""

import dataclasses
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

from bert_span import FineTuningOptions, SquadExample, fine_tune
from bert_span.convert import ConvertOptions
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.jobs.convert import convert
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.encoder import encoder_config
from bert_span.modeling.heads import SpanHead
from bert_span.presets.span_config import read_span_config
from bert_span.squad.example import AnswerSpan
from tests.support.models import (
  CONTEXT,
  INPUTS,
  QUESTION,
  extractor_of,
  shared_model,
)
from tests.support.programs import succeeds


def _convert(model, output_dir, to="bert_span", **options):
  convert(ConvertOptions(model=model, output_dir=output_dir, to=to, **options))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
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
  expected = encoder_config(extractor.backbone)
  assert encoder_config(converted.backbone) == expected
  tokenizers = [x.preprocessor.tokenizer for x in (converted, extractor)]
  assert len({tuple(each.vocabulary) for each in tokenizers}) == 1
  ids, expected = (each([QUESTION, CONTEXT]).ids for each in tokenizers)
  assert ids.to_list() == expected.to_list()
  assert {name: getattr(converted, name) for name in names} == options
  theirs = converted(INPUTS)
  for name, logits in extractor(INPUTS).items():
    np.testing.assert_allclose(theirs[name], logits, atol=1e-5)


def test_a_fine_tuned_modernbert_has_the_head_of_transformers_class(tmp_path):
  extractor = extractor_of("modernbert")
  answer = AnswerSpan("Anna", CONTEXT.index("Anna"))
  examples = [SquadExample("q", QUESTION, CONTEXT, (answer,))]
  options = FineTuningOptions(train_batch_size=1, num_train_epochs=1)
  assert fine_tune(extractor, examples, options) == 1
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
  assert np.any(tensors["head.norm.weight"] != 1)


@pytest.mark.parametrize("to", ["bert_span", "huggingface"])
def test_a_model_card_goes_with_its_model(tmp_path, to):
  model = shutil.copytree(shared_model(), tmp_path / "model")
  (model / "README.md").write_text("license: mit")
  _convert(model, tmp_path / "new", to)
  assert (tmp_path / "new" / "README.md").read_text() == "license: mit"


def test_what_transformers_cannot_read_is_refused(tmp_path):
  model = shared_model(kind=BioExtractor)
  with pytest.raises(ValueError, match="bio head"):
    _convert(model, tmp_path / "new", "huggingface")
  with pytest.raises(ValueError, match=f"output_dir={tmp_path}"):
    _convert(shared_model(), tmp_path, "huggingface")
  made = extractor_of("modernbert")
  plain = SpanExtractor(made.backbone, made.preprocessor, head=SpanHead())
  plain.head_is_trained = True
  plain.save_to_preset(tmp_path / "plain")
  with pytest.raises(ValueError, match="transform_kernel"):
    _convert(tmp_path / "plain", tmp_path / "new", "huggingface")


@pytest.mark.parametrize(
  ("changes", "message"),
  [
    ({"key_query_shared_bottleneck": False}, "key_query_shared_bottleneck"),
    (
      {"normalization_type": "layer_norm", "outer_norm_epsilon": None},
      "layer_norm.* 1e-12",
    ),
  ],
)
def test_a_mobilebert_that_transformers_lacks_keeps_its_format(
  tmp_path, changes, message
):
  extractor = extractor_of("mobilebert", **changes)
  extractor.save_to_preset(tmp_path / "model")
  model, new = tmp_path / "model", tmp_path / "new"
  with pytest.raises(ValueError, match=f"{message}.*format of this package"):
    _convert(model, new, "huggingface")
  assert not new.exists()
  _convert(model, new)
  config = encoder_config(SpanExtractor.from_preset(new).backbone)
  assert config == encoder_config(extractor.backbone)


def test_the_program_writes_the_options_of_its_flags(tmp_path):
  paths = f"--model={shared_model()}", f"--output_dir={tmp_path / 'new'}"
  flags = "--version_2_with_negative", "--null_score_diff_threshold=-1.5"
  run = succeeds("bert_span.convert", *paths, *flags)
  assert "Null threshold: -1.5" in run.stdout
  decoder = read_span_config(tmp_path / "new")["decoder"]
  assert decoder["null_score_diff_threshold"] == -1.5
