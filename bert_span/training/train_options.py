"""How long and how a model is trained."""

import dataclasses
import math

from bert_span.training.execution import ExecutionOptions


@dataclasses.dataclass(frozen=True)
class TrainOptions:
  """How long and how a model is trained.

  Attributes:
    num_train_steps: updates of the whole run.
    train_batch_size: windows of a full batch; what the summed loss is
      divided by.
    save_checkpoints_steps: steps between two checkpoints; one more is saved
      at the end.
    iterations_per_loop: the host reads loss and speed after this many steps
      at the latest (it does so every 20 steps or every second in any case).
    max_to_keep: checkpoints kept, the newest.
    clip_norm: largest global norm of the gradients.
    unsummed_embeddings: see make_train_step.
    seed: of the dropout masks.
    execution: ExecutionOptions; recompute is up to the model.
  """

  num_train_steps: int
  train_batch_size: int = 32
  save_checkpoints_steps: int = 1000
  iterations_per_loop: int = 1000
  max_to_keep: int = 5
  clip_norm: float = 1.0
  unsummed_embeddings: tuple[str, ...] = ()
  seed: int = 0
  execution: ExecutionOptions = dataclasses.field(
    default_factory=ExecutionOptions
  )

  def __post_init__(self):
    """Refuses numbers that no training can be run with."""
    for field in dataclasses.fields(self):
      value = getattr(self, field.name)
      if field.name in ("unsummed_embeddings", "execution"):
        continue
      if field.name == "seed":
        if not 0 <= value < 2**31:
          raise ValueError(
            f"seed must lie in [0, 2**31). Received: seed={value}"
          )
      elif not (value > 0 and math.isfinite(value)):
        raise ValueError(
          f"{field.name} must be positive. Received: {field.name}={value}"
        )
