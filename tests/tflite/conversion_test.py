"""The rescaled encoder computes the same; its matrices suit 8 bits."""

import numpy as np
import pytest

from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.modeling.inference_encoder import (
  InferenceModel,
)
from bert_span.tflite import conversion
from bert_span.tflite.options import TFLiteOptions
from bert_span.tflite.tflite_extractor import TFLiteRunner
from tests.support.models import VOCABULARY, tiny_extractor


def _inputs(windows=3, length=12):
  rng = np.random.default_rng(0)
  mask = np.arange(length) < np.array([[length], [7], [1]])[:windows]
  return {
    "token_ids": rng.integers(0, 20, [windows, length]).astype(np.int32),
    "segment_ids": rng.integers(0, 2, [windows, length]).astype(np.int32),
    "padding_mask": mask.astype(np.int32),
  }


@pytest.mark.parametrize(
  "changes",
  [
    # every_architecture_test.py has the others.
    {"kind": BioExtractor},
    {"architecture": "electra", "embedding_dim": 8},
  ],
)
def test_rescaling_does_not_change_the_logits(changes):
  model = tiny_extractor(**changes)
  expected = model(_inputs(), training=False)
  encoder = conversion.QuantizableEncoder(model.backbone)
  given = InferenceModel(model, encoder)(_inputs())
  assert set(given) == set(model.logits)
  for name in model.logits:
    np.testing.assert_allclose(given[name], expected[name], atol=2e-5)


@pytest.mark.large
@pytest.mark.parametrize("matrix", ["token_embedding", "feedforward"])
def test_eight_bits_lose_little_where_parts_of_a_matrix_differ_in_size(
  tmp_path, monkeypatch, matrix
):
  """With one scale a matrix, large entries that do nothing spoil the others."""
  # TFLite quantizes matrices of 1,024 entries and more.
  vocabulary = [*VOCABULARY, *map(str, range(64))]
  model = tiny_extractor(vocabulary=vocabulary, intermediate_dim=64)
  weights = {weight.path: weight for weight in model.backbone.weights}
  if matrix == "token_embedding":
    table = weights["token_embedding/embeddings"]
    is_last = np.arange(len(vocabulary)) == len(vocabulary) - 1
    table.assign(np.where(is_last[:, np.newaxis], 1000, table))
  else:
    layer = "transformer_layer_0/feedforward"
    intermediate = weights[f"{layer}_intermediate_dense/kernel"]
    output = weights[f"{layer}_output_dense/kernel"]
    is_first = np.arange(64) == 0
    # Its input is of LayerNorm, with a mean of 0, so its output is near 0.
    intermediate.assign(np.where(is_first, 20, 10 * intermediate))
    output.assign(np.where(is_first[:, np.newaxis], 0, 10 * output))
  inputs = _inputs(windows=1, length=32)
  expected = model(inputs)["start_logits"][0]

  def error():
    path = tmp_path / "model.tflite"
    path.write_bytes(conversion.convert_model(model, TFLiteOptions("dynamic")))
    logits = TFLiteRunner(path)(
      inputs["token_ids"][0],
      inputs["padding_mask"][0],
      inputs["segment_ids"][0],
    )
    return np.abs(logits["start_logits"] - expected).max()

  rescaled = error()
  monkeypatch.setattr(conversion, "QuantizableEncoder", conversion.PlainEncoder)
  plain = error()
  assert rescaled < plain / 20


def test_a_file_larger_than_the_format_allows_is_refused_with_what_fits(
  monkeypatch, tmp_path
):
  model = tiny_extractor()
  size = 4 * model.count_params()
  monkeypatch.setattr(conversion, "convert_model", None)
  path = tmp_path / "qa.tflite"
  for most, remedies in ((size // 2, "'float16' or 'dynamic'"), (9, "smaller")):
    monkeypatch.setattr(conversion, "MOST_BYTES", most)
    with pytest.raises(ValueError, match=f"{size:,} .*{remedies}"):
      model.export(path)
  assert not path.exists()
