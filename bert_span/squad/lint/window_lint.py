"""What windows and vocabulary make of a linted file: findings and figures."""

import dataclasses

import numpy as np

from bert_span.squad.lint import findings as kinds
from bert_span.squad.lint.findings import Finding
from bert_span.squad.lint.length_summary import summaries
from bert_span.squad.lint.linter import examples_to_learn, first_located
from bert_span.squad.lint.token_lengths import measure_tokens
from bert_span.squad.lint.unknown_words import UnknownWords
from bert_span.squad.lint.window_costs import (
  answers_cut,
  place_windows,
  window_cost,
)
from bert_span.storage.json_fields import shortened
from bert_span.text.options import WindowOptions

_COMPARED_LENGTHS = (128, 192, 256, 320, 384, 448, 512)
# Of SQuAD's WordPieces 0.02 % are [UNK] with an English vocabulary.
_MANY_UNKNOWN = 0.01
_NUM_EXAMPLES = 10


@dataclasses.dataclass(frozen=True)
class LintSettings:
  """What training and prediction are going to be run with.

  Attributes:
    window_options: `WindowOptions`.
    max_answer_length: WordPieces of the longest answer.
    bucket_width: WordPieces; batches are padded to a multiple of it.
    hidden_size: of the encoder, for the costs.
    max_positions: WordPieces that the encoder reads at most; no longer
      max_seq_length is compared with the chosen one.
  """

  window_options: WindowOptions
  max_answer_length: int = 30
  bucket_width: int = 32
  hidden_size: int = 768
  max_positions: int = 512


def lint_windows(linted, tokenizer, settings):
  """Finds what the windows cut and what the vocabulary does not know.

  Args:
    linted: `LintedFile` with at least one question.
    tokenizer: `WordPieceTokenizer`.
    settings: `LintSettings`.

  Returns:
    List of `Finding`, and a dict of figures that JSON can hold: wordpieces,
    windows_per_question, max_seq_lengths, unknown.
  """
  unknown = UnknownWords(tokenizer)
  lengths = measure_tokens(
    examples_to_learn(linted.examples), tokenizer, unknown.add
  )
  places = place_windows(
    lengths.question, lengths.context, settings.window_options
  )
  figures = {
    "wordpieces": summaries(
      question=lengths.question,
      passage=lengths.passage,
      answer=lengths.answer[lengths.has_answer],
    ),
    "windows_per_question": summaries(
      windows=np.bincount(places.example_index, minlength=len(linted.examples))
    )["windows"],
    "max_seq_lengths": _compared(lengths, settings),
    "unknown": _unknown_figures(unknown, linted.examples),
  }
  findings = _length_findings(linted, lengths, places, settings)
  if figures["unknown"]["token_share"] >= _MANY_UNKNOWN:
    findings.append(_many_unknown(figures["unknown"]))
  return findings, figures


def _length_findings(linted, lengths, places, settings):
  """What is too long, or without a token, question by question."""
  options = settings.window_options

  def answer(index):
    text = first_located(linted.examples[index]).text
    return f"{shortened(text)}, {lengths.answer[index]} WordPieces"

  def question(index):
    text = linted.examples[index].question
    return f"{shortened(text)}, {lengths.question[index]} WordPieces"

  # In escapes: what BERT drops is mostly invisible.
  def passage(index):
    return ascii(linted.examples[index].context[:20])

  def answer_text(index):
    return ascii(first_located(linted.examples[index]).text[:20])

  blank = np.array([not e.context.strip() for e in linted.examples])
  checks = (
    (kinds.NO_WINDOW, (lengths.context == 0) & ~blank, passage),
    (
      kinds.ANSWER_WITHOUT_TOKEN,
      lengths.without_token & (lengths.context > 0),
      answer_text,
    ),
    (kinds.ANSWER_CUT, answers_cut(places, lengths), answer),
    (
      kinds.ANSWER_TOO_LONG,
      lengths.answer > settings.max_answer_length,
      answer,
    ),
    (
      kinds.QUESTION_CUT,
      lengths.question > options.max_query_length,
      question,
    ),
  )
  return [
    linted.finding(kind, int(index), detail(index))
    for kind, applies, detail in checks
    for index in np.flatnonzero(applies)
  ]


def _compared(lengths, settings):
  """A dict of `WindowCost` for every max_seq_length worth a look.

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
      settings.bucket_width,
      settings.hidden_size,
    )
    for length in sorted({*fitting, chosen.max_seq_length})
  }
  unit = costs[chosen.max_seq_length].bucket_cost or 1.0
  return [
    {
      **dataclasses.asdict(cost),
      "bucket_cost": round(cost.bucket_cost / unit, 4),
      "padded_cost": round(cost.padded_cost / unit, 4),
    }
    for cost in costs.values()
  ]


def _unknown_figures(unknown, examples):
  def rows(found):
    return [
      {"text": text, "count": count, "question_id": examples[index].qas_id}
      for text, count, index in found[:_NUM_EXAMPLES]
    ]

  # A word of one character stands among the characters.
  words = [row for row in unknown.words() if len(row[0]) > 1]
  characters = unknown.characters()
  return {
    "tokens": unknown.num_tokens,
    "unknown_tokens": unknown.num_unknown_tokens,
    "token_share": _share(unknown.num_unknown_tokens, unknown.num_tokens),
    "characters": unknown.num_characters,
    "unknown_characters": unknown.num_unknown_characters,
    "character_share": _share(
      unknown.num_unknown_characters, unknown.num_characters
    ),
    "distinct_words": len(words),
    "distinct_characters": len(characters),
    "most_frequent_words": rows(words),
    "most_frequent_characters": rows(characters),
  }


def _share(part, whole):
  return round(part / whole, 6) if whole else 0.0


def _many_unknown(figures):
  percent = 100 * figures["token_share"]
  return Finding(
    kinds.MANY_UNKNOWN_WORDS,
    "all texts",
    f"{percent:.1f} % of the WordPieces are [UNK], see the end of this report",
  )
