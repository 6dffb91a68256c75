"""Apache Beam's own options, on a program's command line."""

import importlib

from apache_beam.options import pipeline_options as beam_lib

from bert_span.beam.worker_processes import watch_processes

_DASK = "apache_beam.runners.dask.dask_runner"


def pipeline_options(words, num_shards):
  """Returns the PipelineOptions of words such as "--runner=FlinkRunner".

  What a runner needs for `num_shards` files is set unless it is given.

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
    runner = importlib.import_module(module)  # It defines the runner's flags.
  # Beam itself would only warn.
  options.get_all_options(add_extra_args_fn=refuse_unknown)
  if standard.runner in (None, "DirectRunner"):
    # DirectRunner would download Prism, a program, where it can.
    standard.runner = "FnApiRunner"
  if module == _DASK:
    _set_up_dask(options.view_as(runner.DaskOptions), num_shards)
  watch_processes()
  return options


def _set_up_dask(options, num_shards):
  from dask import config  # The runner that was asked for needs it.

  if options.npartitions is None and options.partition_size is None:
    # Dask writes the shards of a partition when all of them are answered.
    options.npartitions = num_shards
  # A worker that starts again imports TensorFlow, for longer than Dask's 15 s.
  # The user's own settings are kept.
  timeout = {"deploy": {"lost-worker-timeout": "10 minutes"}}
  config.update_defaults({"distributed": timeout})
