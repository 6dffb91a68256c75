r"""Measures the encoder that answers against KerasHub's, which trains.

  python -m benchmarks.inference_encoder [--model=minilm_squad] [--rounds=50]

Smallest setting:
  python -m benchmarks.inference_encoder --model=minilm_squad \
    --shapes=1x8,2x16 --rounds=1

Both use the same weights. They take turns, call by call, with the first one in
bfloat16 and with only the matrix products of the model. Prints for each shape
the medians in milliseconds, the ratios of float32 to KerasHub, to bfloat16 and
to the products, and the largest difference from KerasHub's output in float32.
"""

import functools
import statistics

import numpy as np
from absl import flags

from benchmarks.inputs import count_flag
from benchmarks.repetitions import seconds_in_turns
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_MODEL = flags.DEFINE_string(
  "model", "minilm_squad", "Model directory, or name of a model."
)
_ROUNDS = count_flag("rounds", 50, "Calls of each side at each shape.")
_SHAPES = flags.DEFINE_list(
  "shapes",
  ["1x64", "1x160", "1x384", "16x160", "16x384"],
  "Windows x WordPieces to measure.",
)
_COLUMNS = (
  *("windows x WordPieces", "float32", "KerasHub", "bfloat16", "products"),
  *("/ KerasHub", "/ bfloat16", "/ products", "difference"),
)


def main(argv):
  """Measures all shapes."""
  from benchmarks.bare_products import BareProducts
  from bert_span.extractors.precision import with_encoder_dtype
  from bert_span.extractors.span_extractor import SpanExtractor
  from bert_span.modeling.inference_encoder import InferenceEncoder

  model = SpanExtractor.from_preset(_MODEL.value)
  backbone = model.backbone
  half = with_encoder_dtype(model, "bfloat16").backbone
  sides = (
    _traced(InferenceEncoder(backbone)),
    _traced(lambda inputs: backbone(inputs, training=False)["sequence_output"]),
    _traced(InferenceEncoder(half)),
  )
  products = BareProducts(backbone)
  print_head(*_COLUMNS)
  for name in _SHAPES.value:
    shape = tuple(map(int, name.split("x")))
    inputs = _inputs(backbone.vocabulary_size, shape)
    ours, keras = (side(inputs) for side in sides[:2])
    calls = [functools.partial(side, inputs) for side in sides]
    calls.append(functools.partial(products, *shape))
    times = seconds_in_turns(dict(enumerate(calls)), _ROUNDS.value)
    medians = [1e3 * statistics.median(seconds) for seconds in times.values()]
    ratios = [medians[0] / other for other in medians[1:]]
    print_row(
      name,
      *(f"{value:.1f}" for value in medians),
      *(f"{ratio:.2f}" for ratio in ratios),
      f"{np.max(np.abs(ours - keras)):.0e}",
    )


def _traced(function):
  import tensorflow as tf

  names = ("token_ids", "segment_ids", "padding_mask")
  spec = {name: tf.TensorSpec([None, None], tf.int32) for name in names}
  graph = tf.function(function, input_signature=[spec], autograph=False)
  return lambda inputs: graph(inputs).numpy()


def _inputs(vocabulary_size, shape):
  import tensorflow as tf

  ids = np.random.default_rng(0).integers(0, vocabulary_size, shape)
  return {
    "token_ids": tf.constant(ids, tf.int32),
    "segment_ids": tf.ones(shape, tf.int32),
    "padding_mask": tf.ones(shape, tf.int32),
  }


if __name__ == "__main__":
  program.run_program(main)
