"""Finds what windows cut and what the vocabulary lacks in a linted file."""

import numpy as np

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.data.window_batches import labelled_batches
from bert_span.lint.lint_report import summaries
from bert_span.options.messages import shortened
from bert_span.squad.findings import Finding, FindingKind
from bert_span.squad.rules import with_answer_to_learn
from bert_span.storage.files import encodable
from bert_span.text.options import WindowOptions
from bert_span.text.windows import SlidingWindows

# In such windows nothing is cut: a window holds a whole passage.
WHOLE_PASSAGES = WindowOptions(
  max_seq_length=1_000_000, doc_stride=500_000, max_query_length=100_000
)
# Of SQuAD's WordPieces 0.02 % are [UNK] with an English vocabulary.
_MANY_UNKNOWN = 0.01


def lint_windows(linted, vocabulary, lower_case, settings):
  """Checks a `LintedFile` that has a question, by `LintSettings`.

  Returns a list of `Finding`, and a dict of the lengths, by `summaries`.
  """
  examples = list(map(with_answer_to_learn, linted.examples))
  options = settings.window_options
  preprocessor = SpanPreprocessor(
    vocabulary, lower_case, options=WHOLE_PASSAGES
  )
  lengths, unknown_share = measure_tokens(examples, preprocessor)
  num_windows, is_held = place_windows(
    lengths, options, preprocessor.tokenizer.num_separators
  )
  contexts = [example.context for example in examples]
  questions = [example.question for example in examples]
  answers = [e.answers[0].text if e.answers else "" for e in examples]
  is_empty = lengths["context"] == 0
  has_token = lengths["answer"] > 0
  findings = []

  def add(kind, applies, texts, counts=None):
    for index in np.flatnonzero(applies):
      if counts is None:
        detail = ascii(texts[index][:20])  # What BERT drops is often invisible.
      else:
        detail = f"{shortened(texts[index])}, {counts[index]} WordPieces"
      findings.append(linted.finding(kind, int(index), detail))

  add(
    FindingKind.NO_WINDOW,
    is_empty & [bool(context.strip()) for context in contexts],
    contexts,
  )
  add(
    FindingKind.ANSWER_WITHOUT_TOKEN,
    ~is_empty & ~has_token & [bool(e.answers) for e in examples],
    answers,
  )
  for kind, applies, texts, counts in (
    (FindingKind.ANSWER_CUT, has_token & ~is_held, answers, "answer"),
    (
      FindingKind.ANSWER_TOO_LONG,
      lengths["answer"] > settings.max_answer_length,
      answers,
      "answer",
    ),
    (
      FindingKind.QUESTION_CUT,
      lengths["question"] > options.max_query_length,
      questions,
      "question",
    ),
  ):
    add(kind, applies, texts, lengths[counts])
  if unknown_share >= _MANY_UNKNOWN:
    detail = f"{100 * unknown_share:.1f} % of the WordPieces are [UNK]"
    kind = FindingKind.MANY_UNKNOWN_WORDS
    findings.append(Finding(kind, "all texts", detail))
  return findings, {
    "wordpieces": summaries(
      question=lengths["question"],
      passage=list(
        dict(zip(contexts, lengths["context"], strict=True)).values()
      ),
      answer=lengths["answer"][has_token],
    ),
    **summaries(windows_per_question=num_windows),
  }


def measure_tokens(examples, preprocessor):
  """Counts the WordPieces of examples with one answer at most.

  The windows of the `SpanPreprocessor` must hold whole passages.

  Returns:
    Dict of int [examples]: question, context and answer, WordPieces before
    anything is cut; answer_start, the answer's first token in the passage. An
    answer of 0 WordPieces is none, or has no token.
    The share of [UNK] in the windows of all questions, from 0 to 1.
  """
  questions = [encodable(example.question) for example in examples]
  zeros = np.zeros([3, len(examples)], int)
  lengths = dict(zip(("context", "answer_start", "answer"), zeros, strict=True))
  num_tokens = num_unknown = first = 0
  # Byte pairs have no [UNK].
  unknown_id = getattr(preprocessor.tokenizer, "unknown_id", -1)
  for batch, windows, labels, _ in labelled_batches(examples, preprocessor):
    index = first + windows["example_index"]
    first += len(batch)
    start, end = labels["start_positions"], labels["end_positions"]
    begin = windows["context_start"]
    np.maximum.at(lengths["context"], index, begin + windows["context_length"])
    # Position 0 means that there is no answer, -1 that it has no token.
    held, of_held = start > 0, index[start > 0]
    shift = begin - windows["first_context_position"]
    lengths["answer_start"][of_held] = (start + shift)[held]
    lengths["answer"][of_held] = (end - start + 1)[held]
    num_tokens += windows["input_mask"].sum()
    num_unknown += (windows["input_ids"] == unknown_id).sum()
  lengths["question"] = (
    preprocessor.tokenizer(questions).ids.row_lengths().numpy()
  )
  return lengths, num_unknown / max(num_tokens, 1)


def place_windows(lengths, options, num_separators=1):
  """Counts the windows of each question, and finds answers that one holds.

  Returns int [examples], and bool [examples], for the lengths of
  `measure_tokens`.
  """
  sliding_windows = SlidingWindows(
    options, cls_id=0, sep_id=0, num_separators=num_separators
  )
  windows = sliding_windows.columns(
    np.minimum(lengths["question"], options.max_query_length).astype(np.int32),
    lengths["context"].astype(np.int32),
  )
  windows = {name: values.numpy() for name, values in windows.items()}
  example, begin = windows["example_index"], windows["context_start"]
  answer_start = lengths["answer_start"][example]
  answer_end = answer_start + lengths["answer"][example]
  holds = (lengths["answer"][example] > 0) & (answer_start >= begin)
  holds &= answer_end <= begin + windows["context_length"]
  num_examples = len(lengths["context"])
  return (
    np.bincount(example, minlength=num_examples),
    np.bincount(example[holds], minlength=num_examples) > 0,
  )
