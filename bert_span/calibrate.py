r"""Fits a model's probabilities and its null threshold to labelled questions.

  python -m bert_span.calibrate --model=DIR --predict_file=held_out.json \
    --evaluate_file=other_questions.json

The temperature and the null threshold are written into the model's
span_config.json, from where run_squad --do_predict, decode --model, ask,
SpanExtractor and the exports take them. Use questions that the model was
neither trained nor selected on.
"""

import os
import sys

from absl import flags

from bert_span.cli import model_flags, program

_MODEL = flags.DEFINE_string(
  "model",
  None,
  "Model directory that run_squad or save_to_preset wrote, with a span head.",
)
_EVALUATE_FILE = flags.DEFINE_string(
  "evaluate_file",
  None,
  "SQuAD JSON file with other questions, to report on what was not fitted.",
)
_TARGET_PRECISION = flags.DEFINE_float(
  "target_precision",
  None,
  "Share of the given answers that is to be right, by exact match, from 0 to "
  "1; by default the null threshold is the one with the best F1.",
  lower_bound=0.0,
  upper_bound=1.0,
)
_BATCH_SIZE = flags.DEFINE_integer(
  "predict_batch_size", 8, "Windows the model reads at once.", lower_bound=1
)
_OUTPUT_DIR = flags.DEFINE_string(
  "output_dir",
  None,
  "Folder for calibration.json and the plots; by default the folder "
  "calibration in the model's.",
)
_PLOTS = flags.DEFINE_bool(
  "plots",
  True,
  "Whether to draw reliability.png and risk_coverage.png; needs matplotlib.",
)
_PREDICT_FILE = model_flags.predict_file_flag()
_VERSION_2 = model_flags.version_2_flag()
# --help lists the flags of this module only, and those named here.
flags.declare_key_flag("predict_file")
flags.declare_key_flag("version_2_with_negative")


def main(argv):
  """Answers the questions, fits, reports, and changes the model's options."""
  program.refuse_arguments(argv)
  saved = _check_flags()
  # Seconds: only once the flags are known to be right.
  from bert_span.jobs import calibration_job
  from bert_span.presets.span_config import update_decoder
  from bert_span.squad.reader import read_squad

  options = _options(saved)
  fitted_on = read_squad(_PREDICT_FILE.value)
  other = read_squad(_EVALUATE_FILE.value) if _EVALUATE_FILE.value else None
  extractor = _load_extractor(options)
  scored = calibration_job.score_questions(
    extractor, fitted_on, _BATCH_SIZE.value
  )
  fitted = calibration_job.fitted_options(
    scored, options, _TARGET_PRECISION.value
  )
  figures = {"fitted": calibration_job.calibration_figures(scored, fitted)}
  if other:
    scored = calibration_job.score_questions(
      extractor, other, _BATCH_SIZE.value
    )
    figures["evaluated"] = calibration_job.calibration_figures(scored, fitted)
  values = {
    "temperature": fitted.temperature,
    "null_score_diff_threshold": fitted.null_score_diff_threshold,
    "version_2_with_negative": fitted.version_2_with_negative,
  }
  print(_report(values, figures))
  paths = _write(values, figures)
  # Last of all: a model is changed only when everything else has worked.
  update_decoder(_MODEL.value, values)
  print(f"Written: {', '.join(paths)}", file=sys.stderr)


def run():
  """Entry point of the installed command."""
  program.run_program(main)


def _check_flags():
  """Refuses flags that cannot work; gives the model's span_config."""
  check = program.check
  check(_MODEL.value, "--model is required.")
  check(_PREDICT_FILE.value, "--predict_file is required.")
  if _PLOTS.value:
    program.check_matplotlib(", or give --noplots")
  from bert_span.presets.embedded_model import find_embedded_model
  from bert_span.presets.span_config import CONFIG_FILE, read_span_config

  check(
    find_embedded_model(_MODEL.value) == _MODEL.value,
    f"--model={_MODEL.value} comes with the package and is not changed. Save "
    f'a copy, SpanExtractor.from_preset("{_MODEL.value}").save_to_preset(DIR), '
    "and give that.",
  )
  saved = read_span_config(_MODEL.value)
  check(
    saved is not None,
    f"--model={_MODEL.value} is no model directory of bert_span: it has no "
    f"{CONFIG_FILE}. Save it with SpanExtractor.save_to_preset first.",
  )
  check(
    saved["head"] == "span",
    f"--model={_MODEL.value} has a {saved['head']} head; a temperature is for "
    "a span head.",
  )
  return saved


def _options(saved):
  """The `DecoderOptions` that the model has, and those of the command."""
  from bert_span.answers.decoding.span_decoder import DecoderOptions

  values = dict(saved["decoder"])
  if _VERSION_2.present:
    values["version_2_with_negative"] = _VERSION_2.value
  options = DecoderOptions(**values)
  program.check(
    _TARGET_PRECISION.value is None or options.version_2_with_negative,
    "--target_precision needs a model that may give no answer. Give "
    "--version_2_with_negative as well.",
  )
  return options


def _load_extractor(options):
  from bert_span.extractor import SpanExtractor

  return SpanExtractor.from_preset(_MODEL.value, decoder_options=options)


def _report(values, figures):
  """What is printed: the fitted values and a table for each file."""
  from bert_span.reporting.score_table import format_calibration

  lines = [f"temperature {values['temperature']:.4f}"]
  if values["version_2_with_negative"]:
    lines.append(
      f"null_score_diff_threshold {values['null_score_diff_threshold']:.4f}"
    )
  for name, part in figures.items():
    lines += [
      "",
      f"{name} on {part['data']}, {part['num_questions']} questions",
      format_calibration(part["before"], part["after"]),
    ]
  return "\n".join(lines)


def _write(values, figures):
  """Writes calibration.json and the plots; gives their paths."""
  import tensorflow as tf

  from bert_span.jobs.calibration_job import figures_as_json
  from bert_span.storage import atomic_file

  folder = _OUTPUT_DIR.value or os.path.join(_MODEL.value, "calibration")
  tf.io.gfile.makedirs(folder)
  paths = [os.path.join(folder, "calibration.json")]
  report = {
    **values,
    "target_precision": _TARGET_PRECISION.value,
    **{name: figures_as_json(part) for name, part in figures.items()},
  }
  atomic_file.write_json_atomically(paths[0], report)
  for name, png in _plots(figures).items() if _PLOTS.value else ():
    paths.append(os.path.join(folder, name))
    with atomic_file.open_atomically(paths[-1], binary=True) as file:
      file.write(png)
  return paths


def _plots(figures):
  """The PNG files, of the questions that were not fitted if there are any."""
  from bert_span.reporting import calibration_plots

  part = figures.get("evaluated", figures["fitted"])
  stages = ("before", "after")
  return {
    "reliability.png": calibration_plots.reliability_png(
      {stage: part[stage]["reliability"] for stage in stages}
    ),
    "risk_coverage.png": calibration_plots.risk_coverage_png(
      {stage: part[stage]["risk_coverage"] for stage in stages}
    ),
  }


if __name__ == "__main__":
  run()
