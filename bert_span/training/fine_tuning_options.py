"""How a model is fine-tuned; TensorFlow is not needed."""

import dataclasses
import math

from bert_span.options.fields import option
from bert_span.training.options import TrainOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class FineTuningOptions(TrainOptions):
  """How a span model is trained; run_squad's names and defaults."""

  num_train_epochs: float = option(
    3.0, "Passes over the training examples.", minimum=0.0
  )
  warmup_proportion: float = option(
    0.1,
    "Share of the steps in which the learning rate rises.",
    minimum=0.0,
    maximum=1.0,
  )
  length_bucket: int | None = option(
    32,
    "Batches hold windows of similar length and are padded to a multiple of "
    "this, in WordPieces; none pads to max_seq_length, as run_squad.",
    minimum=1,
    flag="length_buckets",
  )
  layer_decay: float = option(
    1.0,
    "Factor of the learning rate from each layer to the one below it; 1 trains "
    "all layers alike.",
    above=0.0,
    maximum=1.0,
  )
  drop_answerless_windows: bool = option(
    False,
    "Whether training skips windows without the answer of an answerable "
    "question; run_squad trains on them as unanswerable.",
  )
  loss_reduction: str = option(
    "mean",
    "Whether the loss is the mean of start and end, as in run_squad, or their "
    "sum.",
    choices=("mean", "sum"),
  )
  clip_by_unsummed_embeddings: bool = option(
    False,
    "Whether gradients are clipped by the norm that run_squad takes: it does "
    "not sum the gradients of a word embedding whose token is repeated.",
  )
  learning_rate_after_step: bool = option(
    False,
    "Whether a step uses the learning rate of the step after the update; "
    "run_squad does so on some runs (a race).",
  )
  annotator_labels: str = option(
    "soft",
    "With head=bio: whether the label of a token is the share of annotators "
    "for each tag, the tag of most annotators, or that of the first.",
    choices=("soft", "majority", "first"),
  )
  bio_loss_reduction: str = option(
    "sum",
    "With head=bio: whether a window's loss is the sum over its passage "
    "tokens or their mean.",
    choices=("sum", "mean"),
  )
  bio_class_weights: tuple[float, float, float] | None = option(
    None,
    "With head=bio: weights of B, I and O in the loss, three positive "
    "numbers separated by commas; 1 each by default.",
  )
  distillation_temperature: float = option(
    1.0,
    "With `teacher`: divisor of the logits of teachers and student for soft "
    "labels.",
    above=0.0,
  )
  distillation_weight: float = option(
    0.5,
    "With `teacher`: share of the teachers in the loss, from 0 to 1; the "
    "labels have the rest.",
    minimum=0.0,
    maximum=1.0,
  )

  def __post_init__(self):
    super().__post_init__()
    weights = self.bio_class_weights
    if weights is not None and not (
      len(weights) == 3 and all(0 < weight < math.inf for weight in weights)
    ):
      raise ValueError(
        "bio_class_weights must be three positive numbers, of B, I and O. "
        f"Received: {weights!r}"
      )

  def num_train_steps(self, num_examples):
    """Returns the steps for so many examples (not windows), as run_squad."""
    steps = int(num_examples / self.train_batch_size * self.num_train_epochs)
    if steps < 1:
      epochs = self.num_train_epochs
      most = int(num_examples * epochs)
      remedy = f"train_batch_size={min(most, 8)}" if most else "more epochs"
      raise ValueError(
        f"{num_examples} examples make no batch of {self.train_batch_size} in "
        f"{epochs} epochs. Give {remedy}; flags/own_questions.flags are "
        "settings for few questions."
      )
    return steps

  def num_warmup_steps(self, num_train_steps):
    """Returns how many of the steps are warm-up."""
    return int(num_train_steps * self.warmup_proportion)
