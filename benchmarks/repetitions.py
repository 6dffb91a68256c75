"""Repeated measurements, and cases measured in their own processes."""

import json
import os
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


def rate_summary(count, seconds):
  """Dict of the median, lowest and highest of count / seconds."""
  rates = [count / each for each in seconds]
  return {
    "median": statistics.median(rates),
    "lowest": min(rates),
    "highest": max(rates),
  }


def spread(summary):
  """The lowest and highest of a `rate_summary`, as text."""
  return f"{summary['lowest']:,.0f} to {summary['highest']:,.0f}"


def measured_apart(module, case, environment=None):
  """Runs a case of a benchmark in its own process.

  The process gets the flags of this one and --case.

  Args:
    module: such as "benchmarks.conversion".
    case: str for --case.
    environment: dict of additional environment variables.

  Returns:
    The JSON value of its last line on standard output.
  """
  process = subprocess.run(
    [sys.executable, "-m", module, *sys.argv[1:], f"--case={case}"],
    stdout=subprocess.PIPE,
    text=True,
    check=True,
    env={**os.environ, **(environment or {})},
  )
  return json.loads(process.stdout.splitlines()[-1])
