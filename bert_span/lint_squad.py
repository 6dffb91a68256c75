r"""Checks a SQuAD file before hours of training.

  python -m bert_span.lint_squad train.json --preset=all-minilm-l6-v2
  python -m bert_span.lint_squad train.json --vocab_file=vocab.txt --json
  python -m bert_span.lint_squad train.json --fix --strict

Findings come first, the gravest at the top, then figures on lengths, windows
and [UNK]. An error stops training; a warning costs something: a question is
lost, learnt wrongly or cannot be answered right; a note is good to know.
Without --preset and --vocab_file only what needs no WordPieces is checked.

--fix writes a copy with every answer_start corrected whose answer is found
elsewhere in its passage, and with integer ids as strings; nothing else of the
file changes.

Exit status: 1 with an error, or a file that cannot be read; with --strict also
with a warning; else 0. With --fix, what is repaired does not count.
"""

import json
import os
import sys

from absl import flags

from bert_span.cli import model_flags, program

_PRESET = flags.DEFINE_string(
  "preset",
  None,
  "Model to train from or to predict with: what run_squad takes as --preset, "
  "or a model directory of its. Gives vocabulary, sizes and window flags.",
)
_JSON = flags.DEFINE_bool(
  "json", False, "Whether to print one JSON object instead of text."
)
_FIX = flags.DEFINE_bool(
  "fix", False, "Whether to write a repaired copy and a log of each change."
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file",
  None,
  "File of the repaired copy; none is FILE with .fixed.json at its end. The "
  "log stands beside it, with .changes.jsonl at its end.",
)
_STRICT = flags.DEFINE_bool(
  "strict", False, "Whether warnings, too, give the exit status 1."
)
_NUM_PLACES = flags.DEFINE_integer(
  "num_places",
  3,
  "Places that the text names of each kind of warning; of errors it names all, "
  "of notes none.",
  lower_bound=0,
)
_MAX_ANSWER_LENGTH = flags.DEFINE_integer(
  "max_answer_length", 30, "Longest answer in WordPieces.", lower_bound=1
)
_LENGTH_BUCKETS = flags.DEFINE_integer(
  "length_buckets",
  32,
  "Multiple that batches are padded to, in WordPieces, as in run_squad.",
  lower_bound=1,
)
_HIDDEN_SIZE = flags.DEFINE_integer(
  "hidden_size",
  768,
  "Hidden size of the encoder, for the costs; --preset knows it.",
  lower_bound=1,
)
_VOCABULARY = model_flags.vocabulary_flags()
model_flags.window_flags()
# --help lists the flags of this module only, and those named here.
flags.adopt_module_key_flags(model_flags)


def main(argv):
  """Lints, repairs if asked to, prints; returns the exit status."""
  _check_flags(argv)
  from bert_span.squad.lint.linter import lint_squad_file

  report = _report(lint_squad_file(argv[1]))
  _print(report)
  if _FIX.value and not report.repair:
    print("lint_squad: no copy was written.", file=sys.stderr)
  grave = ["error", "warning"] if _STRICT.value else ["error"]
  return 1 if any(report.count_left(severity) for severity in grave) else 0


def run():
  """Entry point of the installed command."""
  program.run_program(main)


def _check_flags(argv):
  check = program.check
  check(
    len(argv) == 2 and argv[1],
    "Give the one FILE to check: lint_squad FILE [--preset=MODEL]. Received: "
    f"{' '.join(argv[1:]) or 'none'}",
  )
  check(
    not (_PRESET.value and _VOCABULARY.vocab_file.value),
    "--preset knows its vocabulary: leave out --vocab_file.",
  )
  for name, holder in (
    ("do_lower_case", _VOCABULARY.do_lower_case),
    ("hidden_size", _HIDDEN_SIZE),
  ):
    check(
      not (_PRESET.value and holder.present),
      f"--{name} belongs to --vocab_file; --preset knows it. Leave it out.",
    )
  check(
    _FIX.value or not _OUTPUT_FILE.present,
    "--output_file names the repaired copy: give --fix, too.",
  )


