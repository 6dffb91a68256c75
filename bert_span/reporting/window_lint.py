"""Finds texts that windows cut, and words that a vocabulary lacks."""

import numpy as np

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.data.window_batches import labelled_batches
from bert_span.options.messages import shortened
from bert_span.reporting.lint_report import summaries
from bert_span.squad.findings import Finding, FindingKind
from bert_span.squad.rules import with_answer_to_learn
from bert_span.storage.files import encodable
from bert_span.text.options import WindowOptions

# A window that contains a whole passage, so that nothing is cut.
_WHOLE_PASSAGES = WindowOptions(
  max_seq_length=1_000_000, doc_stride=500_000, max_query_length=100_000
)
# With an English vocabulary, 0.02 % of SQuAD's WordPieces are [UNK].
_MANY_UNKNOWN = 0.01


def lint_windows(linted, vocabulary, lower_case, options, max_answer_length=30):
  """Checks a `LintedFile` that has a question, by `WindowOptions`.

  Returns a list of `Finding`, and the `summaries` of lengths.
  """
  examples = list(map(with_answer_to_learn, linted.examples))
  preprocessor = SpanPreprocessor(vocabulary, lower_case, options)
  lengths, unknown_share = _measure(examples, preprocessor)
  # Answers that are in no window are measured in whole passages.
  cut = (lengths["answer"] == 0) & [bool(e.answers) for e in examples]
  whole = SpanPreprocessor(vocabulary, lower_case, _WHOLE_PASSAGES)
  cut_lengths, _ = _measure([examples[i] for i in np.flatnonzero(cut)], whole)
  lengths["answer"][cut] = cut_lengths["answer"]
  contexts = [example.context for example in examples]
  questions = [example.question for example in examples]
  tokens = preprocessor.tokenizer(list(map(encodable, questions)))
  question_lengths = tokens.ids.row_lengths().numpy()
  answers = [e.answers[0].text if e.answers else "" for e in examples]
  is_empty = lengths["context"] == 0
  has_token = lengths["answer"] > 0
  findings = []

  def add(kind, applies, texts, counts=None):
    for index in np.flatnonzero(applies):
      if counts is None:
        # Characters that BERT drops are often invisible.
        detail = ascii(texts[index][:20])
      else:
        detail = f"{shortened(texts[index])}, {counts[index]} WordPieces"
      findings.append(linted.finding(kind, int(index), detail))

  blank = is_empty & [bool(context.strip()) for context in contexts]
  add(FindingKind.NO_WINDOW, blank, contexts)
  add(FindingKind.ANSWER_WITHOUT_TOKEN, cut & ~has_token & ~is_empty, answers)
  add(FindingKind.ANSWER_CUT, cut & has_token, answers, lengths["answer"])
  is_long = lengths["answer"] > max_answer_length
  add(FindingKind.ANSWER_TOO_LONG, is_long, answers, lengths["answer"])
  is_long = question_lengths > options.max_query_length
  add(FindingKind.QUESTION_CUT, is_long, questions, question_lengths)
  if unknown_share >= _MANY_UNKNOWN:
    detail = f"{100 * unknown_share:.1f} % of the WordPieces are [UNK]"
    kind = FindingKind.MANY_UNKNOWN_WORDS
    findings.append(Finding(kind, "all texts", detail))
  passages = dict(zip(contexts, lengths["context"], strict=True))
  return findings, {
    "wordpieces": summaries(
      question=question_lengths,
      passage=list(passages.values()),
      answer=lengths["answer"][has_token],
    ),
    **summaries(windows_per_question=lengths["windows"]),
  }


def _measure(examples, preprocessor):
  """Counts windows and WordPieces of examples with one answer at most.

  Returns:
    Dict of int [examples]: windows; context, WordPieces of the passage; answer,
    WordPieces of the answer, 0 if no window contains it or it has no token.
    The share of [UNK] in all windows, from 0 to 1.
  """
  zeros = np.zeros([3, len(examples)], int)
  counts = dict(zip(("windows", "context", "answer"), zeros, strict=True))
  num_tokens = num_unknown = first = 0
  # Byte pairs have no [UNK].
  unknown_id = getattr(preprocessor.tokenizer, "unknown_id", -1)
  for batch, windows, labels, _ in labelled_batches(examples, preprocessor):
    index = first + windows["example_index"]
    first += len(batch)
    np.add.at(counts["windows"], index, 1)
    context_end = windows["context_start"] + windows["context_length"]
    np.maximum.at(counts["context"], index, context_end)
    # Position 0 means that there is no answer, -1 that it has no token.
    start, end = labels["start_positions"], labels["end_positions"]
    answer = np.where(start > 0, end - start + 1, 0)
    np.maximum.at(counts["answer"], index, answer)
    num_tokens += windows["padding_mask"].sum()
    num_unknown += (windows["token_ids"] == unknown_id).sum()
  return counts, num_unknown / max(num_tokens, 1)
