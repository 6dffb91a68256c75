"""The report of lint_squad: a JSON object, and the same as text."""

import textwrap

import numpy as np

from bert_span.options.messages import shortened
from bert_span.reporting.score_table import text_table
from bert_span.squad.findings import (
  ERROR,
  SEVERITIES,
  WARNING,
  FindingKind,
  counted,
)

PERCENTILES = (50, 90, 95, 99)


def report_object(linted, findings, figures, settings=None, repair=None):
  """Makes the report as one JSON object.

  Keys: file, format ("1.1" or "2.0"), articles, passages, questions,
  unanswerable; counts (severity -> findings); findings, by importance, each
  with kind, severity, count, message, remedy and places (place, detail,
  question_id, path, repair); settings; figures (characters, wordpieces,
  windows_per_question, max_seq_lengths, unknown); repair. Lengths have count,
  mean, p50, p90, p95, p99 and max; max_seq_lengths has the fields of
  `window_cost`, its costs relative to the chosen length with buckets. Settings,
  and all of figures but characters, need a vocabulary. Keys may be added, none
  is renamed.
  """
  groups = {kind: [] for kind in FindingKind}
  for finding in findings:
    groups[finding.kind].append(
      {
        "place": finding.place,
        "detail": finding.detail,
        "question_id": finding.qas_id,
        "path": finding.json_path,
        "repair": finding.repair,
      }
    )
  severities = [finding.kind.severity for finding in findings]
  return {
    "file": linted.path,
    "format": "2.0" if linted.version_2 else "1.1",
    "articles": linted.num_articles,
    "passages": linted.num_passages,
    "questions": len(linted.examples),
    "unanswerable": sum(e.is_impossible for e in linted.examples),
    "counts": {name: severities.count(name) for name in SEVERITIES},
    "findings": [
      {
        "kind": kind.name.lower(),
        "severity": kind.severity,
        "count": len(places),
        "message": kind.summary(len(places)),
        "remedy": kind.remedy,
        "places": places,
      }
      for kind, places in groups.items()
      if places
    ],
    "settings": settings,
    "figures": figures,
    "repair": repair,
  }


def count_left(report, *severities):
  """The number of findings that the repaired copy, if any, still has."""
  return sum(
    report["repair"] is None or place["repair"] is None
    for finding in report["findings"]
    for place in finding["places"]
    if finding["severity"] in severities
  )


def report_text(report, num_places=3):
  """The report as text: findings by importance, then figures.

  It names num_places places of each kind of warning, all of errors, none of
  notes. Lines have at most 80 columns, except for places and tables.
  """
  head = report["file"]
  if report["questions"]:
    head += f": SQuAD {report['format']}"
    for noun in ("article", "passage", "question"):
      head += f", {counted(report[noun + 's'], noun)}"
    if report["unanswerable"]:
      head += f" ({report['unanswerable']:,} unanswerable)"
  counts = [counted(count, name) for name, count in report["counts"].items()]
  blocks = [f"{head}\n{', '.join(counts)}."]
  blocks += [_finding_block(f, num_places) for f in report["findings"]]
  if report["figures"]:
    blocks.append(length_table(report["figures"]))
  if report["settings"]:
    blocks.append(cost_table(report["figures"], report["settings"]))
    blocks.append(unknown_block(report["figures"]["unknown"]))
  elif report["questions"]:
    blocks.append(
      "Not checked without a vocabulary: lengths in WordPieces, windows, cut\n"
      "answers, [UNK]. Give --preset=all-minilm-l6-v2, or --vocab_file."
    )
  if repair := report["repair"]:
    left = count_left(report, ERROR, WARNING)
    blocks.append(
      _wrapped(
        f"{counted(repair['changes'], 'change')} made in "
        f"{repair['output_file']}, logged in {repair['log_file']}. Errors and "
        f"warnings left to correct by hand: {left:,}."
      )
    )
  return "\n\n".join(blocks)


def _finding_block(finding, num_places):
  """One kind of finding: what, the first places, what to do."""
  severity, places = finding["severity"], finding["places"]
  named = {ERROR: len(places), WARNING: num_places}.get(severity, 0)
  lines = [_wrapped(f"{severity.upper()}: {finding['message']}.")]
  for place in places[:named]:
    text = ": ".join(filter(None, (place["place"], place["detail"])))
    lines += [f"  {text}"] if text else []
  if 0 < named < len(places):
    lines.append(f"  and {len(places) - named:,} more")
  return "\n".join([*lines, _wrapped("-> " + finding["remedy"], "   ")])


