"""What a client must know of each signature, for the model card."""

from bert_span.serving import answer_server

_EXAMPLE = "serialized tf.Example with the bytes features question and context"

INPUTS = {
  answer_server.SERVING_DEFAULT: {
    "question": "the question; without a WordPiece it gets no answer",
    "context": "the passage, of any length; what is not UTF-8 counts as "
    "U+FFFD, one character",
  },
  answer_server.LOGITS: {
    "input_ids": "vocabulary ids: [CLS] question [SEP] window [SEP]",
    "input_mask": "1 for WordPieces, 0 for padding",
    "segment_ids": "0 up to the first [SEP], 1 behind it",
  },
  answer_server.EXAMPLES: {"examples": _EXAMPLE},
  answer_server.CLASSIFY: {"inputs": _EXAMPLE},
}


def output_guide(head):
  """Dict of signature to dict of output to description.

  Args:
    head: `AnswerHead`.
  """
  served = head.served
  return {
    answer_server.SERVING_DEFAULT: served.guide,
    answer_server.LOGITS: served.logits_guide,
    answer_server.EXAMPLES: served.guide,
    answer_server.CLASSIFY: served.classes_guide,
  }
