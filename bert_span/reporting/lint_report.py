"""The report of lint_squad: a JSON object, and the same as text."""

import textwrap

import numpy as np

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

  Findings are sorted by importance. `settings`, and all `figures` except
  characters, need a vocabulary. Later versions may add keys but rename none.
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
  """Counts the findings that a repaired copy, or the file, still has."""
  return sum(
    report["repair"] is None or place["repair"] is None
    for finding in report["findings"]
    for place in finding["places"]
    if finding["severity"] in severities
  )


def report_text(report, num_places=3):
  """Returns the report as text.

  It lists num_places places of each kind of warning, all places of errors, and
  none of notes. Lines have at most 80 columns, except for places and tables.
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
  if report["questions"] and not report["settings"]:
    blocks.append(
      "Not checked without a vocabulary: lengths in WordPieces, windows, cut\n"
      "answers, [UNK]. Give preset=all-minilm-l6-v2, or a vocab_file."
    )
  if repair := report["repair"]:
    left = count_left(report, ERROR, WARNING)
    changes = counted(repair["changes"], "change")
    blocks.append(
      _wrapped(
        f"{changes} made in {repair['output_file']}, logged in "
        f"{repair['log_file']}. Errors and warnings left to correct by hand: "
        f"{left:,}."
      )
    )
  return "\n\n".join(blocks)


def _finding_block(finding, num_places):
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
  """Summarizes integers; p % of them are not above percentile p."""
  lengths = np.asarray(lengths)
  levels = np.percentile(lengths, PERCENTILES, method="inverted_cdf")
  return {
    "count": len(lengths),
    "mean": round(float(lengths.mean()), 2),
    **{f"p{p}": int(n) for p, n in zip(PERCENTILES, levels, strict=True)},
    "max": int(lengths.max()),
  }


def summaries(**lengths):
  """Returns `length_summary` by name, without empty lists of lengths."""
  return {n: length_summary(x) for n, x in lengths.items() if len(x)}


def _wrapped(text, indent=""):
  return textwrap.fill(
    text,
    80,
    subsequent_indent=indent,
    break_long_words=False,
    break_on_hyphens=False,
  )


def length_table(figures):
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
