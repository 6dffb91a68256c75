"""Copies of models in bfloat16: every architecture computes and answers."""

import numpy as np
import pytest

from bert_span.extractors.precision import with_encoder_dtype
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.encoder import encode
from tests.support.models import (
  CONTEXT,
  MOBILEBERT,
  QUESTION,
  eagerly,
  extractor_of,
  tiny_encoder,
)

_NORMS = [{}, {"normalization_type": "layer_norm"}]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_copy_in_bfloat16_answers_and_predicts(architecture):
  extractor = extractor_of(architecture)
  extractor.head_is_trained = True
  copy = with_encoder_dtype(extractor, "bfloat16")
  with eagerly():
    exact, rounded = (
      each.answer(QUESTION, CONTEXT, n_best=20) for each in (extractor, copy)
    )
  assert rounded[0].score == pytest.approx(exact[0].score, rel=0.05, abs=0.5)
  texts = {"question": [QUESTION] * 2, "context": [CONTEXT] * 2}
  expected, found = (each.predict_on_batch(texts) for each in (extractor, copy))
  for name, logits in expected.items():
    assert np.isfinite(found[name]).all()
    scale = np.abs(logits).max()
    np.testing.assert_allclose(found[name], logits, atol=0.1 * scale)


@pytest.mark.parametrize("changes", _NORMS)
@pytest.mark.parametrize("dtype", ["bfloat16", "mixed_bfloat16", "float16"])
def test_mobilebert_computes_in_half_precision(changes, dtype):
  settings = {"architecture": "mobilebert", **MOBILEBERT, **changes}
  exact, rounded = (tiny_encoder(d, **settings) for d in ("float32", dtype))
  rounded.set_weights(exact.get_weights())
  ids = np.array([[1, 2, 3, 4]])
  inputs = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": ids > 0}
  expected, found = (
    np.asarray(encode(each, inputs), np.float32) for each in (exact, rounded)
  )
  assert np.abs(expected).max() > 0.01
  scale = np.abs(expected).max()
  np.testing.assert_allclose(found, expected, atol=0.05 * scale)
