"""What a client must know of each signature, for the model card."""

from bert_span.serving import signatures

_EXAMPLE = "serialized tf.Example with the bytes features question and context"

INPUTS = {
  signatures.SERVING_DEFAULT: {
    "question": "the question; without a WordPiece it gets no answer",
    "context": "the passage, of any length; what is not UTF-8 counts as "
    "U+FFFD, one character",
  },
  signatures.LOGITS: {
    "input_ids": "vocabulary ids: [CLS] question [SEP] window [SEP]",
    "input_mask": "1 for WordPieces, 0 for padding",
    "segment_ids": "0 up to the first [SEP], 1 behind it",
  },
  signatures.EXAMPLES: {"examples": _EXAMPLE},
  signatures.CLASSIFY: {"inputs": _EXAMPLE},
}


def output_guide(head):
  """Dict of signature to dict of output to description.

  Args:
    head: `AnswerHead`.
  """
  served = head.served
  return {
    signatures.SERVING_DEFAULT: served.guide,
    signatures.LOGITS: served.logits_guide,
    signatures.EXAMPLES: served.guide,
    signatures.CLASSIFY: served.classes_guide,
  }
