"""Groups of flags that programs share."""

import re

import pytest
from programs import run_program, run_python


def test_shared_flags_are_defined_once_and_become_options():
  body = (
    "model_flags.window_flags(); model_flags.window_flags(); "
    "print(model_flags.window_options())"
  )
  code = (
    "from absl import flags; from bert_span.cli import model_flags; "
    "model_flags.window_flags(); model_flags.decoder_flags(); "
    "flags.FLAGS(['x', '--doc_stride=7', '--version_2_with_negative']); "
    f"{body}; print(model_flags.decoder_options(None, "
    "model_flags.answer_head('span')))"
  )
  run = run_python("-c", code, check=True)
  assert "doc_stride=7" in run.stdout
  assert "version_2_with_negative=True" in run.stdout


@pytest.mark.parametrize(
  ("program", "shared"),
  [
    ("run_squad", ["doc_stride", "vocab_file", "n_best_size", "no_span"]),
    ("ask", ["doc_stride", "null_score_diff_threshold"]),
    ("decode", ["doc_stride", "vocab_file", "output_dir", "no_span"]),
    ("calibrate", ["predict_file", "version_2_with_negative"]),
    ("evaluate", ["predict_file"]),
    ("inspect_windows", ["doc_stride", "do_lower_case"]),
    ("lint_squad", ["doc_stride", "vocab_file"]),
  ],
)
def test_help_lists_the_flags_that_programs_share(program, shared):
  run = run_program(f"bert_span.{program}", "--help")
  for name in shared:
    assert re.search(rf"--(\[no\])?{name}:", run.stdout), name
