"""Apache Beam's own options, on a program's command line."""

import importlib

from apache_beam.options import pipeline_options as beam_lib


def pipeline_options(words):
  """Returns the PipelineOptions of words such as "--runner=FlinkRunner".

  Raises:
    ValueError: Beam does not know one of them.
  """
  words = list(words)

  def refuse_unknown(parser):
    _, unknown = parser.parse_known_args(words)
    if unknown:
      raise ValueError(
        f"unknown flags {' '.join(unknown)}: neither this program nor Apache "
        "Beam has them. See --help, and Beam's documentation of the runner."
      )

  options = beam_lib.PipelineOptions(words)
  standard = options.view_as(beam_lib.StandardOptions)
  module, _, _ = (standard.runner or "").rpartition(".")
  if module:
    importlib.import_module(module)  # It defines the runner's flags.
  # Beam itself would only warn.
  options.get_all_options(add_extra_args_fn=refuse_unknown)
  if standard.runner in (None, "DirectRunner"):
    # DirectRunner would download Prism, a program, where it can.
    standard.runner = "FnApiRunner"
  return options