def _report(linted):
  """The `LintReport` of a file, as far as it could be read."""
  from bert_span.squad.lint.character_lengths import character_summaries
  from bert_span.squad.lint.lint_report import LintReport

  if not linted.examples:
    return LintReport(linted, linted.findings, {})
  figures, findings, settings = {}, list(linted.findings), None
  if _PRESET.value or _VOCABULARY.vocab_file.value:
    more, figures, settings = _windows_checked(linted)
    findings += more
  characters = character_summaries(linted.examples)
  figures = {"characters": characters, **figures}
  repair = _repaired(linted.path) if _FIX.value else None
  return LintReport(linted, findings, figures, settings, repair)


def _windows_checked(linted):
  """Findings, figures and settings of what needs a vocabulary."""
  # Seconds: only where it is used.
  from bert_span.squad.lint.window_lint import lint_windows

  tokenizer, settings = _tokenizer_and_settings()
  findings, figures = lint_windows(linted, tokenizer, settings)
  options = settings.window_options
  return (
    findings,
    figures,
    {
      "vocabulary": _PRESET.value or _VOCABULARY.vocab_file.value,
      "do_lower_case": tokenizer.do_lower_case,
      "max_seq_length": options.max_seq_length,
      "doc_stride": options.doc_stride,
      "max_query_length": options.max_query_length,
      "max_answer_length": settings.max_answer_length,
      "length_bucket": settings.bucket_width,
      "hidden_size": settings.hidden_size,
    },
  )


def _tokenizer_and_settings():
  """The `WordPieceTokenizer` and `LintSettings` of the flags."""
  from bert_span.squad.lint.window_lint import LintSettings
  from bert_span.text.tokenizer import WordPieceTokenizer
  from bert_span.text.vocabulary import load_vocabulary

  if _PRESET.value:
    return _preset_tokenizer_and_settings()
  tokenizer = WordPieceTokenizer(
    load_vocabulary(_VOCABULARY.vocab_file.value),
    _VOCABULARY.do_lower_case.value,
  )
  settings = LintSettings(
    model_flags.window_options(),
    _MAX_ANSWER_LENGTH.value,
    _LENGTH_BUCKETS.value,
    _HIDDEN_SIZE.value,
  )
  return tokenizer, settings


def _preset_tokenizer_and_settings():
  """The same for --preset, which says what the command line does not."""
  from bert_span.modeling.encoder import check_sequence_length
  from bert_span.presets.load_pretrained import load_pretrained
  from bert_span.presets.span_config import read_span_config
  from bert_span.squad.lint.window_lint import LintSettings
  from bert_span.text.tokenizer import WordPieceTokenizer
  from bert_span.text.vocabulary import load_vocabulary

  loaded = load_pretrained(_PRESET.value)
  if not loaded.vocabulary_path:
    raise ValueError(
      f"{loaded.description} has no vocabulary. Give its --vocab_file instead."
    )
  saved = read_span_config(_PRESET.value) or {}
  options = model_flags.window_options(saved)
  check_sequence_length(loaded.backbone, options.max_seq_length)
  max_answer_length = _MAX_ANSWER_LENGTH.value
  if not _MAX_ANSWER_LENGTH.present:
    decoder = saved.get("decoder", {})
    max_answer_length = decoder.get("max_answer_length", max_answer_length)
  lower_case = saved.get("do_lower_case", loaded.lower_case)
  tokenizer = WordPieceTokenizer(
    load_vocabulary(loaded.vocabulary_path),
    True if lower_case is None else lower_case,
  )
  settings = LintSettings(
    options,
    max_answer_length,
    _LENGTH_BUCKETS.value,
    loaded.backbone.hidden_dim,
    loaded.backbone.max_sequence_length,
  )
  return tokenizer, settings


def _repaired(path):
  """Writes the copy and its log; a dict that says where."""
  from bert_span.squad.lint.repair import repair_squad_file

  output_file = _OUTPUT_FILE.value
  if not output_file:
    output_file = path.removesuffix(".json") + ".fixed.json"
  log_file = output_file.removesuffix(".json") + ".changes.jsonl"
  changes = repair_squad_file(path, output_file, log_file)
  return {
    "output_file": output_file,
    "log_file": log_file,
    "changes": len(changes),
  }


def _print(report):
  from bert_span.squad.lint.lint_report import report_object, report_text

  # Lone surrogates and old terminals must not end the program.
  sys.stdout.reconfigure(errors="backslashreplace")
  text = report_text(report, _NUM_PLACES.value)
  if _JSON.value:
    text = json.dumps(report_object(report))
  try:
    print(text, flush=True)
  except BrokenPipeError:
    # `| head` has seen enough. Python would complain once more at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
  run()
