"""MobileBERT's backbone, by hand, and answers that do not depend on padding."""

import keras
import numpy as np
import pytest

from bert_span.modeling.encoder import encode
from bert_span.modeling.keras_internals import sublayers
from bert_span.modeling.mobilebert import MobileBertBackbone
from bert_span.squad.example import SquadExample
from bert_span.text.options import WindowOptions
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor
from tests.support.models import (
  CONTEXT,
  INPUTS,
  MOBILEBERT,
  QUESTION,
  extractor_of,
  tiny_encoder,
)


def test_a_token_is_embedded_with_its_right_and_left_neighbours():
  backbone = MobileBertBackbone(
    5, 1, 1, hidden_dim=3, embedding_dim=1, max_sequence_length=4
  )
  for weight in backbone.weights:
    if "embedding" in weight.path and "layer_norm" not in weight.path:
      weight.assign(0 * weight)
  backbone.token_embedding.embeddings.assign([[9], [10], [20], [30], [40]])
  backbone.embeddings_projection.kernel.assign(np.eye(3))
  embeddings = keras.Model(
    backbone.input, backbone.embeddings_layer_norm.output
  )
  ids = np.array([[1, 2, 3, 0]])
  inputs = {"token_ids": ids, "segment_ids": 0 * ids}
  found = embeddings({**inputs, "padding_mask": np.array([[1, 1, 1, 0]])})
  # Right, itself, left; 0 at the ends, and [PAD] (9) is a neighbour.
  expected = [[20, 10, 0], [30, 20, 10], [9, 30, 20], [0, 9, 30]]
  assert found.numpy()[0].tolist() == expected


@pytest.mark.parametrize("changes", [{}, {"use_bottleneck": False}])
def test_the_backbone_is_made_again_from_its_config(changes):
  changes = {**MOBILEBERT, **changes}
  backbone = tiny_encoder(architecture="mobilebert", dropout=0.2, **changes)
  written = keras.saving.serialize_keras_object(backbone)
  again = keras.saving.deserialize_keras_object(written)
  assert again.get_config() == backbone.get_config()
  again.set_weights(backbone.get_weights())
  expected = encode(backbone, INPUTS)
  np.testing.assert_array_equal(encode(again, INPUTS), expected)
  assert {x.rate for x in sublayers(again, keras.layers.Dropout)} == {0.2}
  assert np.abs(again(INPUTS, training=True) - expected).max() > 1e-4


def _assert_same(predictions, expected):
  for prediction, wanted in zip(predictions, expected, strict=True):
    found, wanted = prediction.answer, wanted.answer
    assert (found.text, found.char_start) == (wanted.text, wanted.char_start)
    assert found.score == pytest.approx(wanted.score, rel=1e-4)


@pytest.fixture(scope="module")
def padded():
  """A model that reads [SEP], questions, and its answers, all in one batch.

  Windows of 32 and of 64 fill a multiple of 32: no [PAD] follows their [SEP].
  """
  options = WindowOptions(96, 64, 8)
  extractor = extractor_of("mobilebert", window_options=options)
  for weight in extractor.backbone.weights:
    if "self_attention_layer/" in weight.path:  # So that [SEP] matters.
      weight.assign(20 * weight)
  words = CONTEXT.split()
  examples = [
    SquadExample(f"{n}", QUESTION, " ".join((words * 9)[:n]))
    for n in range(20, 52)
  ]
  tables = list(extractor.window_logits(examples))
  lengths = tables[0].windows["padding_mask"].sum(1)
  assert {32, 64} <= set(lengths)
  return extractor, examples, list(extractor.predictions(examples))


@pytest.mark.large
def test_an_answer_is_the_same_alone_and_in_a_batch(padded):
  extractor, examples, expected = padded
  alone = (next(extractor.predictions([example])) for example in examples)
  _assert_same(alone, expected)


@pytest.mark.slow
@pytest.mark.usefixtures("few_samples")
@pytest.mark.parametrize("dynamic_length", [False, True])
def test_a_tflite_file_answers_whatever_its_padding(
  padded, tmp_path, dynamic_length
):
  extractor, examples, expected = padded
  path = str(tmp_path / "model.tflite")
  extractor.export(path, "litert", dynamic_length=dynamic_length)
  _assert_same(TFLiteSpanExtractor(path).predictions(examples), expected)
