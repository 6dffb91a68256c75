r"""Averages the weights of models that were trained from one another.

  python -m benchmarks.minilm_squad.average --model=A --model=B --output=DIR
  python -m benchmarks.minilm_squad.average --model=OUT/model --output=DIR \
    --checkpoint=OUT/model.ckpt-900 --checkpoint=OUT/model.ckpt-1000

The second averages checkpoints of a run in the place of its model. DIR is a
model directory like A, with the options of A and its calibration, which has to
be made anew (bert_span.calibrate).

Source: Wortsman et al., Model soups, ICML 2022; Robust fine-tuning of zero-shot
models, CVPR 2022.
"""

import numpy as np
from absl import flags

from benchmarks.inputs import check
from bert_span.cli import program

_MODELS = flags.DEFINE_multi_string(
  "model", None, "Model directory, or minilm_squad; repeatable.", required=True
)
_CHECKPOINTS = flags.DEFINE_multi_string(
  "checkpoint", [], "Checkpoint of the run of the first model; repeatable."
)
_OUTPUT = flags.DEFINE_string(
  "output", None, "Model directory to write.", required=True
)


def main(argv):
  """Loads the weights, and writes their average."""
  from bert_span import SpanExtractor

  extractors = [SpanExtractor.from_preset(model) for model in _MODELS.value]
  weights = extractors[0].weights
  tables = [_of_checkpoint(path, len(weights)) for path in _CHECKPOINTS.value]
  models = extractors[1:] if tables else extractors
  for model in models:
    check(
      [w.path for w in model.weights] == [w.path for w in weights],
      "--model: the models have different weights.",
    )
  tables += [[w.numpy() for w in model.weights] for model in models]
  for weight, *values in zip(weights, *tables, strict=True):
    shapes = {tuple(weight.shape), *(value.shape for value in values)}
    check(len(shapes) == 1, f"The shapes of {weight.path} differ: {shapes}.")
    weight.assign(np.mean(values, axis=0))
  extractors[0].save_to_preset(_OUTPUT.value)


def _of_checkpoint(path, number):
  """Returns the arrays of a checkpoint of run_squad, in the model's order."""
  import tensorflow as tf

  reader = tf.train.load_checkpoint(path)
  names = (f"weights/{i}/.ATTRIBUTES/VARIABLE_VALUE" for i in range(number))
  return [reader.get_tensor(name) for name in names]


if __name__ == "__main__":
  program.run_program(main)