def length_summary(lengths):
  """Dict of count, mean, p50, p90, p95, p99 and max of a sequence of integers.

  Percentile p is the least length that p % of all do not exceed. Of 1, 2, ..
  100 the mean is 50.5, p50 is 50, p95 is 95, max is 100.
  """
  lengths = np.asarray(lengths)
  levels = np.percentile(lengths, PERCENTILES, method="inverted_cdf")
  return {
    "count": len(lengths),
    "mean": round(float(lengths.mean()), 2),
    **{f"p{p}": int(n) for p, n in zip(PERCENTILES, levels, strict=True)},
    "max": int(lengths.max()),
  }


def summaries(**lengths):
  """Dict of `length_summary` by name, without names that have no length."""
  return {n: length_summary(x) for n, x in lengths.items() if len(x)}


def _wrapped(text, indent=""):
  """Breaks text into lines of at most 80 columns, all but one indented."""
  return textwrap.fill(
    text,
    80,
    subsequent_indent=indent,
    break_long_words=False,
    break_on_hyphens=False,
  )


def length_table(figures):
  """A table of the lengths of questions, passages, answers and windows."""
  rows = [["LENGTHS", "count", "mean", *(f"{p} %" for p in PERCENTILES), "max"]]

  def add(label, summary):
    count, _, *lengths = (f"{n:,}" for n in summary.values())
    rows.append([label, count, f"{summary['mean']:,.1f}", *lengths])

  for title in ("WordPieces", "characters"):
    for name, summary in figures.get(title.lower(), {}).items():
      add(f"{name}, {title}", summary)
  if "windows_per_question" in figures:
    add("question, windows", figures["windows_per_question"])
  return f"{text_table(rows)}\nColumn 95 %: of 100, 95 are no longer than this."


def cost_table(figures, settings):
  """A table of what each max_seq_length costs; the chosen one is marked."""
  width = settings["length_bucket"]
  rows = [
    [
      *("MAX_SEQ\n_LENGTH", "\nwindows", "without\nanswer", "answers\ncut"),
      *(f"WordPieces,\nto {width}s", "padded\nto max"),
      *(f"cost\nto {width}s", "\nto max"),
    ]
  ]
  for row in figures["max_seq_lengths"]:
    length, wordpieces = row["max_seq_length"], row["wordpieces"]
    counts = ("windows", "answerless_windows", "answers_cut")
    paddings = ("bucket_wordpieces", "padded_wordpieces")
    rows.append(
      [
        f"{length} <" if length == settings["max_seq_length"] else f"{length}",
        *(f"{row[name]:,}" for name in counts),
        *(_padded(wordpieces, row[name]) for name in paddings),
        *(f"{row[name]:.2f}" for name in ("bucket_cost", "padded_cost")),
      ]
    )
  explanation = _wrapped(
    f"With --doc_stride={settings['doc_stride']} and --max_query_length="
    f"{settings['max_query_length']}. Without answer: windows of answerable "
    "questions that do not hold the answer; they train as null answers. "
    "WordPieces: after padding, with the share of padding, when batches are "
    f"padded to a multiple of {width} (--length_buckets) and when all are "
    "padded to max_seq_length. Cost: multiplications of the encoder, the sum "
    "over windows of padded length L of L (1 + L / (6 * "
    f"{settings['hidden_size']})), relative to the row marked <, with length "
    "buckets."
  )
  return f"{text_table(rows)}\n{explanation}"


def unknown_block(unknown):
  """The share of [UNK], with the most frequent characters and words."""
  shares = []
  for name, noun in ("token", "WordPieces"), ("character", "characters"):
    part, whole = unknown[f"unknown_{name}s"], unknown[f"{name}s"]
    share = unknown[f"{name}_share"]
    percent = f"{100 * share:.2f} %" if not 0 < share < 1e-4 else "under 0.01 %"
    shares.append(f"{percent} of {noun} ({part:,} of {whole:,})")
  lines = [_wrapped(f"[UNK]: {', '.join(shares)}.")]
  for name, noun in (
    ("characters", "distinct unknown character"),
    ("words", "longer unknown word"),
  ):
    rows = unknown[f"most_frequent_{name}"][:5]
    if count := unknown[f"distinct_{name}"]:
      most_frequent = ", the most frequent" if count > len(rows) else ""
      lines.append(f"{counted(count, noun)}{most_frequent}:")
    for row in rows:
      shown = shortened(row["text"])
      if len(row["text"]) == 1:
        shown += f" U+{ord(row['text']):04X}"  # It may be invisible.
      where = f"first in question {row['question_id']!r}"
      lines.append(f"  {row['count']:>7,}  {shown}, {where}")
  return "\n".join(lines)


def _padded(wordpieces, padded):
  """Such as "1.21M 14 %": all WordPieces, and the share of padding."""
  if not padded:
    return "0"
  total = f"{padded / 1e6:.2f}M" if padded >= 1e6 else f"{padded / 1e3:.1f}k"
  return f"{total} {100 * (1 - wordpieces / padded):.0f} %"
