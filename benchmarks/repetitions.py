"""Repeated measurements, and cases measured in processes of their own."""

import json
import os
import statistics
import subprocess
import sys
import time


def repeated_seconds(work, repetitions, warm_up=1):
  """Times some work again and again.

  Args:
    work: function without arguments.
    repetitions: measurements.
    warm_up: calls before them that do not count.

  Returns:
    List of float, seconds of each, and what the last call gave.
  """
  seconds, result = [], None
  for number in range(warm_up + repetitions):
    begin = time.perf_counter()
    result = work()
    if number >= warm_up:
      seconds.append(time.perf_counter() - begin)
  return seconds, result


def rate_summary(count, seconds):
  """How many a second, with the spread of the repetitions.

  Args:
    count: what each repetition has done.
    seconds: list of float.

  Returns:
    Dict of median, lowest and highest number a second.
  """
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
  """Runs a case of a benchmark in a process of its own.

  The program is started with the flags of this one and --case; its last line
  on standard output is JSON.

  Args:
    module: such as "benchmarks.conversion".
    case: str for --case.
    environment: dict of variables beside those of this process.

  Returns:
    What the line holds.

  Raises:
    subprocess.CalledProcessError: the process failed.
  """
  process = subprocess.run(
    [sys.executable, "-m", module, *sys.argv[1:], f"--case={case}"],
    stdout=subprocess.PIPE,
    text=True,
    check=True,
    env={**os.environ, **(environment or {})},
  )
  return json.loads(process.stdout.splitlines()[-1])
