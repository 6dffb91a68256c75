"""Checks a SQuAD file, repairs it, prints a report.

Without a vocabulary it does not load TensorFlow.
"""

import dataclasses
import json
import typing

from bert_span.reporting import lint_report
from bert_span.reporting.linter import lint_squad_file, repair_squad_file
from bert_span.squad.findings import ERROR, WARNING
from bert_span.squad.rules import with_answer_to_learn
from bert_span.storage.log import log_line
from bert_span.text.options import WindowOptions

if typing.TYPE_CHECKING:
  from bert_span.lint_squad import LintSquadOptions


def lint_squad(options: "LintSquadOptions"):
  """Prints the report on a file; returns whether it, or its copy, passes."""
  needs_windows = options.preset or options.vocab_file
  settings = _settings(options) if needs_windows else None
  linted = lint_squad_file(options.file)
  findings, figures = linted.findings, {}
  shown_settings = repair = None
  if linted.examples:
    learned = list(map(with_answer_to_learn, linted.examples))
    figures["characters"] = lint_report.summaries(
      question=[len(example.question) for example in learned],
      passage=[len(context) for context in {e.context for e in learned}],
      answer=[len(answer.text) for e in learned for answer in e.answers],
    )
    if settings:
      log_line(f"Checking the windows of {len(learned):,} questions ...")
      more_findings, more_figures, shown_settings = _check_windows(
        linted, options, *settings
      )
      findings, figures = findings + more_findings, figures | more_figures
    if options.fix:
      output_file = options.output_file
      log_file = f"{output_file}.changes.jsonl"
      changes = repair_squad_file(linted, output_file, log_file)
      repair = {"output_file": output_file, "log_file": log_file}
      repair["changes"] = len(changes)
  report = lint_report.report_object(
    linted, findings, figures, shown_settings, repair
  )
  if options.json:
    print(json.dumps(report))
  else:
    print(lint_report.report_text(report, options.num_places))
  if options.fix and not repair:
    log_line("lint_squad: no copy was written.")
  severities = [ERROR, WARNING] if options.strict else [ERROR]
  return not lint_report.count_left(report, *severities)


# These two load TensorFlow, which a check without a vocabulary does not need.
def _settings(options):
  """Returns windows, longest answer and case, as given or else as saved."""
  from bert_span.extractors.loading import saved_config

  config = saved_config(options.preset)
  windows, decoder = config.get("window", {}), config.get("decoder", {})
  windows = WindowOptions(**{**windows, **options.given(WindowOptions)})
  longest = options.max_answer_length
  if not options.is_given("max_answer_length"):
    longest = decoder.get("max_answer_length", longest)
  return windows, longest, config.get("do_lower_case", options.do_lower_case)


def _check_windows(linted, options, windows, longest, lower_case):
  """Returns findings, figures and settings of checks that need a vocabulary."""
  from bert_span.modeling.encoder import check_sequence_length
  from bert_span.presets.load_pretrained import load_pretrained
  from bert_span.presets.vocabulary_files import load_vocabulary
  from bert_span.reporting.window_lint import lint_windows

  if options.preset:
    loaded = load_pretrained(options.preset)
    vocabulary = loaded.vocabulary()
    check_sequence_length(loaded.backbone, windows.max_seq_length)
    lower_case = loaded.lower_case if lower_case is None else lower_case
  else:
    vocabulary = load_vocabulary(options.vocab_file)
  lower_case = lower_case is not False
  findings, figures = lint_windows(
    linted, vocabulary, lower_case, windows, longest
  )
  shown_settings = {
    "vocabulary": options.preset or options.vocab_file,
    "do_lower_case": lower_case,
    **dataclasses.asdict(windows),
    "max_answer_length": longest,
  }
  return findings, figures, shown_settings
