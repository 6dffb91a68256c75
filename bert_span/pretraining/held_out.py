"""Held-out scores while an encoder is pre-trained."""

import dataclasses
from collections.abc import Callable, Iterable

from bert_span.pretraining.pretrainer import evaluate, scoring_function
from bert_span.training.options import SelectionOptions
from bert_span.training.run.selection import ModelSelection

# What a training shows of the scores, as far as they are there.
_SHOWN = ("mlm_loss", "mlm_accuracy", "sbo_loss", "sbo_accuracy")


@dataclasses.dataclass(frozen=True)
class HeldOutText:
  """Text that the model is scored on while it is trained.

  Attributes:
    batches: function without arguments that gives an iterable of batches, the
      same ones whenever it is called.
    max_steps: batches that are taken at most; None for all.
    options: `SelectionOptions`.
    fingerprint: dict of JSON values that the batches depend on.
  """

  batches: Callable[[], Iterable]
  max_steps: int | None
  options: SelectionOptions
  fingerprint: dict

  def selection(
    self, model, num_train_steps, keeper, output_dir, interruptible
  ):
    """What scores a model during its training.

    Args:
      model: `PretrainingModel`.
      num_train_steps: updates of the whole run.
      keeper: `BestModel`, for options with a best_metric.
      output_dir: folder of the run.
      interruptible: see `TerminationRequest`.

    Returns:
      A `ModelSelection`.
    """
    score = scoring_function(model)

    def scores():
      batches = interruptible(self.batches())
      found = evaluate(model, batches, self.max_steps, score)
      return {name: found[name] for name in _SHOWN if name in found}

    return ModelSelection(
      self.options,
      num_train_steps,
      scores,
      keeper if self.options.best_metric else None,
      output_dir,
      {**self.fingerprint, "max_steps": self.max_steps},
    )
