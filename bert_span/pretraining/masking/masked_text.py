"""Masked sequences for people to read, and as rows of JSON."""

_NO_TOKEN = "none (edge)"


def masked_row(masked):
  """A masked sequence as JSON values.

  Example: "[CLS] a b c d [SEP]" with "b" masked, of which the budget is one
  token, gives

      {"input_ids": [2, 5, 6, 7, 8, 3], "masked_input_ids": [2, 5, 4, 7, 8, 3],
       "spans": [{"span": [2, 2], "word_count": 1, "drawn_word_counts": [3],
                  "decision": "mask", "left_boundary": 1,
                  "right_boundary": 3}]}

  Args:
    masked: `MaskedSequence`.

  Returns:
    Dict of what JSON holds; all positions count from [CLS], spans are
    inclusive, a boundary is None where the span touches the text's edge.
  """
  return {
    "input_ids": masked.original_ids.tolist(),
    "masked_input_ids": masked.input_ids.tolist(),
    "spans": [
      {
        "span": [span.token_start, span.token_end],
        "word_count": span.word_count,
        "drawn_word_counts": list(span.drawn_word_counts),
        "decision": span.decision,
        "left_boundary": span.left_boundary,
        "right_boundary": span.right_boundary,
      }
      for span in masked.spans
    ],
  }


def masked_text(masked, vocabulary, budget):
  """A masked sequence in words.

  Example:

      9 WordPieces, 2 masked of a budget of 2
      [CLS] super bowl 50 {the big} game [SEP]
        4-5: the big -> [MASK] [MASK]
             2 words, mask, between 50 (3) and game (6)

  Args:
    masked: `MaskedSequence`.
    vocabulary: list of tokens, the index is the id.
    budget: tokens that were to be masked.

  Returns:
    List of lines.
  """
  num_masked = sum(s.token_end - s.token_start + 1 for s in masked.spans)
  before = [vocabulary[i] for i in masked.original_ids]
  after = [vocabulary[i] for i in masked.input_ids]
  marked = list(before)
  for span in masked.spans:
    marked[span.token_start] = "{" + marked[span.token_start]
    marked[span.token_end] += "}"
  lines = [
    f"{len(before)} WordPieces, {num_masked} masked of a budget of {budget}",
    " ".join(marked),
  ]
  for span in masked.spans:
    lines += _span_lines(span, before, after)
  return lines


def _span_lines(span, before, after):
  part = slice(span.token_start, span.token_end + 1)
  place = f"{span.token_start}-{span.token_end}"
  words = f"{span.word_count} word{'s' if span.word_count > 1 else ''}"
  left = _token(span.left_boundary, before)
  right = _token(span.right_boundary, before)
  return [
    f"  {place}: {' '.join(before[part])} -> {' '.join(after[part])}",
    f"  {' ' * len(place)}  {words}, {span.decision}, between {left} and "
    f"{right}",
  ]


def _token(position, tokens):
  return _NO_TOKEN if position is None else f"{tokens[position]} ({position})"
