"""Beam's options out of a command line."""

import pytest

pytest.importorskip("apache_beam", reason="pip install -e '.[beam]'")

from apache_beam.options import pipeline_options as beam_lib

from bert_span.cli.beam_flags import pipeline_options


def test_options_of_all_runners_are_taken():
  options = pipeline_options(
    [
      "beam_predict",
      *("--runner=FlinkRunner", "--flink_master=host:8081"),
      *("--parallelism=4", "--environment_type=DOCKER"),
      *("--project=p", "--region=r", "--temp_location=gs://bucket/tmp"),
    ]
  )
  assert options.view_as(beam_lib.StandardOptions).runner == "FlinkRunner"
  assert options.view_as(beam_lib.FlinkRunnerOptions).parallelism == 4
  cloud = options.view_as(beam_lib.GoogleCloudOptions)
  assert (cloud.project, cloud.temp_location) == ("p", "gs://bucket/tmp")


@pytest.mark.parametrize("unknown", ["--runer=x", "--tmp_location=y", "word"])
def test_what_beam_does_not_know_is_refused(unknown):
  with pytest.raises(ValueError, match=f"unknown flags {unknown}"):
    pipeline_options(["beam_predict", "--project=p", unknown])
