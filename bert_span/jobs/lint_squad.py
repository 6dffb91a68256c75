"""Checks a SQuAD file, repairs it, prints a report.

Without a vocabulary it does not load TensorFlow.
"""

import dataclasses
import json

from bert_span.reporting import lint_report
from bert_span.reporting.linter import lint_squad_file, repair_squad_file
from bert_span.squad.findings import ERROR, WARNING
from bert_span.squad.rules import with_answer_to_learn
from bert_span.storage.log import log_line


def lint(path, options, settings=None):
  """Prints the report on a file; returns whether it, or its copy, passes.

  `options` are `LintOptions`, `settings` the `LintSettings` of a vocabulary.
  """
  linted = lint_squad_file(path)
  findings, figures, shown, repair = linted.findings, {}, None, None
  if linted.examples:
    learned = list(map(with_answer_to_learn, linted.examples))
    figures["characters"] = lint_report.summaries(
      question=[len(example.question) for example in learned],
      passage=[len(context) for context in {e.context for e in learned}],
      answer=[len(answer.text) for e in learned for answer in e.answers],
    )
    if settings:
      log_line(f"Checking the windows of {len(learned):,} questions ...")
      more_findings, more_figures, shown = _check_windows(linted, settings)
      findings, figures = findings + more_findings, figures | more_figures
    if options.fix:
      output_file = (
        options.output_file or path.removesuffix(".json") + ".fixed.json"
      )
      log_file = output_file.removesuffix(".json") + ".changes.jsonl"
      changes = repair_squad_file(linted, output_file, log_file)
      repair = {"output_file": output_file, "log_file": log_file}
      repair["changes"] = len(changes)
  report = lint_report.report_object(linted, findings, figures, shown, repair)
  if options.as_json:
    print(json.dumps(report))
  else:
    print(lint_report.report_text(report, options.num_places))
  if options.fix and not repair:
    log_line("lint_squad: no copy was written.")
  severities = [ERROR, WARNING] if options.strict else [ERROR]
  return not lint_report.count_left(report, *severities)


def _check_windows(linted, settings):
  """Findings, figures and settings of the checks that need a vocabulary."""
  # Load TensorFlow: seconds, which a check without a vocabulary does not need.
  from bert_span.modeling.encoder import check_sequence_length
  from bert_span.presets.load_pretrained import load_pretrained
  from bert_span.presets.vocabulary_files import load_vocabulary
  from bert_span.reporting.window_lint import lint_windows

  options, lower_case = settings.window_options, settings.do_lower_case
  if settings.preset:
    loaded = load_pretrained(settings.preset)
    vocabulary = loaded.vocabulary()
    check_sequence_length(loaded.backbone, options.max_seq_length)
    lower_case = loaded.lower_case if lower_case is None else lower_case
  else:
    vocabulary = load_vocabulary(settings.vocab_file)
  lower_case = lower_case is not False
  findings, figures = lint_windows(linted, vocabulary, lower_case, settings)
  shown = {
    "vocabulary": settings.preset or settings.vocab_file,
    "do_lower_case": lower_case,
    **dataclasses.asdict(options),
    "max_answer_length": settings.max_answer_length,
  }
  return findings, figures, shown
