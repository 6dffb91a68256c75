"""Finds what windows cut and what the vocabulary lacks in a linted file.

Windows follow from token counts, so many lengths are compared without making
windows of any.
"""

import dataclasses

import numpy as np

from bert_span.squad.findings import Finding, FindingKind
from bert_span.squad.lint.lint_report import length_summary, summaries
from bert_span.squad.lint.token_lengths import measure_tokens
from bert_span.squad.rules import with_answer_to_learn
from bert_span.storage.json_fields import shortened
from bert_span.text.windows import PlacedWindows, SlidingWindows

_COMPARED_LENGTHS = (128, 192, 256, 320, 384, 448, 512)
# Of SQuAD's WordPieces 0.02 % are [UNK] with an English vocabulary.
_MANY_UNKNOWN = 0.01


def lint_windows(linted, tokenizer, settings):
  """Checks a `LintedFile` that has a question, by `LintSettings`.

  Returns:
    List of `Finding`, and a dict of figures that JSON can hold: wordpieces,
    windows_per_question, max_seq_lengths, unknown.
  """
  examples = list(map(with_answer_to_learn, linted.examples))
  lengths, unknown = measure_tokens(examples, tokenizer)
  windows = place_windows(lengths, settings.window_options)
  figures = {
    "wordpieces": summaries(
      question=lengths.question,
      passage=lengths.passage,
      answer=lengths.answer[lengths.has_answer],
    ),
    "windows_per_question": length_summary(
      np.bincount(windows["example_index"], minlength=len(examples))
    ),
    "max_seq_lengths": _compared(lengths, settings),
    "unknown": unknown.figures(examples),
  }
  findings = []

  def add(kind, applies, detail):
    for index in np.flatnonzero(applies):
      findings.append(linted.finding(kind, int(index), detail(index)))

  def answer_text(index):
    return examples[index].answers[0].text

  def excerpt(text):
    return ascii(text[:20])  # What BERT drops is mostly invisible.

  def answer(index):
    text = shortened(answer_text(index))
    return f"{text}, {lengths.answer[index]} WordPieces"

  def question(index):
    text = shortened(examples[index].question)
    return f"{text}, {lengths.question[index]} WordPieces"

  is_blank = np.array([not example.context.strip() for example in examples])
  is_empty = lengths.context == 0
  add(
    FindingKind.NO_WINDOW,
    is_empty & ~is_blank,
    lambda index: excerpt(examples[index].context),
  )
  add(
    FindingKind.ANSWER_WITHOUT_TOKEN,
    lengths.without_token & ~is_empty,
    lambda index: excerpt(answer_text(index)),
  )
  add(FindingKind.ANSWER_CUT, answers_cut(windows, lengths), answer)
  too_long = lengths.answer > settings.max_answer_length
  add(FindingKind.ANSWER_TOO_LONG, too_long, answer)
  too_long = lengths.question > settings.window_options.max_query_length
  add(FindingKind.QUESTION_CUT, too_long, question)
  if unknown.token_share >= _MANY_UNKNOWN:
    share = f"{100 * unknown.token_share:.1f} %"
    detail = f"{share} of the WordPieces are [UNK], see below"
    findings.append(
      Finding(FindingKind.MANY_UNKNOWN_WORDS, "all texts", detail)
    )
  return findings, figures


def _compared(lengths, settings):
  """A `window_cost`, relative to the chosen length, for lengths to compare."""
  chosen = settings.window_options
  least = chosen.max_query_length + 3
  fitting = {
    n for n in _COMPARED_LENGTHS if least < n <= settings.max_positions
  }
  costs = {
    length: window_cost(
      lengths,
      dataclasses.replace(chosen, max_seq_length=length),
      settings.length_bucket,
      settings.hidden_size,
    )
    for length in sorted({*fitting, chosen.max_seq_length})
  }
  unit = costs[chosen.max_seq_length]["bucket_cost"] or 1.0
  for cost in costs.values():
    for name in ("bucket_cost", "padded_cost"):
      cost[name] = round(cost[name] / unit, 4)
  return list(costs.values())


def place_windows(lengths, options):
  """Places the windows of `TokenLengths` with `WindowOptions`.

  Returns:
    Dict of the arrays [windows] of `SlidingWindows.columns`, and of length,
    the WordPieces of each window with question and special tokens.
  """
  columns = SlidingWindows(options, cls_id=0, sep_id=0).columns(
    np.minimum(lengths.question, options.max_query_length), lengths.context
  )
  columns["length"] = PlacedWindows(None, None, columns).lengths
  return {name: values.numpy() for name, values in columns.items()}


def holds_answer(windows, lengths):
  """Bool [windows], whether each holds its question's answer whole."""
  example = windows["example_index"]
  end = windows["context_start"] + windows["context_length"]
  return (
    lengths.has_answer[example]
    & (lengths.answer_start[example] >= windows["context_start"])
    & (lengths.answer_end[example] < end)
  )


def answers_cut(windows, lengths):
  """Bool [examples], whether there is an answer and no window holds it."""
  held = np.zeros(len(lengths.context), bool)
  held[windows["example_index"][holds_answer(windows, lengths)]] = True
  return lengths.has_answer & ~held


def window_cost(lengths, options, bucket_width, hidden_size):
  """Sums up the windows of one setting in a dict.

  answerless_windows are of answerable questions without the answer; no window
  holds answers_cut whole. WordPieces and cost, see `computation`, are those of
  windows that are padded to a multiple of the bucket width, or to
  max_seq_length. (A few batches an epoch mix two buckets.)
  """
  windows = place_windows(lengths, options)
  longest = options.max_seq_length
  padded = np.full_like(windows["length"], longest)
  bucketed = -(-windows["length"] // bucket_width) * bucket_width  # rounded up
  bucketed = np.minimum(bucketed, longest)
  has_answer = lengths.has_answer[windows["example_index"]]
  lacks_answer = has_answer & ~holds_answer(windows, lengths)
  return {
    "max_seq_length": longest,
    "windows": len(padded),
    "answerless_windows": int(lacks_answer.sum()),
    "answers_cut": int(answers_cut(windows, lengths).sum()),
    "wordpieces": int(windows["length"].sum(dtype=np.int64)),
    "bucket_wordpieces": int(bucketed.sum(dtype=np.int64)),
    "padded_wordpieces": int(padded.sum(dtype=np.int64)),
    "bucket_cost": computation(bucketed, hidden_size),
    "padded_cost": computation(padded, hidden_size),
  }


def computation(lengths, hidden_size):
  """The work of an encoder on windows, in WordPieces of a very short window.

  A layer of hidden size H multiplies, for a window of L WordPieces, 12 H^2 L
  times in its dense parts (4 H^2 in attention, 8 H^2 in the feed-forward part
  of size 4 H) and 2 H L^2 times between positions. Divided by 12 H^2 that is
  L (1 + L / (6 H)): with H 768, the quadratic part is 8 % at 384 WordPieces.
  """
  lengths = np.asarray(lengths, np.float64)
  return float(np.sum(lengths * (1 + lengths / (6 * hidden_size))))
