"""What programs that run Apache Beam pipelines share."""

import importlib.util

from bert_span.cli import program


def check_beam_installed():
  """Refuses to run without Apache Beam.

  Raises:
    flags.IllegalFlagValueError: it is not installed.
  """
  program.check(
    importlib.util.find_spec("apache_beam"),
    "Apache Beam is not installed. Run pip install 'bert_span[beam]' (in a "
    "checkout: pip install -e '.[beam]').",
  )


def pipeline_options(argv):
  """Beam's options out of a command line.

  Args:
    argv: what main was called with, see run_program's foreign_flags.

  Returns:
    apache_beam PipelineOptions; the runner is DirectRunner where none is named,
    which here never fetches a program of its own.

  Raises:
    ValueError: something on the command line is known to nobody.
  """
  from apache_beam.options.pipeline_options import StandardOptions

  from bert_span.beam.pipeline_options import beam_options

  options = beam_options(argv[1:])
  standard = options.view_as(StandardOptions)
  if standard.runner in (None, "DirectRunner"):
    # What DirectRunner comes to where Prism, a program that Beam would
    # download, is not at hand.
    standard.runner = "FnApiRunner"
  return options


def is_exported(model):
  """Whether --model is what export_saved_model wrote, and no model directory.

  Args:
    model: path of a folder, or name of a model.

  Raises:
    flags.IllegalFlagValueError: it is neither.
  """
  import tensorflow as tf

  from bert_span.beam.answer_source import is_saved_model
  from bert_span.presets.installed_models import find_embedded_model

  program.check(
    tf.io.gfile.isdir(find_embedded_model(model)),
    f"--model={model} is no folder. Give one that run_squad or "
    "export_saved_model wrote, or minilm_squad.",
  )
  return is_saved_model(model)
