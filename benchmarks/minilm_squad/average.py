r"""Averages the weights of models that were trained from one another.

  python -m benchmarks.minilm_squad.average --model=A --model=B --output=DIR

DIR is a model directory like A, with the options of A and its calibration,
which has to be made anew (bert_span.calibrate).

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
_OUTPUT = flags.DEFINE_string(
  "output", None, "Model directory to write.", required=True
)


def main(argv):
  """Loads the models, and writes their average."""
  from bert_span import SpanExtractor

  extractors = [SpanExtractor.from_preset(model) for model in _MODELS.value]
  for weights in zip(*(e.weights for e in extractors), strict=True):
    shapes = {(weight.path, tuple(weight.shape)) for weight in weights}
    check(
      len(shapes) == 1,
      f"--model: the models differ in their weights: {sorted(shapes)}.",
    )
    weights[0].assign(np.mean([weight.numpy() for weight in weights], axis=0))
  extractors[0].save_to_preset(_OUTPUT.value)


if __name__ == "__main__":
  program.run_program(main)
