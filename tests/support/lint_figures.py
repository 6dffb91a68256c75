"""Figures as lint_squad makes them, for tests of how they are told."""

from bert_span.squad.lint.length_summary import length_summary

_COST = {
  "max_seq_length": 384,
  "windows": 12_032,
  "answerless_windows": 105,
  "answers_cut": 0,
  "wordpieces": 1_900_000,
  "bucket_wordpieces": 2_000_000,
  "padded_wordpieces": 4_620_288,
  "bucket_cost": 1.0,
  "padded_cost": 2.31,
}
_UNKNOWN = {
  "tokens": 1000,
  "unknown_tokens": 12,
  "token_share": 0.012,
  "characters": 5000,
  "unknown_characters": 20,
  "character_share": 0.004,
  "distinct_characters": 1,
  "distinct_words": 7,
  "most_frequent_characters": [
    {"text": "\u0301", "count": 9, "question_id": "q1"}
  ],
  "most_frequent_words": [
    {"text": "5½" * n, "count": 7 - n, "question_id": "q2"} for n in range(1, 7)
  ],
}
FIGURES = {
  "characters": {"question": length_summary([10, 20, 3000])},
  "wordpieces": {"question": length_summary([4])},
  "windows_per_question": length_summary([1, 2]),
  "max_seq_lengths": [_COST, {**_COST, "max_seq_length": 512}],
  "unknown": _UNKNOWN,
}
SETTINGS = {
  "max_seq_length": 384,
  "doc_stride": 128,
  "max_query_length": 64,
  "length_bucket": 32,
  "hidden_size": 768,
}
