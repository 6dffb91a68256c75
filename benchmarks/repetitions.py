"""Repeated measurements, and cases in their own processes."""

import json
import statistics
import subprocess
import sys
import time


def repeated_seconds(work, repetitions, warm_up=1):
  """Times a function after some calls to warm up.

  Returns:
    List of seconds of each call, and the result of the last one.
  """
  seconds, result = [], None
  for number in range(warm_up + repetitions):
    begin = time.perf_counter()
    result = work()
    if number >= warm_up:
      seconds.append(time.perf_counter() - begin)
  return seconds, result


def seconds_in_turns(works, rounds):
  """Times functions in turns, so that other work affects all of them.

  Returns:
    Dict of lists of seconds, with the keys of the dict `works`.
  """
  seconds = {name: [] for name in works}
  for _ in range(rounds):
    for name, work in works.items():
      begin = time.perf_counter()
      work()
      seconds[name].append(time.perf_counter() - begin)
  return seconds


def rate_summary(count, seconds):
  """Returns the median, lowest and highest of count / seconds, a dict."""
  rates = [count / each for each in seconds]
  return {
    "median": statistics.median(rates),
    "lowest": min(rates),
    "highest": max(rates),
  }


def spread(summary, digits=0):
  """Returns the lowest and highest of a `rate_summary` as text."""
  low, high = summary["lowest"], summary["highest"]
  return f"{low:,.{digits}f} to {high:,.{digits}f}"


def percentile(seconds, percent):
  """Returns the nearest rank: of 100 values, p95 is the 95th smallest."""
  if not seconds:
    return float("nan")
  rank = -(-len(seconds) * percent // 100)  # rounded up
  return sorted(seconds)[max(rank, 1) - 1]


def milliseconds(seconds, *percents):
  """Returns a list of percentiles in milliseconds, to one decimal."""
  return [round(1000 * percentile(seconds, p), 1) for p in percents]


def measured_apart(module, case, **options):
  """Runs a case of a benchmark in its own process.

  The process gets the flags of this one and --case.

  Args:
    module: such as "benchmarks.conversion".
    case: str for --case.
    **options: of subprocess.run.

  Returns:
    The JSON value of its last line on standard output.

  Raises:
    subprocess.CalledProcessError: it failed, and `options` keep its messages.
    SystemExit: it failed and has printed why.
  """
  try:
    run = subprocess.run(
      [sys.executable, "-m", module, *sys.argv[1:], f"--case={case}"],
      check=True,
      stdout=subprocess.PIPE,
      text=True,
      **options,
    )
  except subprocess.CalledProcessError as error:
    if error.stderr is None:
      sys.exit(error.returncode)
    raise
  return json.loads(run.stdout.splitlines()[-1])
