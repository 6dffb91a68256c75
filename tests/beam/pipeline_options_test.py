"""Beam's own options on a command line."""

import pytest

_DASK = "apache_beam.runners.dask.dask_runner"


def test_beam_options_of_all_runners_are_taken():
  beam_lib = pytest.importorskip("apache_beam.options.pipeline_options")
  from bert_span.beam.pipeline_options import pipeline_options

  given = ["--runner=FlinkRunner", "--parallelism=4", "--project=p"]
  options = pipeline_options(given, 8)
  assert options.view_as(beam_lib.StandardOptions).runner == "FlinkRunner"
  assert options.view_as(beam_lib.FlinkRunnerOptions).parallelism == 4
  assert options.view_as(beam_lib.GoogleCloudOptions).project == "p"
  for unknown in ("--runer=x", "word"):
    with pytest.raises(ValueError, match=unknown):
      pipeline_options(["--project=p", unknown], 8)


@pytest.mark.parametrize(
  ("given", "partitions", "size"),
  [
    ([], 8, None),
    (["--dask_npartitions=3"], 3, None),
    (["--dask_partition_size=5"], None, 5),
  ],
)
def test_dask_gets_a_partition_for_each_shard(given, partitions, size):
  pytest.importorskip("distributed", reason="pip install 'dask[distributed]'")
  from apache_beam.runners.dask.dask_runner import DaskOptions

  from bert_span.beam.pipeline_options import pipeline_options

  options = pipeline_options([f"--runner={_DASK}.DaskRunner", *given], 8)
  dask = options.view_as(DaskOptions)
  assert (dask.npartitions, dask.partition_size) == (partitions, size)


@pytest.mark.parametrize("given", [None, "3 minutes"])
def test_dask_waits_for_workers_that_start_again(given):
  pytest.importorskip("distributed", reason="pip install 'dask[distributed]'")
  import dask

  from bert_span.beam.pipeline_options import pipeline_options

  name = "distributed.deploy.lost-worker-timeout"
  with dask.config.set({name: given} if given else {}):
    pipeline_options([f"--runner={_DASK}.DaskRunner"], 8)
    assert dask.config.get(name) == (given or "10 minutes")
