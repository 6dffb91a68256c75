"""Apache Beam's own options, taken from the command line of a program."""

import argparse

from apache_beam.options import pipeline_options


def beam_options(arguments):
  """The options of a pipeline.

  Args:
    arguments: list of str such as "--runner=DirectRunner": what a command line
      has besides the program's own flags.

  Returns:
    apache_beam PipelineOptions.

  Raises:
    ValueError: Beam does not know one; it would only warn, and run without.
  """
  parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
  for options in _all_subclasses(pipeline_options.PipelineOptions):
    # Two groups may have the same option; Beam, too, takes the first.
    options._add_argparse_args(_FirstOfEach(parser))
  _, unknown = parser.parse_known_args(arguments)
  if unknown:
    raise ValueError(
      f"unknown flags {' '.join(unknown)}: neither this program nor Apache "
      "Beam has them. See --help, and Beam's documentation of the runner."
    )
  return pipeline_options.PipelineOptions(arguments)


class _FirstOfEach:
  """An ArgumentParser that leaves out options it has already."""

  def __init__(self, parser):
    self._parser = parser

  def add_argument(self, *args, **kwargs):
    """As ArgumentParser.add_argument."""
    try:
      return self._parser.add_argument(*args, **kwargs)
    except argparse.ArgumentError:
      return None

  def __getattr__(self, name):
    return getattr(self._parser, name)


def _all_subclasses(base):
  for child in base.__subclasses__():
    yield child
    yield from _all_subclasses(child)
