"""The checks of the conformance report, and the report as text."""

from collections.abc import Callable
from typing import NamedTuple

from bert_span.certificate.decoding_checks import (
  compare_decoding,
  compare_null_odds,
)
from bert_span.certificate.model_checks import (
  compare_fine_tuning,
  compare_model,
  compare_optimizer,
)
from bert_span.certificate.score_checks import compare_scores
from bert_span.certificate.text_checks import compare_tokens, compare_windows
from bert_span.reporting.score_table import text_table


class Check(NamedTuple):
  number: int
  title: str
  compare: Callable  # yields the `Comparison`s of `GoldenFiles`
  # Key of the configurations file without which there is nothing to compare.
  part: str | None = None


def compare_edge_cases(goldens):
  """Windows, answers and odds of the passages written to be difficult."""
  for compare in (compare_windows, compare_decoding, compare_null_odds):
    yield from compare(goldens, goldens.edge_cases)


CHECKS = (
  Check(1, "Tokenization", compare_tokens),
  Check(2, "Windows and labels", lambda g: compare_windows(g, g.ordinary)),
  Check(3, "Model function, loss, training", compare_model),
  Check(4, "Optimizer", compare_optimizer),
  Check(5, "Decoding", lambda g: compare_decoding(g, g.ordinary)),
  Check(6, "Metrics", compare_scores),
  Check(7, "Null odds", lambda g: compare_null_odds(g, g.ordinary)),
  Check(8, "Edge cases", compare_edge_cases),
  Check(9, "A fine-tuning run", compare_fine_tuning, "fine_tuning"),
)
# What the original does, what is done here, and the flag that changes it.
DIFFERENCES = (
  (
    'the word "empty" for a question without a possible span',
    "no answer",
    "--no_span=original",
  ),
  (
    "an exception for such a question with --version_2_with_negative",
    "no answer, null odds 1e6",
    "--no_span=original",
  ),
  (
    "windows without the answer trained as unanswerable, unlike its comment",
    "the same",
    "--drop_answerless_windows leaves them out",
  ),
  (
    "Adam without bias correction",
    "the same",
    "--adam_bias_correction corrects it",
  ),
  (
    "gradients clipped by a norm that does not sum the word embedding's rows "
    "of a repeated token",
    "by the norm of the summed gradient",
    "--clip_by_unsummed_embeddings",
  ),
  (
    "the learning rate before or after the step is counted (a race)",
    "always before",
    "--learning_rate_after_step",
  ),
  (
    "all windows padded to max_seq_length",
    "batches of similar length, padded to a multiple of 32",
    "--length_buckets=none",
  ),
)


def passes(comparisons):
  return bool(comparisons) and all(c.passes for c in comparisons)


def format_report(sources, results):
  """The report of (`Check`, list of `Comparison`) on sources, sentences."""
  rows = [("", "cases", "equal", "largest difference", "limit", "result")]
  for check, comparisons in results:
    title = f"{check.number}  {check.title}"
    rows.append((title, "", "", "", "", _result(passes(comparisons))))
    rows += [_row(comparison) for comparison in comparisons]
  lines = [*sources, "", text_table(rows)]
  for check, comparisons in results:
    remarks = [
      f"  FAILS {c.name}: {failure}"
      for c in comparisons
      for failure in c.failures
    ]
    remarks += [f"  {note}" for c in comparisons for note in c.notes]
    if remarks:
      lines += ["", f"Check {check.number}", *remarks]
  lines += ["", "Deliberate differences from the original, and their flags"]
  lines += [f"  {theirs}: here {ours}; {f}" for theirs, ours, f in DIFFERENCES]
  return "\n".join(lines) + "\n"


def _row(comparison):
  difference = limit = ""
  if comparison.limit is not None:
    difference = f"{comparison.largest_difference:.1e}"
    limit = f"{comparison.limit:g}"
  elif comparison.max_unequal:
    limit = f"{comparison.max_unequal:,} may differ"
  counts = f"{comparison.cases:,}", f"{comparison.equal:,}"
  result = _result(comparison.passes)
  return (f"     {comparison.name}", *counts, difference, limit, result)


def _result(is_passed):
  return "passes" if is_passed else "FAILS"
