r"""Measures the encoder that answers against KerasHub's, which trains.

  python -m benchmarks.inference_encoder [--model=minilm_squad] [--seconds=20]

Both use the same weights. They take turns, call by call, with the first one in
bfloat16 and with only the matrix products of the model. Prints for each shape
the medians in milliseconds, the ratios of float32 to KerasHub, to bfloat16 and
to the products, and the largest difference from KerasHub's output in float32.
"""

import functools
import statistics
import time

import numpy as np
from absl import app, flags

_MODEL = flags.DEFINE_string(
  "model", "minilm_squad", "Model directory, or name of a model."
)
_SECONDS = flags.DEFINE_float(
  "seconds", 20.0, "Seconds to measure each shape.", lower_bound=0.1
)
_COLUMNS = (
  *("windows x WordPieces", "float32", "KerasHub", "bfloat16", "products"),
  *("/ KerasHub", "/ bfloat16", "/ products", "difference"),
)
_SHAPES = ((1, 64), (1, 160), (1, 384), (16, 160), (16, 384))


def main(unused_argv):
  """Measures all shapes."""
  from benchmarks.bare_products import BareProducts
  from bert_span.extractor import SpanExtractor
  from bert_span.jobs.saved_model_export import cast_encoder
  from bert_span.modeling.inference_encoder import InferenceEncoder

  model = SpanExtractor.from_preset(_MODEL.value).model
  backbone, half = model.backbone, cast_encoder(model, "bfloat16").backbone
  sides = (
    _traced(InferenceEncoder(backbone)),
    _traced(lambda inputs: backbone(inputs, training=False)["sequence_output"]),
    _traced(InferenceEncoder(half)),
  )
  products = BareProducts(backbone)
  print(f"| {' | '.join(_COLUMNS)} |\n|{'---:|' * len(_COLUMNS)}")
  for shape in _SHAPES:
    inputs = _inputs(backbone.vocabulary_size, shape)
    ours, keras = (side(inputs).numpy() for side in sides[:2])
    calls = [functools.partial(side, inputs) for side in sides]
    medians = _medians([*calls, functools.partial(products, *shape)])
    ratios = [medians[0] / other for other in medians[1:]]
    cells = [
      f"{shape[0]} x {shape[1]}",
      *(f"{value:.1f}" for value in medians),
      *(f"{ratio:.2f}" for ratio in ratios),
      f"{np.max(np.abs(ours - keras)):.0e}",
    ]
    print(f"| {' | '.join(cells)} |", flush=True)


def _traced(function):
  import tensorflow as tf

  names = ("token_ids", "segment_ids", "padding_mask")
  spec = {name: tf.TensorSpec([None, None], tf.int32) for name in names}
  return tf.function(function, input_signature=[spec], autograph=False)


def _inputs(vocabulary_size, shape):
  import tensorflow as tf

  ids = np.random.default_rng(0).integers(999, vocabulary_size, shape)
  return {
    "token_ids": tf.constant(ids, tf.int32),
    "segment_ids": tf.ones(shape, tf.int32),
    "padding_mask": tf.ones(shape, tf.int32),
  }


def _medians(calls):
  """Median milliseconds of each call."""
  milliseconds = [[] for _ in calls]
  end = time.monotonic() + _SECONDS.value
  while time.monotonic() < end:
    for call, measured in zip(calls, milliseconds, strict=True):
      begin = time.perf_counter()
      np.asarray(call())
      measured.append(1e3 * (time.perf_counter() - begin))
  return [statistics.median(measured) for measured in milliseconds]


if __name__ == "__main__":
  app.run(main)
