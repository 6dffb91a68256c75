"""Finds what windows cut and what the vocabulary lacks in a linted file."""

import dataclasses

import numpy as np

from bert_span.squad.findings import Finding, FindingKind
from bert_span.squad.lint.length_summary import length_summary, summaries
from bert_span.squad.lint.token_lengths import measure_tokens
from bert_span.squad.lint.unknown_words import UnknownWords
from bert_span.squad.lint.window_costs import (
  answers_cut,
  place_windows,
  window_cost,
)
from bert_span.squad.rules import with_answer_to_learn
from bert_span.storage.json_fields import shortened

_COMPARED_LENGTHS = (128, 192, 256, 320, 384, 448, 512)
# Of SQuAD's WordPieces 0.02 % are [UNK] with an English vocabulary.
_MANY_UNKNOWN = 0.01
_NUM_EXAMPLES = 10


def lint_windows(linted, tokenizer, settings):
  """Finds what the windows cut and what the vocabulary lacks.

  Args:
    linted: `LintedFile` with at least one question.
    tokenizer: `WordPieceTokenizer`.
    settings: `LintSettings`.

  Returns:
    List of `Finding`, and a dict of figures that JSON can hold: wordpieces,
    windows_per_question, max_seq_lengths, unknown.
  """
  unknown = UnknownWords(tokenizer)
  examples = list(map(with_answer_to_learn, linted.examples))
  lengths = measure_tokens(examples, tokenizer, unknown.add)
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
    "unknown": _unknown_figures(unknown, examples),
  }
  findings = []

  def add(kind, applies, detail):
    for index in np.flatnonzero(applies):
      findings.append(linted.finding(kind, int(index), detail(index)))

  def answer_text(index):
    return examples[index].answers[0].text

  def answer(index):
    text = shortened(answer_text(index))
    return f"{text}, {lengths.answer[index]} WordPieces"

  def question(index):
    text = shortened(examples[index].question)
    return f"{text}, {lengths.question[index]} WordPieces"

  is_blank = np.array([not example.context.strip() for example in examples])
  is_empty = lengths.context == 0
  # In escapes: what BERT drops is mostly invisible.
  add(
    FindingKind.NO_WINDOW,
    is_empty & ~is_blank,
    lambda index: ascii(examples[index].context[:20]),
  )
  add(
    FindingKind.ANSWER_WITHOUT_TOKEN,
    lengths.without_token & ~is_empty,
    lambda index: ascii(answer_text(index)[:20]),
  )
  add(FindingKind.ANSWER_CUT, answers_cut(windows, lengths), answer)
  too_long = lengths.answer > settings.max_answer_length
  add(FindingKind.ANSWER_TOO_LONG, too_long, answer)
  too_long = lengths.question > settings.window_options.max_query_length
  add(FindingKind.QUESTION_CUT, too_long, question)
  share = figures["unknown"]["token_share"]
  if share >= _MANY_UNKNOWN:
    detail = f"{100 * share:.1f} % of the WordPieces are [UNK], see below"
    findings.append(
      Finding(FindingKind.MANY_UNKNOWN_WORDS, "all texts", detail)
    )
  return findings, figures


def _compared(lengths, settings):
  """A `window_cost` for every max_seq_length of interest.

  Costs are relative to the chosen max_seq_length with buckets.
  """
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


def _unknown_figures(unknown, examples):
  def rows(found):
    return [
      {"text": text, "count": count, "question_id": examples[index].qas_id}
      for text, count, index in found[:_NUM_EXAMPLES]
    ]

  def share(part, whole):
    return round(part / whole, 6) if whole else 0.0

  # A word of one character is listed as a character.
  words = [row for row in unknown.words() if len(row[0]) > 1]
  characters = unknown.characters()
  return {
    "tokens": unknown.num_tokens,
    "unknown_tokens": unknown.num_unknown_tokens,
    "token_share": share(unknown.num_unknown_tokens, unknown.num_tokens),
    "characters": unknown.num_characters,
    "unknown_characters": unknown.num_unknown_characters,
    "character_share": share(
      unknown.num_unknown_characters, unknown.num_characters
    ),
    "distinct_words": len(words),
    "distinct_characters": len(characters),
    "most_frequent_words": rows(words),
    "most_frequent_characters": rows(characters),
  }
