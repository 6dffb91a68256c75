"""Evaluates a model during training, keeps the best, and stops early."""

import dataclasses
import math
from collections.abc import Callable

import tensorflow as tf

from bert_span.presets.selection import read_selection
from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.log import log_line
from bert_span.training.callbacks import Callback, EvaluationInterrupted
from bert_span.training.checkpoints import JsonState
from bert_span.training.options import SelectionOptions
from bert_span.training.progress import write_scalars
from bert_span.training.strategy import is_chief, worker_folder


@dataclasses.dataclass(eq=False)
class ModelSelection(Callback):
  """Scores the model every eval_steps steps and keeps the best.

  Its state, all evaluations as dicts of step and scores, goes to the log, to
  output_dir/eval (for TensorBoard) and to evaluations.json.
  """

  options: SelectionOptions
  num_train_steps: int  # steps of the whole run
  # Returns a dict of floats; may raise EvaluationInterrupted. All workers score
  # and stop at the same step; only the chief writes.
  score: Callable
  output_dir: str  # folder of the run
  model_directory: str  # folder of the best model
  write_model: Callable  # writes the model; its dict becomes selection.json
  inputs: dict  # JSON values that the scores depend on
  strategy: tf.distribute.Strategy | None = None  # as in `Trainer`

  name = "evaluations"

  def __post_init__(self):
    self.state = JsonState([])
    options = dataclasses.asdict(self.options)
    self.fingerprint = {"evaluation": options | self.inputs}
    self._write_dir = worker_folder(self.strategy, self.output_dir)

  def __enter__(self):
    directory = self.model_directory
    is_writer = is_chief(self.strategy)
    if self.best and is_writer and read_selection(directory) is None:
      raise ValueError(
        f"The best model so far is gone from {directory}. Put it back, or use "
        "another output_dir to begin again."
      )
    folder = tf.io.gfile.join(self._write_dir, "eval")
    self._events = tf.summary.create_file_writer(folder)
    return self

  def __exit__(self, *unused_exception):
    self._events.close()

  @property
  def best(self):
    metric, rows = self.options.best_metric, self.state.value
    if metric is None or not rows:
      return None
    choose = min if self.options.smaller_is_better else max
    return choose(rows, key=lambda row: row["scores"][metric])

  def stop_reason(self):
    patience, rows = self.options.early_stopping_patience, self.state.value
    # Example: after the scores 60, 70, 70, 65 two have passed since the best.
    if not (patience and rows) or len(rows) - rows.index(self.best) <= patience:
      return None
    return (
      f"no better {self.options.best_metric} in {patience} evaluations "
      f"since step {self.best['step']}"
    )

  def is_due(self, step):
    rows = self.state.value
    is_new = step > (rows[-1]["step"] if rows else 0)
    return is_new and (
      step % self.options.eval_steps == 0 or step == self.num_train_steps
    )

  def on_step(self, step):
    try:
      scores = self.score()
    except EvaluationInterrupted:
      return
    metric = self.options.best_metric
    if metric is not None and not math.isfinite(scores[metric]):
      raise ValueError(
        f"The {metric} of the evaluation at step {step} is {scores[metric]}. "
        "Choose another best_metric, or other data to evaluate on."
      )
    self.state.value.append({"step": step, "scores": scores})
    best = self.best
    is_best = best is self.state.value[-1]
    if is_best and is_chief(self.strategy):
      self.write_model({"step": step, "metric": metric, "scores": scores})
    write_scalars(self._events, scores, step)
    evaluations = {
      "best_metric": metric,
      "best_step": best and best["step"],
      "evaluations": self.state.value,
    }
    path = tf.io.gfile.join(self._write_dir, "evaluations.json")
    write_json_atomically(path, evaluations)
    words = ", ".join(f"{name} {score:.5g}" for name, score in scores.items())
    best_words = ", the best so far" if is_best else ""
    log_line(f"Evaluation at step {step}: {words}{best_words}")
