"""What programs that run Apache Beam pipelines share."""

import importlib.util

from bert_span.cli import program


def check_beam_installed():
  """Refuses to run without Apache Beam."""
  program.check(
    importlib.util.find_spec("apache_beam"),
    "Apache Beam is not installed. Run pip install 'bert_span[beam]' (in a "
    "checkout: pip install -e '.[beam]').",
  )


def pipeline_options(argv):
  """Returns the apache_beam PipelineOptions in argv; refuses unknown flags."""
  from apache_beam.options import pipeline_options as beam_options

  def refuse_unknown(parser):
    _, unknown = parser.parse_known_args(argv[1:])
    if unknown:
      raise ValueError(
        f"unknown flags {' '.join(unknown)}: neither this program nor Apache "
        "Beam has them. See --help, and Beam's documentation of the runner."
      )

  options = beam_options.PipelineOptions(argv[1:])
  # Beam itself would only warn.
  options.get_all_options(add_extra_args_fn=refuse_unknown)
  standard = options.view_as(beam_options.StandardOptions)
  if standard.runner in (None, "DirectRunner"):
    # DirectRunner would download Prism, a program, where it can, and is
    # FnApiRunner where it cannot.
    standard.runner = "FnApiRunner"
  return options


def is_exported(model):
  """Whether --model is what export_saved_model wrote, not a model directory."""
  import tensorflow as tf

  from bert_span.beam.answering import is_saved_model
  from bert_span.presets.span_config import find_embedded_model

  program.check(
    tf.io.gfile.isdir(find_embedded_model(model)),
    f"--model={model} is not a folder. Give one that run_squad or "
    "export_saved_model wrote, or minilm_squad.",
  )
  return is_saved_model(model)
