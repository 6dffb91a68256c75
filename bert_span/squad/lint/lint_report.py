"""What lint_squad tells: a text for people, an object for programs."""

import dataclasses

from bert_span.squad.lint.findings import (
  ERROR,
  NOTE,
  SEVERITIES,
  WARNING,
  by_kind,
)
from bert_span.squad.lint.linter import LintedFile
from bert_span.squad.lint.tables import (
  cost_table,
  counted,
  length_table,
  unknown_block,
  wrapped,
)

_WITHOUT_VOCABULARY = (
  "Not checked without a vocabulary: lengths in WordPieces, windows, cut "
  "answers, [UNK]. Give --preset (for instance --preset=all-minilm-l6-v2) or "
  "--vocab_file."
)


@dataclasses.dataclass(frozen=True)
class LintReport:
  """All that is known of a file.

  Attributes:
    linted: `LintedFile`.
    findings: all findings, those on windows included.
    figures: dict, see `report_object`.
    settings: dict of what windows were counted with; None without vocabulary.
    repair: dict of output_file, log_file and changes; None without --fix.
  """

  linted: LintedFile
  findings: list
  figures: dict
  settings: dict | None = None
  repair: dict | None = None

  def count(self, severity):
    """How many findings of a severity there are."""
    return sum(f.kind.severity == severity for f in self.findings)

  def count_left(self, severity):
    """How many of them the written copy still has; all without one."""
    repaired = self.repair is not None
    return sum(
      f.kind.severity == severity and not (repaired and f.repair is not None)
      for f in self.findings
    )


def report_object(report):
  """The report as one object of JSON.

  Keys: file, format ("1.1" or "2.0"), articles, passages, questions,
  unanswerable; counts (severity -> findings); findings, by importance, each
  with kind, severity, count, message, remedy and places (place, detail,
  question_id, path, repair); settings; figures (characters, wordpieces,
  windows_per_question, max_seq_lengths, unknown); repair. Lengths have count,
  mean, p50, p90, p95, p99 and max; max_seq_lengths has the fields of
  `WindowCost`, its costs relative to the chosen length with buckets. Settings,
  and all of figures but characters, need a vocabulary. Keys may be added, none
  is renamed.

  Args:
    report: `LintReport`.

  Returns:
    Dict.
  """
  return {
    **_file_counts(report.linted),
    "counts": {severity: report.count(severity) for severity in SEVERITIES},
    "findings": [
      {
        "kind": kind.name,
        "severity": kind.severity,
        "count": len(group),
        "message": _clause(kind, group),
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
      for kind, group in by_kind(report.findings).items()
    ],
    "settings": report.settings,
    "figures": report.figures,
    "repair": report.repair,
  }


def report_text(report, num_places=3):
  """The report as text: findings by importance, then figures.

  Args:
    report: `LintReport`.
    num_places: places named of each kind of warning; of errors all are, of
      notes none.

  Returns:
    Lines of at most 80 columns, apart from places.
  """
  blocks = [_head(report)]
  blocks += [
    _finding_block(kind, group, num_places)
    for kind, group in by_kind(report.findings).items()
  ]
  if report.figures:
    blocks.append(length_table(report.figures))
  if report.settings:
    blocks.append(cost_table(report.figures, report.settings))
    blocks.append(unknown_block(report.figures["unknown"]))
  elif report.linted.examples:
    blocks.append(wrapped(_WITHOUT_VOCABULARY))
  if report.repair:
    blocks.append(_repair_block(report))
  return "\n\n".join(blocks)


def _file_counts(linted):
  return {
    "file": linted.path,
    "format": "2.0" if linted.version_2 else "1.1",
    "articles": linted.num_articles,
    "passages": linted.num_passages,
    "questions": len(linted.examples),
    "unanswerable": sum(e.is_impossible for e in linted.examples),
  }


def _head(report):
  linted = report.linted
  lines = [linted.path]
  if linted.examples:
    file = _file_counts(linted)
    lines[0] += f": SQuAD {file['format']}"
    for noun in ("article", "passage", "question"):
      lines[0] += f", {counted(file[noun + 's'], noun)}"
    if file["unanswerable"]:
      lines[0] += f" ({file['unanswerable']:,} unanswerable)"
  counts = [counted(report.count(name), name) for name in SEVERITIES]
  lines.append(", ".join(counts) + ".")
  return "\n".join(lines)


def _clause(kind, group):
  return f"{len(group):,} {kind.one if len(group) == 1 else kind.many}"


def _finding_block(kind, group, num_places):
  """A kind of finding: what, where first, what to do."""
  named = {ERROR: len(group), WARNING: num_places, NOTE: 0}
  shown = group[: named[kind.severity]]
  lines = [f"{kind.severity.upper()}: {_clause(kind, group)}."]
  for finding in shown:
    parts = [part for part in (finding.place, finding.detail) if part]
    if parts:
      lines.append("  " + ": ".join(parts))
  if shown and len(shown) < len(group):
    lines.append(f"  and {len(group) - len(shown):,} more")
  lines = [wrapped(lines[0]), *lines[1:], wrapped("-> " + kind.remedy, "   ")]
  return "\n".join(lines)


def _repair_block(report):
  repair = report.repair
  left = report.count_left("error") + report.count_left("warning")
  return wrapped(
    f"{counted(repair['changes'], 'change')} made in {repair['output_file']}, "
    f"logged in {repair['log_file']}. Errors and warnings that are left to "
    f"people: {left:,}."
  )
