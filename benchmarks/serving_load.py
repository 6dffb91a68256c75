r"""Measures latency and throughput of a model server under load.

  python -m benchmarks.serving_load --address=http://localhost:8501 \
    --clients=1,2,4,8 --batch_size=1 --requests=200

Smallest setting, beside `python -m bert_span.serve --model=minilm_squad`:
  python -m benchmarks.serving_load --clients=1,2 --requests=4 --warm_up=1

Each client is a thread that sends its next request when it has the answer
(closed loop). There is a run for each number of clients, which ends after
--requests or after --seconds. Failed requests are counted and not repeated.
"""

import concurrent.futures
import itertools
import random
import threading
import time

from absl import flags

from benchmarks.inputs import (
  batches_of,
  count_flag,
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
_CLIENTS = flags.DEFINE_list(
  "clients", ["1", "2", "4", "8"], "Numbers of clients; one run for each."
)
_BATCH_SIZE = count_flag("batch_size", 1, "Questions in a request.")
_REQUESTS = count_flag("requests", 100, "Maximum number of requests in a run.")
_SECONDS = flags.DEFINE_float(
  "seconds", 60.0, "Maximum seconds of a run.", lower_bound=0.1
)
_WARM_UP = flags.DEFINE_integer(
  "warm_up", 3, "Requests to warm up before the first run.", 0
)
_TIMEOUT = 60.0  # seconds of a request
_DATA_FILE = data_file_flag()


def main(argv):
  """Measures each number of clients and prints a table."""
  from bert_span.client.retries import RetryOptions
  from bert_span.client.span_client import SpanClient

  clients = whole_numbers(_CLIENTS)
  examples = read_examples(_DATA_FILE.value)
  pairs = [(example.question, example.context) for example in examples]
  random.Random(0).shuffle(pairs)
  batches = batches_of(pairs, _BATCH_SIZE.value)
  with SpanClient(
    _ADDRESS.value,
    _MODEL.value,
    batch_size=_BATCH_SIZE.value,
    retry_options=RetryOptions(_TIMEOUT, _TIMEOUT, max_attempts=1),
  ) as client:
    for batch in itertools.islice(itertools.cycle(batches), _WARM_UP.value):
      client.answer(*batch)
    print_head(
      *("clients", "batch", "requests", "failed", "questions/s"),
      *("p50 ms", "p95 ms", "p99 ms", "max ms"),
    )
    for count in clients:
      begin = time.monotonic()
      latencies, failures = _run(client, batches, count)
      questions = len(latencies) * _BATCH_SIZE.value
      print_row(
        *(count, _BATCH_SIZE.value),
        *(len(latencies) + len(failures), len(failures)),
        round(questions / (time.monotonic() - begin), 2),
        *milliseconds(latencies, 50, 95, 99, 100),
      )
      if failures:
        print(f"First failure: {failures[0]}", flush=True)


def _run(client, batches, count):
  """Sends requests from `count` threads.

  Returns:
    List of the seconds of each answer, and list of messages of failures.
  """
  latencies, failures = [], []
  numbers = iter(range(_REQUESTS.value))
  lock = threading.Lock()
  start = time.monotonic()

  def work():
    while True:
      with lock:
        number = next(numbers, None)
      begin = time.monotonic()
      if number is None or begin - start > _SECONDS.value:
        return
      try:
        client.answer(*batches[number % len(batches)])
        latencies.append(time.monotonic() - begin)
      except Exception as error:  # Counted; the run continues.
        failures.append(f"{type(error).__name__}: {error}")

  with concurrent.futures.ThreadPoolExecutor(count) as pool:
    for worker in [pool.submit(work) for _ in range(count)]:
      worker.result()
  return latencies, failures


if __name__ == "__main__":
  program.run_program(main)
