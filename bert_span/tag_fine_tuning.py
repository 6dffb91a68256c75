"""What the fine-tuning of a B/I/O head has of its own: labels and loss."""

from bert_span.data.tag_windows import make_tag_windows
from bert_span.modeling.tag_loss import TagLoss
from bert_span.training.progress import log_line


def tag_training_windows(examples, preprocessor, options):
  """Makes the labelled windows, and tells what is not trained on.

  Args:
    examples: sequence of `SquadExample`.
    preprocessor: `SpanPreprocessor`.
    options: `FineTuningOptions`.

  Returns:
    `TagWindows`, and the number of windows without any part of an answer that
    were left out.
  """
  windows, left_out = make_tag_windows(
    examples,
    preprocessor,
    options.annotator_labels,
    options.drop_answerless_windows,
  )
  if left_out.without_token:
    named = ", ".join(left_out.without_token[:3])
    log_line(
      f"{len(left_out.without_token)} questions left out, since their answers "
      f"have no WordPiece in the passage (first: {named}). Correct or remove "
      "them."
    )
  return windows, left_out.num_answerless


def tag_loss_fn(reduction, class_weights):
  """The loss of a batch as the training loop wants it.

  Args:
    reduction: "sum" over a window's passage tokens, or "mean".
    class_weights: of B, I and O; None for 1 each.

  Returns:
    Function of (model, batch) to float32 [batch].
  """
  loss = TagLoss(reduction, class_weights)

  def window_losses(model, batch):
    logits = model(
      {
        "token_ids": batch["input_ids"],
        "segment_ids": batch["segment_ids"],
        "padding_mask": batch["input_mask"],
      },
      training=True,
    )
    return loss.window_losses(logits["tag_logits"], batch["tag_labels"])

  return window_losses


def tag_fingerprint(options):
  """What the labels and the loss depend on, as JSON values."""
  weights = options.bio_class_weights
  return {
    "head": "bio",
    "annotator_labels": options.annotator_labels,
    "bio_loss_reduction": options.bio_loss_reduction,
    "bio_class_weights": list(weights) if weights else None,
  }
