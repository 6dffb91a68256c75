"""Runs of Beam's portable runner whose processes are killed."""

import os
import signal

import pytest

pytest.importorskip("apache_beam", reason="pip install -e '.[beam]'")

import apache_beam as beam

from bert_span.beam.pipeline_options import pipeline_options


def _work(folder, number):
  """Is killed at its first try of number 5."""
  path = os.path.join(folder, str(number))
  with open(path, "a", encoding="utf-8") as file:
    file.write("tried ")
  with open(path, encoding="utf-8") as file:
    if number == 5 and file.read() == "tried ":
      os.kill(os.getpid(), signal.SIGKILL)


# Beam's threads that read from the process.
@pytest.mark.filterwarnings(
  "ignore::pytest.PytestUnhandledThreadExceptionWarning"
)
@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 2])
def test_a_run_with_a_killed_process_ends_and_can_be_repeated(
  tmp_path, num_workers
):
  words = ["--direct_running_mode=multi_processing"]
  words.append(f"--direct_num_workers={num_workers}")
  for is_killed in (True, False):
    pipeline = beam.Pipeline(options=pipeline_options(words, 1))
    numbers = pipeline | beam.Create(range(10)) | beam.Reshuffle()
    numbers | beam.Map(
      lambda number, folder=str(tmp_path): _work(folder, number)
    )
    if is_killed:
      with pytest.raises(RuntimeError, match="worker process"):
        pipeline.run().wait_until_finish()
    else:
      pipeline.run().wait_until_finish()
  assert {path.name for path in tmp_path.iterdir()} == {*map(str, range(10))}
  assert (tmp_path / "5").read_text("utf-8") == "tried tried "
