"""Beam's own options on a command line."""

import pytest


def test_beam_options_of_all_runners_are_taken():
  beam_lib = pytest.importorskip("apache_beam.options.pipeline_options")
  from bert_span.beam.pipeline_options import pipeline_options

  given = ["--runner=FlinkRunner", "--parallelism=4", "--project=p"]
  options = pipeline_options(given)
  assert options.view_as(beam_lib.StandardOptions).runner == "FlinkRunner"
  assert options.view_as(beam_lib.FlinkRunnerOptions).parallelism == 4
  assert options.view_as(beam_lib.GoogleCloudOptions).project == "p"
  for unknown in ("--runer=x", "word"):
    with pytest.raises(ValueError, match=unknown):
      pipeline_options(["--project=p", unknown])
