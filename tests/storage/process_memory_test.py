"""The peak of a process is its own."""

import subprocess
import sys

from bert_span.storage.process_memory import process_peak_bytes

_SCRIPT = """
from bert_span.storage.process_memory import process_peak_bytes
x = bytes(50_000_000)
print(process_peak_bytes())
"""


def test_a_process_does_not_count_the_memory_of_the_one_that_started_it():
  large = bytearray(300_000_000)
  large[::4096] = b"x" * len(large[::4096])  # resident
  assert process_peak_bytes() > 300_000_000
  done = subprocess.run(
    [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True
  )
  assert 10_000_000 < int(done.stdout) < 300_000_000
