"""Scores during training: which step gave the best model, and when to stop."""

import dataclasses
import json
import math

import tensorflow as tf

from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.log import log_line
from bert_span.training.run.callbacks import Callback
from bert_span.training.run.event_file import EventFile
from bert_span.training.run.preemption import EvaluationInterrupted

EVALUATIONS_FILE = "evaluations.json"


class Evaluations(tf.train.experimental.PythonState):
  """All evaluations of a run, part of its checkpoints.

  Example: with the metric f1 and the scores 60, 70, 70, 65 the best is the
  second, since equal is not better, and two have passed since.

  Args:
    metric: name of the score that decides; None for none.
    smaller_is_better: whether it is a loss.
  """

  def __init__(self, metric=None, smaller_is_better=False):
    self.rows = []  # dicts of step and scores
    self._metric = metric
    self._choose = min if smaller_is_better else max

  def add(self, step, scores):
    """Adds an evaluation; returns whether it is the best so far."""
    self.rows.append({"step": step, "scores": scores})
    return self.best is self.rows[-1]

  @property
  def best(self):
    """The row with the best score, the first of equals; None for none."""
    if not self.rows or self._metric is None:
      return None
    return self._choose(self.rows, key=lambda row: row["scores"][self._metric])

  @property
  def num_since_best(self):
    """Evaluations after the best one."""
    return len(self.rows) - 1 - self.rows.index(self.best) if self.best else 0

  def serialize(self):
    """The rows as bytes, for a checkpoint."""
    return json.dumps(self.rows).encode("utf-8")

  def deserialize(self, string_value):
    """Takes the rows of a checkpoint."""
    self.rows = json.loads(string_value)


class ModelSelection(Callback):
  """Scores the model every eval_steps steps and keeps the best.

  Its state is the list of all evaluations, saved in the checkpoints, so that
  a run that was killed chooses and stops as one that was not. Every evaluation
  is a line of a table in the log, a point of the curves in output_dir/eval
  (for TensorBoard) and a row of output_dir/evaluations.json.

  Args:
    options: `SelectionOptions`.
    num_train_steps: steps of the whole run.
    score: function without arguments that gives a dict of float; it may raise
      EvaluationInterrupted, and is called again when the run continues.
    best_model: `BestModel`, or None where no best model is kept.
    output_dir: folder of the run.
    fingerprint: dict of JSON values that the scores depend on.
    log: function of one str; None for stderr.
  """

  name = "evaluations"

  def __init__(
    self,
    options,
    num_train_steps,
    score,
    best_model,
    output_dir,
    fingerprint=None,
    log=None,
  ):
    self.state = Evaluations(options.best_metric, options.smaller_is_better)
    self.fingerprint = {
      "evaluation": {**dataclasses.asdict(options), **(fingerprint or {})}
    }
    self._options = options
    self._num_train_steps = num_train_steps
    self._score = score
    self._best_model = best_model
    self._output_dir = output_dir
    self._log = log or log_line
    self._events = None
    self._has_header = False

  def __enter__(self):
    if self.state.best and self._best_model:
      self._best_model.check_kept()
    self._events = EventFile(tf.io.gfile.join(self._output_dir, "eval"))
    return self

  def __exit__(self, *unused_exception):
    self._events.close()

  @property
  def stop_reason(self):
    """Why the training should end here, or None."""
    patience = self._options.early_stopping_patience
    if patience is None or self.state.num_since_best < patience:
      return None
    return (
      f"no better {self._options.best_metric} in {patience} evaluations "
      f"since step {self.state.best['step']}"
    )

  def is_due(self, step):
    """See `Callback`; the last step is evaluated in any case."""
    rows = self.state.rows
    is_new = step > (rows[-1]["step"] if rows else 0)
    return is_new and (
      step % self._options.eval_steps == 0 or step == self._num_train_steps
    )

  def on_step(self, step):
    """Scores the model and keeps it if it is the best.

    Raises:
      ValueError: the score that decides is missing or not finite.
    """
    try:
      scores = self._score()
    except EvaluationInterrupted:
      return
    self._check_metric(scores, step)
    is_best = self.state.add(step, scores)
    if is_best and self._best_model:
      self._best_model.save(step, self._options.best_metric, scores)
    self._events.write(scores, step)
    best = self.state.best
    write_json_atomically(
      tf.io.gfile.join(self._output_dir, EVALUATIONS_FILE),
      {
        "best_metric": self._options.best_metric,
        "best_step": best and best["step"],
        "evaluations": self.state.rows,
      },
    )
    if not self._has_header:
      self._log(_table_row("step", scores))
      self._has_header = True
    row = _table_row(step, [f"{value:.5g}" for value in scores.values()])
    self._log(row + ("  best so far" if is_best else ""))

  def _check_metric(self, scores, step):
    name = self._options.best_metric
    if name is None:
      return
    if name not in scores:
      raise ValueError(
        f"--best_metric={name} is not among the scores: {', '.join(scores)}. "
        "Choose one of these."
      )
    if not math.isfinite(scores[name]):
      raise ValueError(
        f"The {name} of the evaluation at step {step} is {scores[name]}, so no "
        "best model can be chosen by it. Choose another --best_metric, or "
        "other data to evaluate on."
      )


def _table_row(step, cells):
  return f"{step:>8}" + "".join(f"{cell:>16}" for cell in cells)
