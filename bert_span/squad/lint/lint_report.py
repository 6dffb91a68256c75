"""The report of lint_squad: a JSON object, and the same as text."""

from bert_span.squad.findings import (
  ERROR,
  NOTE,
  SEVERITIES,
  WARNING,
  FindingKind,
  counted,
)
from bert_span.squad.lint.tables import (
  cost_table,
  length_table,
  unknown_block,
  wrapped,
)


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
    groups[finding.kind].append(finding)
  return {
    "file": linted.path,
    "format": "2.0" if linted.version_2 else "1.1",
    "articles": linted.num_articles,
    "passages": linted.num_passages,
    "questions": len(linted.examples),
    "unanswerable": sum(e.is_impossible for e in linted.examples),
    "counts": {
      severity: sum(f.kind.severity == severity for f in findings)
      for severity in SEVERITIES
    },
    "findings": [
      {
        "kind": kind.name.lower(),
        "severity": kind.severity,
        "count": len(group),
        "message": kind.summary(len(group)),
        "remedy": kind.remedy,
        "places": [
          {
            "place": finding.place,
            "detail": finding.detail,
            "question_id": finding.qas_id,
            "path": finding.json_path,
            "repair": finding.repair,
          }
          for finding in group
        ],
      }
      for kind, group in groups.items()
      if group
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
      wrapped(
        "Not checked without a vocabulary: lengths in WordPieces, windows, cut "
        "answers, [UNK]. Give --preset (for instance "
        "--preset=all-minilm-l6-v2) or --vocab_file."
      )
    )
  if report["repair"]:
    repair = report["repair"]
    blocks.append(
      wrapped(
        f"{counted(repair['changes'], 'change')} made in "
        f"{repair['output_file']}, logged in {repair['log_file']}. Errors and "
        "warnings left to correct by hand: "
        f"{count_left(report, ERROR, WARNING):,}."
      )
    )
  return "\n\n".join(blocks)


def _finding_block(finding, num_places):
  """One kind of finding: what, the first places, what to do."""
  severity, places = finding["severity"], finding["places"]
  named = {ERROR: len(places), WARNING: num_places, NOTE: 0}[severity]
  lines = [wrapped(f"{severity.upper()}: {finding['message']}.")]
  for place in places[:named]:
    parts = [part for part in (place["place"], place["detail"]) if part]
    if parts:
      lines.append("  " + ": ".join(parts))
  if 0 < named < len(places):
    lines.append(f"  and {len(places) - named:,} more")
  return "\n".join([*lines, wrapped("-> " + finding["remedy"], "   ")])
