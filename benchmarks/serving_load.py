r"""Measures latency and throughput of a model server under load.

  python -m benchmarks.serving_load --address=http://localhost:8501 \
    --clients=1,2,4,8 --batch_size=1 --requests=200

Each client is a thread that sends its next request when it has the answer
(closed loop). There is a run for each number of clients, which ends after
--requests or after --seconds. Failed requests are counted and not repeated.
"""

import concurrent.futures
import dataclasses
import itertools
import json
import random
import threading
import time

from absl import flags

from benchmarks.inputs import (
  batches_of,
  data_file_flag,
  read_examples,
  whole_numbers,
)
from benchmarks.repetitions import milliseconds
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_ADDRESS = flags.DEFINE_string(
  "address",
  "http://localhost:8501",
  "Address of the server: http://, https://, grpc:// or grpcs://.",
)
_MODEL = flags.DEFINE_string(
  "model", "bert_span", "Name of the model on the server."
)
_LABEL = flags.DEFINE_string("label", None, "Label of the version to ask.")
_CLIENTS = flags.DEFINE_list(
  "clients", ["1", "2", "4", "8"], "Numbers of clients; one run for each."
)
_BATCH_SIZE = flags.DEFINE_integer(
  "batch_size", 1, "Questions in a request.", lower_bound=1
)
_REQUESTS = flags.DEFINE_integer(
  "requests", 100, "Maximum number of requests in a run.", lower_bound=1
)
_SECONDS = flags.DEFINE_float(
  "seconds", 60.0, "Maximum seconds of a run.", lower_bound=0.1
)
_WARM_UP = flags.DEFINE_integer(
  "warm_up", 3, "Requests to warm up before the first run.", 0
)
_TIMEOUT = flags.DEFINE_float(
  "timeout", 60.0, "Timeout of a request in seconds.", lower_bound=0.1
)
_DATA_FILE = data_file_flag()
_REPEAT_CONTEXT = flags.DEFINE_integer(
  "repeat_context",
  1,
  "Repetitions of each passage, to make it longer.",
  lower_bound=1,
)
_JSON = flags.DEFINE_bool("json", False, "Print a line of JSON for each run.")
_COLUMNS = (
  *("clients", "batch", "requests", "failed", "questions/s"),
  *("p50 ms", "p95 ms", "p99 ms", "max ms"),
)


@dataclasses.dataclass
class LoadRun:
  """The result of a run."""

  clients: int
  batch_size: int
  seconds: float = 0.0
  latencies: list = dataclasses.field(default_factory=list)  # seconds
  failures: list = dataclasses.field(default_factory=list)  # messages

  def columns(self):
    """Dict of the printed figures, times in milliseconds."""
    answered, failed = len(self.latencies), len(self.failures)
    values = (
      *(self.clients, self.batch_size, answered + failed, failed),
      round(answered * self.batch_size / self.seconds, 2),
      *milliseconds(self.latencies, 50, 95, 99, 100),
    )
    return dict(zip(_COLUMNS, values, strict=True))


def measure(ask, batches, clients, requests, seconds):
  """Sends requests from several threads.

  Args:
    ask: function of a batch; an Exception counts as a failure.
    batches: list of batches of equal size, one for each request in turn.
    clients: threads.
    requests: maximum number of requests.
    seconds: no request starts later than this.

  Returns:
    A `LoadRun`.
  """
  run = LoadRun(clients, len(batches[0][0]))
  numbers = iter(range(requests))
  lock = threading.Lock()
  start = time.monotonic()

  def work():
    while True:
      with lock:
        number = next(numbers, None)
      begin = time.monotonic()
      if number is None or begin - start > seconds:
        return
      try:
        ask(batches[number % len(batches)])
        run.latencies.append(time.monotonic() - begin)
      except Exception as error:  # Counted; the run continues.
        run.failures.append(f"{type(error).__name__}: {error}")

  with concurrent.futures.ThreadPoolExecutor(clients) as pool:
    for worker in [pool.submit(work) for _ in range(clients)]:
      worker.result()
  run.seconds = time.monotonic() - start
  return run


def main(argv):
  """Measures each number of clients and prints a table."""
  clients = whole_numbers(_CLIENTS)
  batches = _batches()
  with _client() as client:

    def ask(batch):
      client.answer(*batch)

    for batch in itertools.islice(itertools.cycle(batches), _WARM_UP.value):
      ask(batch)
    if not _JSON.value:
      print_head(*_COLUMNS)
    for count in clients:
      _print_run(measure(ask, batches, count, _REQUESTS.value, _SECONDS.value))


def _client():
  from bert_span.client.retries import RetryOptions
  from bert_span.client.span_client import SpanClient

  return SpanClient(
    _ADDRESS.value,
    _MODEL.value,
    label=_LABEL.value,
    batch_size=_BATCH_SIZE.value,
    retry_options=RetryOptions(
      timeout=_TIMEOUT.value, deadline=_TIMEOUT.value, max_attempts=1
    ),
  )


def _batches():
  """Lists of questions and passages, in an order that mixes the passages."""
  pairs = [
    (example.question, example.context * _REPEAT_CONTEXT.value)
    for example in read_examples(_DATA_FILE.value)
  ]
  random.Random(0).shuffle(pairs)
  return batches_of(pairs, _BATCH_SIZE.value)


def _print_run(load_run):
  columns = load_run.columns()
  failure = load_run.failures[0] if load_run.failures else None
  if _JSON.value:
    print(json.dumps({**columns, "first_failure": failure}), flush=True)
    return
  print_row(*columns.values())
  if failure:
    print(f"First failure: {failure}", flush=True)


if __name__ == "__main__":
  program.run_program(main)
