"""What lint_squad does: checks a SQuAD file, repairs it, prints what it found.

What needs no WordPieces is checked without loading TensorFlow.
"""

import dataclasses
import json
import sys

from bert_span.jobs.lines import print_lines
from bert_span.squad.lint.character_lengths import character_summaries
from bert_span.squad.lint.lint_report import (
  LintReport,
  report_object,
  report_text,
)
from bert_span.squad.lint.linter import lint_squad_file
from bert_span.squad.lint.repair import repair_squad_file


@dataclasses.dataclass(frozen=True)
class LintedModel:
  """The model that a file is checked for.

  Attributes:
    window_options: `WindowOptions`.
    preset: what `load_pretrained` takes; None for `vocab_file`.
    vocab_file: vocab.txt of the model; None for that of the preset.
    do_lower_case: lower-case the text; None for what the preset says.
    max_answer_length: WordPieces of the longest answer.
    length_bucket: WordPieces; batches are padded to a multiple of it.
    hidden_size: of the encoder, for the costs; a preset has its own.
  """

  window_options: object
  preset: str | None = None
  vocab_file: str | None = None
  do_lower_case: bool | None = None
  max_answer_length: int = 30
  length_bucket: int = 32
  hidden_size: int = 768


def lint(
  path,
  model=None,
  fix=False,
  output_file=None,
  strict=False,
  num_places=3,
  as_json=False,
):
  """Checks a SQuAD file and prints the report.

  Args:
    path: of the file.
    model: `LintedModel`; None checks only what needs no WordPieces.
    fix: write a repaired copy and a log of each change.
    output_file: path of the copy; None is the file's with .fixed.json at its
      end. The log is beside it, with .changes.jsonl at its end.
    strict: whether warnings, too, count as grave.
    num_places: places that the text names of each kind of warning.
    as_json: print one JSON object instead of text.

  Returns:
    Whether nothing grave is left: with `fix`, in the copy.

  Raises:
    OSError: the file cannot be read.
    ValueError: the model has no vocabulary, or windows that are too long.
  """
  report = _report(lint_squad_file(path), model, fix, output_file)
  text = report_text(report, num_places)
  print_lines([json.dumps(report_object(report)) if as_json else text])
  if fix and not report.repair:
    print("lint_squad: no copy was written.", file=sys.stderr)
  grave = ["error", "warning"] if strict else ["error"]
  return not any(report.count_left(severity) for severity in grave)


def _report(linted, model, fix, output_file):
  """The `LintReport` of a file, as far as it could be read."""
  if not linted.examples:
    return LintReport(linted, linted.findings, {})
  figures, findings, settings = {}, list(linted.findings), None
  if model:
    more, figures, settings = _windows_checked(linted, model)
    findings += more
  characters = character_summaries(linted.examples)
  figures = {"characters": characters, **figures}
  repair = _repaired(linted.path, output_file) if fix else None
  return LintReport(linted, findings, figures, settings, repair)


def _windows_checked(linted, model):
  """Findings, figures and settings of what needs a vocabulary."""
  # Load TensorFlow: seconds, which a check without a vocabulary does not need.
  from bert_span.modeling.encoder import check_sequence_length
  from bert_span.presets.load_pretrained import load_pretrained
  from bert_span.squad.lint.window_lint import LintSettings, lint_windows
  from bert_span.text.tokenizer import WordPieceTokenizer
  from bert_span.text.vocabulary import load_vocabulary

  options, vocab_file = model.window_options, model.vocab_file
  lower_case, sizes = model.do_lower_case, {"hidden_size": model.hidden_size}
  if model.preset:
    loaded = load_pretrained(model.preset)
    vocab_file = loaded.vocabulary_path
    if not vocab_file:
      raise ValueError(
        f"{loaded.description} has no vocabulary. Give its --vocab_file "
        "instead."
      )
    backbone = loaded.backbone
    check_sequence_length(backbone, options.max_seq_length)
    sizes = {
      "hidden_size": backbone.hidden_dim,
      "max_positions": backbone.max_sequence_length,
    }
    if lower_case is None:
      lower_case = loaded.lower_case
  tokenizer = WordPieceTokenizer(
    load_vocabulary(vocab_file), True if lower_case is None else lower_case
  )
  settings = LintSettings(
    options, model.max_answer_length, model.length_bucket, **sizes
  )
  findings, figures = lint_windows(linted, tokenizer, settings)
  return (
    findings,
    figures,
    {
      "vocabulary": model.preset or vocab_file,
      "do_lower_case": tokenizer.do_lower_case,
      "max_seq_length": options.max_seq_length,
      "doc_stride": options.doc_stride,
      "max_query_length": options.max_query_length,
      "max_answer_length": settings.max_answer_length,
      "length_bucket": settings.bucket_width,
      "hidden_size": settings.hidden_size,
    },
  )


def _repaired(path, output_file):
  """Writes the copy and its log; a dict that says where."""
  output_file = output_file or path.removesuffix(".json") + ".fixed.json"
  log_file = output_file.removesuffix(".json") + ".changes.jsonl"
  changes = repair_squad_file(path, output_file, log_file)
  return {
    "output_file": output_file,
    "log_file": log_file,
    "changes": len(changes),
  }
