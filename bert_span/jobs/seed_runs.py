"""One training with several seeds: how much of a score is chance."""

import gc
import os
import statistics

import keras
import tensorflow as tf

from bert_span.reporting.score_table import text_table
from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.files import read_json_object
from bert_span.storage.log import log_line

SEEDS_FILE = "seeds.json"
_RESULT_FILE = "seed_result.json"


def run_seeds(seeds, output_dir, run_one, settings):
  """Trains and scores one model a seed, each in its own folder.

  A run that was finished with the same settings, JSON values, is skipped; one
  that was stopped continues. `run_one(seed, folder)` returns a dict of scores.
  """
  runs = []
  for seed in seeds:
    folder = os.path.join(output_dir, f"seed_{seed}")
    path = os.path.join(folder, _RESULT_FILE)
    result = read_json_object(path) if tf.io.gfile.exists(path) else {}
    if result.get("settings") == settings and "scores" in result:
      log_line(f"Seed {seed} is finished: {folder}. Remove it to run it again.")
    else:
      log_line(f"Seed {seed}, {len(runs) + 1} of {len(seeds)}: {folder}")
      result = {"settings": settings, "scores": run_one(seed, folder)}
      write_json_atomically(path, result)
    scores = result["scores"]
    runs.append({"seed": seed, "output_dir": folder, "scores": scores})
    # The models of many seeds together would not fit in memory.
    keras.backend.clear_session()
    gc.collect()
  result = summary(runs)
  write_json_atomically(os.path.join(output_dir, SEEDS_FILE), result)
  print(format_summary(result))


def summary(runs):
  """Mean and sample standard deviation of the scores that all runs have."""
  names = [n for n in runs[0]["scores"] if all(n in r["scores"] for r in runs)]
  columns = {name: [run["scores"][name] for run in runs] for name in names}
  return {
    "runs": runs,
    "mean": {name: statistics.fmean(c) for name, c in columns.items()},
    "deviation": {name: statistics.stdev(c) for name, c in columns.items()},
  }


def format_summary(result):
  """A summary as a table, its lines joined by newlines."""
  shown = ("exact_match", "exact", "f1")
  names = [name for name in shown if name in result["mean"]]
  rows = {str(run["seed"]): run["scores"] for run in result["runs"]}
  rows |= {"mean": result["mean"], "deviation": result["deviation"]}
  cells = [[n, *(f"{s[name]:.2f}" for name in names)] for n, s in rows.items()]
  return text_table([["seed", *names], *cells])
