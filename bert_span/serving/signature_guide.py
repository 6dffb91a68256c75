"""What a client must know of each signature, for the model card."""

from bert_span.serving import span_server

_ANSWER_COLUMNS = {
  "answer": "the answer, valid UTF-8; empty for no answer",
  "char_start": "first character of the answer in the context, from 0",
  "char_end": "character behind the answer; context[char_start:char_end]",
  "byte_start": "first byte of the answer in the context as it was sent",
  "byte_end": "byte behind the answer",
  "score": "what answers are compared by, in the unit of span_score",
  "probability": "logit_sum: softmax over the n-best list; "
  "mean_probability: the score",
  "null_odds": "score of no answer - score of the best span; above the "
  "threshold there is no answer (1e6: no span is possible)",
  "is_answerable": "whether the answer is a span",
  "n_best_count": "entries of the n-best list that are no padding",
}
_N_BEST_COLUMNS = {
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
_EXAMPLE = "serialized tf.Example with the bytes features question and context"

INPUTS = {
  span_server.SERVING_DEFAULT: {
    "question": "the question; without a WordPiece it gets no answer",
    "context": "the passage, of any length; what is not UTF-8 counts as "
    "U+FFFD, one character",
  },
  span_server.LOGITS: {
    "input_ids": "vocabulary ids: [CLS] question [SEP] window [SEP]",
    "input_mask": "1 for WordPieces, 0 for padding",
    "segment_ids": "0 up to the first [SEP], 1 behind it",
  },
  span_server.EXAMPLES: {"examples": _EXAMPLE},
  span_server.CLASSIFY: {"inputs": _EXAMPLE},
}
OUTPUTS = {
  span_server.SERVING_DEFAULT: {**_ANSWER_COLUMNS, **_N_BEST_COLUMNS},
  span_server.LOGITS: {
    "start_logits": "score of each position as the answer's first WordPiece",
    "end_logits": "score of each position as the answer's last WordPiece",
  },
  span_server.EXAMPLES: {**_ANSWER_COLUMNS, **_N_BEST_COLUMNS},
  span_server.CLASSIFY: {
    "classes": "as n_best_answer",
    "scores": "as n_best_probability",
  },
}
