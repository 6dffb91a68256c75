"""How a model is fine-tuned."""

import dataclasses
import math

from bert_span.training.execution import ExecutionOptions


@dataclasses.dataclass(frozen=True)
class FineTuningOptions:
  """How a span model is trained; run_squad's names and defaults.

  Attributes:
    train_batch_size: windows in a batch.
    learning_rate: the highest, after the warm-up.
    num_train_epochs: passes over the examples.
    warmup_proportion: share of the steps in which the rate rises.
    save_checkpoints_steps: steps from one checkpoint to the next.
    keep_checkpoint_max: checkpoints that are kept, the latest.
    iterations_per_loop: loss and speed are read at least this often, in steps.
    length_bucket: batches are padded to a multiple of it, in WordPieces; None
      pads all to max_seq_length, as the original.
    drop_answerless_windows: leave out windows of answerable questions that do
      not hold the answer; the original trains them as null answers.
    loss_reduction: "mean" of start and end, or "sum".
    adam_bias_correction: Adam as published; the original has none.
    clip_by_unsummed_embeddings: take the gradients' norm as the original does,
      with the word embeddings' rows of repeated tokens not summed.
    learning_rate_after_step: use the rate of the step count after the step, as
      the original does where a race has it so.
    weight_decay: decoupled, of all but LayerNorm and bias.
    seed: of the batches' order.
    annotator_labels: what labels of the B/I/O head are made of: "soft",
      "majority" or "first", see `tag_labels`.
    bio_loss_reduction: "sum" of a window's passage tokens, or their "mean".
    bio_class_weights: of B, I and O in the loss; None for 1 each.
    distillation_temperature: what logits of teachers and student are divided by
      for soft labels, see distillation.py; of account with teachers only.
    distillation_weight: share of the teachers in the loss, from 0 to 1; the
      rest is the labels'.
    execution: `ExecutionOptions`, precision and memory.
  """

  train_batch_size: int = 32
  learning_rate: float = 5e-5
  num_train_epochs: float = 3.0
  warmup_proportion: float = 0.1
  save_checkpoints_steps: int = 1000
  keep_checkpoint_max: int = 5
  iterations_per_loop: int = 1000
  length_bucket: int | None = 32
  drop_answerless_windows: bool = False
  loss_reduction: str = "mean"
  adam_bias_correction: bool = False
  clip_by_unsummed_embeddings: bool = False
  learning_rate_after_step: bool = False
  weight_decay: float = 0.01
  seed: int = 12345
  annotator_labels: str = "soft"
  bio_loss_reduction: str = "sum"
  bio_class_weights: tuple[float, float, float] | None = None
  distillation_temperature: float = 1.0
  distillation_weight: float = 0.5
  execution: ExecutionOptions = dataclasses.field(
    default_factory=ExecutionOptions
  )

  def __post_init__(self):
    temperature = self.distillation_temperature
    if not (temperature > 0 and math.isfinite(temperature)):
      raise ValueError(
        "distillation_temperature must be a finite number above 0. Received: "
        f"{temperature}"
      )
    if not 0 <= self.distillation_weight <= 1:
      raise ValueError(
        "distillation_weight must be between 0 and 1. Received: "
        f"{self.distillation_weight}"
      )

  def num_train_steps(self, num_examples):
    """Steps for so many examples: as run_squad, not counted from windows."""
    steps = int(num_examples / self.train_batch_size * self.num_train_epochs)
    if steps < 1:
      raise ValueError(
        f"{num_examples} examples make no batch of {self.train_batch_size} in "
        f"{self.num_train_epochs} epochs. Lower train_batch_size or raise "
        "num_train_epochs."
      )
    return steps

  def num_warmup_steps(self, num_train_steps):
    """How many of the steps are warm-up."""
    return int(num_train_steps * self.warmup_proportion)
