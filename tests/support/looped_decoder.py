"""Decoding of one question by nested loops, to compare results and speed."""

import numpy as np

from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS


def decode_by_loops(context, windows, start_logits, end_logits, options):
  """Tries all pairs of the best starts and ends, as run_squad does.

  Args:
    context: str, the passage.
    windows: dict of arrays, those of `SlidingWindows`, of the question's
      windows only.
    start_logits, end_logits: [windows, seq_length].
    options: `DecoderOptions` with span_score "logit_sum".

  Returns:
    (text, char_start, char_end, score) of the n best spans, best first, and the
    null odds: the lowest null score minus the best score.
  """
  spans, nulls = [], []
  n = options.n_best_size
  columns = ("token_char_starts", "token_char_ends", "is_max_context")
  rows = zip(*(windows[name] for name in columns), strict=True)
  for row, (starts, ends, is_max_context) in enumerate(rows):
    start, end = (x[row].astype(float) for x in (start_logits, end_logits))
    nulls.append(start[0] + end[0])
    for s in np.argsort(-start, kind="stable")[:n]:
      for e in np.argsort(-end, kind="stable")[:n]:
        # A blank, as byte pairs have it, neither starts nor ends an answer.
        fits = is_max_context[s] and ends[s] > starts[s] and ends[e] > starts[e]
        if fits and s <= e < s + options.max_answer_length:
          span = context[starts[s] : ends[e]], starts[s], ends[e]
          spans.append((*span, start[s] + end[e]))
  best_of = {}
  for span in sorted(spans, key=lambda span: -span[3]):
    best_of.setdefault(span[0], span)
  best = list(best_of.values())[:n]
  return best, min(nulls) - best[0][3] if best else NO_SPAN_NULL_ODDS
