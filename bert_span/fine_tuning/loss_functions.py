"""What the fine-tuning of a B/I/O head has of its own: the loss."""

from bert_span.modeling.bio_loss import BioLoss


def bio_loss_fn(reduction, class_weights):
  """The loss of a batch as the training loop wants it.

  Args:
    reduction: "sum" over a window's passage tokens, or "mean".
    class_weights: of B, I and O; None for 1 each.

  Returns:
    Function of (model, batch) to float32 [batch].
  """
  loss = BioLoss(reduction, class_weights)

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


def bio_fingerprint(options):
  """What the labels and the loss depend on, as JSON values."""
  weights = options.bio_class_weights
  return {
    "head": "bio",
    "annotator_labels": options.annotator_labels,
    "bio_loss_reduction": options.bio_loss_reduction,
    "bio_class_weights": list(weights) if weights else None,
  }
