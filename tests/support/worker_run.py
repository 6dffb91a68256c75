"""One of several workers that train together; prints JSON at the end.

A separate process for multi_worker_test.py, which sets TF_CONFIG.

  python tests/support/worker_run.py FOLDER
"""

import hashlib
import json
import pathlib
import sys

import numpy as np
from distributed_checks import Run

from bert_span.training.options import ExecutionOptions, StrategyOptions
from bert_span.training.strategy import (
  describe_strategy,
  is_chief,
  make_strategy,
)


def main():
  folder = pathlib.Path(sys.argv[1])
  strategy = make_strategy(StrategyOptions(), ExecutionOptions())
  # A batch of 5 on two workers: the second one has a row less.
  run = Run(folder, strategy, batch_size=5, averages=True, name="run")
  if is_chief(strategy):
    np.savez(folder / "weights.npz", **run.weights)
    run.model.save_weights(folder / "whole.weights.h5")
  own_dir = pathlib.Path(run.trainer._checkpoints.write_dir)
  weights = b"".join(values.tobytes() for values in run.weights.values())
  result = {
    "strategy": describe_strategy(strategy),
    "is_chief": is_chief(strategy),
    "own_dir": str(own_dir),
    "files": sorted(path.name for path in own_dir.iterdir()),
    "hash": hashlib.sha256(weights).hexdigest(),
  }
  print(json.dumps(result))


if __name__ == "__main__":
  main()
