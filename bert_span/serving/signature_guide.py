"""What a client must know of each signature, for the model card."""

from bert_span.serving import answer_server

_PLACE_COLUMNS = {
  "answer": "the answer, valid UTF-8; empty for no answer",
  "char_start": "first character of the answer in the context, from 0",
  "char_end": "character behind the answer; context[char_start:char_end]",
  "byte_start": "first byte of the answer in the context as it was sent",
  "byte_end": "byte behind the answer",
}
_SPAN_COLUMNS = {
  **_PLACE_COLUMNS,
  "score": "what answers are compared by, in the unit of span_score",
  "probability": "with a temperature among all spans of the passage and no "
  "answer; without one, logit_sum: softmax over the n-best list, "
  "mean_probability: the score",
  "null_odds": "score of no answer - score of the best span; above the "
  "threshold there is no answer (1e6: no span is possible)",
  "is_answerable": "whether the answer is a span",
  "n_best_count": "entries of the n-best list that are no padding",
  "n_best_answer": "texts, best first; behind n_best_count padding",
  "n_best_char_start": "as char_start; padding 0",
  "n_best_char_end": "as char_end; padding 0",
  "n_best_byte_start": "as byte_start; padding 0",
  "n_best_byte_end": "as byte_end; padding 0",
  "n_best_score": "as score; padding 0",
  "n_best_probability": "as probability; padding 0",
  "n_best_is_answerable": "true for a span, false for the entry of no answer "
  "and for padding",
}
_BIO_COLUMNS = {
  **_PLACE_COLUMNS,
  "answer": "the span with the best score, valid UTF-8; empty for no answer",
  "score": "of that span: geometric mean of its tags' probabilities, the unit "
  "of threshold; 0 for no answer",
  "probability": "of exactly that span; for no answer that no token is in one",
  "null_odds": "log-probability of no span - that of the best tags with one, "
  "in nats; with version_2_with_negative above the threshold there is no "
  "answer (1e6: no span is possible)",
  "is_answerable": "whether the answer has a span",
  "span_count": "spans of the answer, 0 for no answer; what stands behind them "
  "is padding",
  "span_text": "texts in order of position; padding empty",
  "span_char_start": "as char_start; padding 0",
  "span_char_end": "as char_end; padding 0",
  "span_byte_start": "as byte_start; padding 0",
  "span_byte_end": "as byte_end; padding 0",
  "span_score": "as score; padding 0",
  "span_probability": "as probability; padding 0",
}
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


def _output_guide(columns, logits, classes, scores):
  """Dict of signature to dict of output to description."""
  return {
    answer_server.SERVING_DEFAULT: columns,
    answer_server.LOGITS: logits,
    answer_server.EXAMPLES: columns,
    answer_server.CLASSIFY: {"classes": classes, "scores": scores},
  }


# Outputs of a SpanServer.
SPAN_OUTPUTS = _output_guide(
  _SPAN_COLUMNS,
  {
    "start_logits": "score of each position as the answer's first WordPiece",
    "end_logits": "score of each position as the answer's last WordPiece",
  },
  "as n_best_answer",
  "as n_best_probability",
)
# Outputs of a BioServer.
BIO_OUTPUTS = _output_guide(
  _BIO_COLUMNS,
  {"tag_logits": "scores of each position as B, I and O"},
  "as span_text; for no answer the first is empty",
  "as span_probability; for no answer the first is probability",
)
