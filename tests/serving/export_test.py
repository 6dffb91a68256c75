"""The whole way from an extractor to a published version."""

import collections
import json
import os

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.precision import with_encoder_dtype
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.keras_internals import sublayers
from bert_span.serving.export import export_saved_model
from tests.support.models import INPUTS, tiny_extractor


@pytest.mark.large
def test_half_precision_halves_the_variables(
  tmp_path, few_samples, monkeypatch
):
  extractor = tiny_extractor(kind=BioExtractor)
  options = {"dtype": "bfloat16", "with_warmup": False}
  path, verified = export_saved_model(extractor, tmp_path, **options)
  assert verified.num_questions == len(few_samples)
  with open(os.path.join(path, "assets.extra/model_card.json")) as file:
    written = json.load(file)["options"]
  assert (written["head"], written["dtype"]) == (
    BioExtractor.head_name,
    "bfloat16",
  )
  reader = tf.train.load_checkpoint(os.path.join(path, "variables/variables"))
  dtypes = collections.Counter(reader.get_variable_to_dtype_map().values())
  # Kernel and bias of the head stay float32.
  assert dtypes[tf.float32] == 2 < dtypes[tf.bfloat16]
  with pytest.raises(ValueError, match="'int8'"):
    export_saved_model(None, tmp_path, dtype="int8")
  # A graph that answers otherwise than the model is not published.
  other = tiny_extractor(kind=BioExtractor, seed=8)
  answer = BioExtractor.predictions
  monkeypatch.setattr(
    BioExtractor, "predictions", lambda _, *examples: answer(other, *examples)
  )
  with pytest.raises(ValueError, match="of 10 answers"):
    export_saved_model(extractor, tmp_path, **options)
  assert os.listdir(tmp_path) == ["1"]


@pytest.mark.parametrize(
  ("kind", "dtype"), [(SpanExtractor, "bfloat16"), (BioExtractor, "float16")]
)
def test_encoder_is_cast_while_head_and_softmax_stay_float32(dtype, kind):
  model = tiny_extractor(kind=kind)  # changed below
  model.head.bias.assign_add(model.head.bias + 1)
  cast = with_encoder_dtype(model, dtype)
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
  without = SpanExtractor(model.backbone, head_bias=False)
  assert with_encoder_dtype(without, dtype).head.bias is None
