r"""Measures the encoder that answers against KerasHub's, which trains.

  python -m benchmarks.inference_encoder [--model=minilm_squad] [--seconds=20]

Both read the same weights and take turns, call by call. Printed for each shape:
the medians of both in milliseconds, their ratio, and the largest difference of
their outputs.
"""

import statistics
import time

import numpy as np
from absl import app, flags

_MODEL = flags.DEFINE_string(
  "model", "minilm_squad", "Model directory, or a model of the package."
)
_SECONDS = flags.DEFINE_float(
  "seconds", 20.0, "Seconds that a shape is measured.", lower_bound=0.1
)
_SHAPES = ((1, 64), (1, 160), (1, 384), (16, 160), (16, 384))


def main(unused_argv):
  """Measures all shapes."""
  from bert_span.modeling.inference_encoder import InferenceEncoder
  from bert_span.presets.load_pretrained import load_pretrained

  backbone = load_pretrained(_MODEL.value).backbone
  inference = InferenceEncoder(backbone)
  sides = (
    _traced(lambda inputs: backbone(inputs, training=False)["sequence_output"]),
    _traced(inference),
  )
  print("windows x WordPieces  KerasHub ms  inference ms  ratio  difference")
  for shape in _SHAPES:
    inputs = _inputs(backbone.vocabulary_size, shape)
    outputs = [side(inputs).numpy() for side in sides]
    keras, ours = _medians(sides, inputs)
    print(
      f"{shape[0]:>7} x {shape[1]:<11} {keras:>11.2f} {ours:>13.2f} "
      f"{ours / keras:>6.2f}  {np.max(np.abs(outputs[0] - outputs[1])):.1e}"
    )


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


def _medians(sides, inputs):
  """Milliseconds of a call of each side, medians."""
  milliseconds = [[] for _ in sides]
  end = time.monotonic() + _SECONDS.value
  while time.monotonic() < end:
    for side, measured in zip(sides, milliseconds, strict=True):
      begin = time.perf_counter()
      side(inputs).numpy()
      measured.append(1e3 * (time.perf_counter() - begin))
  return map(statistics.median, milliseconds)


if __name__ == "__main__":
  app.run(main)
