"""Chooses the parts of `make test-slow` that a change should run; `.ci/run`.

  python tests/scripts/slow_sample.py

Prints targets of make: those whose files changed since the commit CI_BASE;
without it since the default branch, or in the last 20 commits. If none did, one
within _MAX_MINUTES is drawn by the hash of the commit, and so is the order in
which they are taken, up to _MAX_MINUTES.
"""

import datetime
import fnmatch
import hashlib
import os
import subprocess
import sys
from typing import NamedTuple

_MAX_MINUTES = 3
_NUM_COMMITS = 20


class Part(NamedTuple):
  minutes: int  # with installation, on two cores
  patterns: tuple[str, ...]  # of the files that it depends on; * is any path


_EXPORTED = ("bert_span/serving/*", "bert_span/answers/*", "bert_span/text/*")
_TFLITE = ("bert_span/tflite/*", "bert_span/modeling/inference_encoder.py")
PARTS = {
  "test-benchmarks": Part(
    4, ("benchmarks/*.py", "flags/minilm_squad.flags", "tests/benchmarks/*")
  ),
  "test-tutorial": Part(
    2, ("docs/run_tutorial.py", "docs/tutorial.*", "tests/docs_test.py")
  ),
  "test-architectures": Part(
    3,
    (
      *("bert_span/modeling/*", "bert_span/presets/architectures/*"),
      *("bert_span/serving/*", "bert_span/tflite/*", "setup.py"),
      *("tests/presets/architectures/*", "tests/modeling/m*bert_test.py"),
    ),
  ),
  "test-beam": Part(
    1,
    (
      *("bert_span/beam/*", "bert_span/beam_*", "bert_span/jobs/beam_*"),
      *("tests/beam/*", "tests/jobs/beam_*"),
    ),
  ),
  "test-cpp": Part(
    3,
    (
      # Its tokens and answers are compared with ours.
      *(*_TFLITE, "bert_span/answers/*", "bert_span/text/*", "export/cpp/*"),
      *("tests/device/conftest.py", "tests/device/cpp_test.py"),
      "tests/device/rows.cc",
    ),
  ),
  "test-java": Part(
    1,
    ("docs/tflite.md", "export/cpp/*", "export/java/*", "tests/device/*java*"),
  ),
  "test-lite": Part(
    3,
    (*_TFLITE, "export/cpp/*", "export/python/*", "tests/device/lite_test.py"),
  ),
  "test-integrations": Part(
    4, ("docs/integrations.md", "tests/slow/integrations_test.py")
  ),
  "test-transformers4": Part(
    3,
    (
      *("bert_span/pipelines.py", "tests/pipelines_test.py"),
      "bert_span/presets/huggingface_writer.py",
      "tests/scripts/transformers_pipeline.py",
    ),
  ),
  "test-kserve": Part(
    2,
    (
      *("export/serving/*", "bert_span/client/*", "bert_span/serving/*"),
      "tests/slow/kserve_test.py",
    ),
  ),
  "test-model-garden": Part(
    5,
    (
      "bert_span/presets/*model_garden*",
      "tests/presets/model_garden_test.py",
      "tests/scripts/model_garden_files.py",
    ),
  ),
  "test-openvino": Part(1, (*_TFLITE, "tests/slow/openvino_test.py")),
  "test-task-library": Part(
    3, (*_TFLITE, "bert_span/text/windows.py", "tests/scripts/task_library*")
  ),
  "test-old-runtimes": Part(6, (*_EXPORTED, "tests/scripts/old_runtimes.py")),
  "test-lowest": Part(8, ("setup.py", "tests/scripts/lowest_versions.py")),
  "test-aarch64": Part(
    4, ("export/cpp/*", "tests/device/rows.cc", "tests/device/aarch64_test.py")
  ),
}


def choose(parts, changed, commit, max_minutes=_MAX_MINUTES):
  """The names of some of `parts`, by the changed files and a commit's hash.

  Of the parts that depend on a changed file as many as fit the minutes; if each
  of them takes longer, one. If there are none, one of those that fit.
  """
  hit = [
    name
    for name, part in parts.items()
    if any(fnmatch.filter(changed, pattern) for pattern in part.patterns)
  ]
  fitting = [n for n, part in parts.items() if part.minutes <= max_minutes]
  drawn = sorted(
    [name for name in hit if name in fitting] or hit or fitting,
    key=lambda name: hashlib.sha256(f"{commit} {name}".encode()).digest(),
  )
  chosen, minutes = drawn[:1], parts[drawn[0]].minutes
  for name in drawn[1:]:
    if hit and minutes + parts[name].minutes <= max_minutes:
      chosen.append(name)
      minutes += parts[name].minutes
  return chosen


def changed_files(repository, base=None):
  """The files that changed, the commit, and since when in words.

  Without the history of git no files, today's date, and a note on that.
  """

  def git(*arguments):
    done = subprocess.run(
      ["git", "-C", repository, *arguments], capture_output=True, text=True
    )
    return done.stdout.split() if done.returncode == 0 else None

  head = git("rev-parse", "HEAD")
  if not head:
    today = datetime.date.today().isoformat()
    return set(), today, f"no git history is here, drawn by the date {today}"
  if not base:
    for branch in ("origin/HEAD", "origin/main", "main"):
      found = git("merge-base", "HEAD", branch)
      if found and found != head:
        (base,) = found
        break
  if base:
    files = git("diff", "--name-only", base)
    if files is None:
      raise ValueError(f"CI_BASE must be a commit of git. Received: {base!r}.")
    return {*files}, *head, f"since {base}"
  files = git("log", f"-{_NUM_COMMITS}", "--name-only", "--format=")
  return {*files}, *head, f"in the last {_NUM_COMMITS} commits"


def main():
  files, commit, since = changed_files(".", os.environ.get("CI_BASE"))
  print(f"{len(files)} files changed: {since}.", file=sys.stderr)
  print(*choose(PARTS, files, commit))


if __name__ == "__main__":
  main()
