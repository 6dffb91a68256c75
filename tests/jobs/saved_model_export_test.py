"""The whole way from an extractor to a published version."""

import collections
import glob
import json
import os
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
from tiny_encoder import INPUTS
from tiny_extractor import shared_extractor, shared_model, tiny_extractor

from bert_span import SpanHead, SpanModel
from bert_span.answers.decoding.options import StepOptions
from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD
from bert_span.jobs import saved_model_export
from bert_span.jobs.saved_model_export import cast_encoder
from bert_span.modeling.keras_internals import sublayers


def _card(path):
  with open(os.path.join(path, "assets.extra/model_card.json")) as file:
    return json.load(file)


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
def test_a_version_is_written_checked_and_described(tmp_path, capsys):
  shutil.copytree(shared_model(), tmp_path / "model")
  (tmp_path / "eval_results.json").write_text('{"f1": 12.5}')
  model, base = str(tmp_path / "model"), str(tmp_path / "base")
  saved_model_export.export_model(
    model, base, steps=StepOptions(5), with_warmup=False
  )
  printed = capsys.readouterr()
  path = os.path.join(base, "1")
  assert os.listdir(base) == ["1"]
  assert f"{path}\n" in printed.err
  assert "7 answers" in printed.out
  found = [os.path.relpath(name, path) for name in glob.glob(f"{path}/*/*")]
  assert sorted(found) == [
    *("assets.extra/README.md", "assets.extra/model_card.json"),
    *("assets/vocab.txt", "variables/variables.data-00000-of-00001"),
    "variables/variables.index",
  ]
  card = _card(path)
  assert card["options"]["max_windows_per_step"] == 5
  assert card["training"]["scores"] == {"f1": 12.5}
  assert card["encoder"]["layers"] == 1
  assert card["verification"]["largest difference of a score"] < 1e-4


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
def test_a_model_that_answers_otherwise_is_not_published(tmp_path, monkeypatch):
  extractor = tiny_extractor(seed=8)
  monkeypatch.setattr(extractor, "predict", shared_extractor().predict)
  with pytest.raises(ValueError, match="not published"):
    saved_model_export.export_saved_model(
      extractor, tmp_path / "base", with_warmup=False
    )
  assert os.listdir(tmp_path / "base") == []


@pytest.mark.large
def test_half_precision_halves_the_variables(tmp_path, few_samples):
  extractor = shared_extractor(head=BIO_HEAD)
  path, verified = saved_model_export.export_saved_model(
    extractor, tmp_path, dtype="bfloat16", with_warmup=False
  )
  assert verified.num_questions == len(few_samples)
  options = _card(path)["options"]
  assert (options["head"], options["dtype"]) == (BIO_HEAD.name, "bfloat16")
  reader = tf.train.load_checkpoint(os.path.join(path, "variables/variables"))
  dtypes = collections.Counter(reader.get_variable_to_dtype_map().values())
  # Kernel and bias of the head stay float32.
  assert dtypes[tf.float32] == 2 < dtypes[tf.bfloat16]
  with pytest.raises(ValueError, match="'int8'"):
    saved_model_export.export_saved_model(None, tmp_path, dtype="int8")


@pytest.mark.parametrize(
  ("head", "dtype"), [(SPAN_HEAD, "bfloat16"), (BIO_HEAD, "float16")]
)
def test_encoder_is_cast_while_head_and_softmax_stay_float32(dtype, head):
  model = tiny_extractor(head=head).model  # changed below
  model.head.bias.assign_add(model.head.bias + 1)
  cast = cast_encoder(model, dtype)
  assert type(cast) is type(model)
  assert {v.dtype for v in cast.backbone.trainable_variables} == {dtype}
  assert {v.dtype for v in cast.head.variables} == {"float32"}
  assert {v.dtype for v in model.weights} == {"float32"}  # left as it was
  (softmax,) = sublayers(cast.backbone, keras.layers.Softmax)
  assert softmax.compute_dtype == "float32"
  outputs = cast(INPUTS, training=False)
  expected = model(INPUTS, training=False)
  for name, logits in outputs.items():
    assert logits.dtype == tf.float32
    difference = np.abs(logits - expected[name])[INPUTS["padding_mask"] > 0]
    assert 0 < difference.max() < 0.5  # logits are up to 20
  # A head without a bias stays without.
  without = SpanModel(model.backbone, SpanHead(use_bias=False))
  assert cast_encoder(without, dtype).head.bias is None


def test_the_sample_has_a_passage_of_many_windows_and_blank_ones():
  examples = saved_model_export.sample_examples()
  assert len({example.qas_id for example in examples}) == len(examples) == 124
  assert max(len(example.context) for example in examples) > 10_000
  assert sum(not example.context.strip() for example in examples) == 2
