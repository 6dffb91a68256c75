"""The parts of the slow tier that a change runs."""

import collections
import datetime
import fnmatch
import re
import subprocess

import pytest

from tests.scripts.slow_sample import PARTS, Part, changed_files, choose

_PARTS = {
  "java": Part(3, ("a/*.java", "pom.xml")),
  "web": Part(2, ("web/*",)),
  "phones": Part(4, ("a/*",)),
  "old": Part(9, ("setup.py",)),
}


def _turns(changed, **options):
  """How many of 200 commits choose which parts."""
  return collections.Counter(
    tuple(sorted(choose(_PARTS, changed, str(commit), **options)))
    for commit in range(200)
  )


def test_parts_of_changed_files_are_chosen_as_far_as_the_minutes_reach():
  web = _turns(["README.md", "web/in/page.js"], max_minutes=5)
  assert web == {("web",): 200}
  both = _turns(["pom.xml", "web/page.js"], max_minutes=5)
  assert both == {("java", "web"): 200}
  # 3 + 2 fit, 4 is beside none of them: each has its turn.
  many = _turns(["a/A.java", "web/page.js"], max_minutes=5)
  assert set(many) == {("java", "web"), ("phones",)}
  assert min(many.values()) > 40
  # One that is over the limit, if there is no other.
  assert _turns(["setup.py"], max_minutes=5) == {("old",): 200}
  assert _turns(["setup.py", "web/page.js"], max_minutes=5) == {("web",): 200}


def test_without_a_changed_file_every_part_within_the_limit_has_its_turn():
  for changed in ([], ["README.md"]):
    turns = _turns(changed, max_minutes=5)
    assert set(turns) == {("java",), ("web",), ("phones",)}
    assert min(turns.values()) > 40
  assert choose(_PARTS, [], "abc") == choose(_PARTS, [], "abc")


@pytest.fixture
def history(tmp_path):
  """Functions that run git in a new repository, and commit files on `main`."""

  def git(*arguments):
    settings = "-c", "user.name=a", "-c", "user.email=a@example.org"
    done = subprocess.run(
      ["git", "-C", tmp_path, *settings, *arguments],
      check=True,
      capture_output=True,
      text=True,
    )
    return done.stdout.strip()

  def commit(name):
    (tmp_path / name).write_text(name)
    git("add", ".")
    git("commit", "-qm", "c")
    return git("rev-parse", "HEAD")

  git("init", "-qb", "main")
  return git, commit


def test_changes_are_those_since_the_base_the_branch_or_20_commits(
  history, tmp_path
):
  git, commit = history
  first = commit("first")
  commits = [commit(f"f{n}") for n in range(20)]
  names = {f"f{n}" for n in range(20)}
  # On the default branch itself.
  assert changed_files(tmp_path)[:2] == (names, commits[-1])
  assert changed_files(tmp_path, first)[0] == names
  assert changed_files(tmp_path, commits[-3])[0] == {"f18", "f19"}
  git("checkout", "-qb", "topic", commits[10])
  tip = commit("new")
  assert changed_files(tmp_path)[:2] == ({"new"}, tip)
  # What is not committed is a change, too.
  (tmp_path / "f1").write_text("other")
  assert changed_files(tmp_path)[0] == {"new", "f1"}
  with pytest.raises(ValueError, match=r"CI_BASE.*'missing'"):
    changed_files(tmp_path, "missing")


def test_without_history_the_date_draws(tmp_path):
  today = datetime.date.today().isoformat()
  files, drawn_by, since = changed_files(tmp_path)
  assert (files, "no git" in since) == (set(), True)
  assert today <= drawn_by <= datetime.date.today().isoformat()


def test_the_table_has_the_parts_of_make_and_files_that_exist(repository):
  makefile = (repository / "Makefile").read_text("utf-8")
  (parts,) = re.findall(r"^SLOW_PARTS := ((?:.*\\\n)*.*)", makefile, re.M)
  assert sorted(PARTS) == sorted(parts.replace("\\\n", "").split())
  files = [
    str(path.relative_to(repository))
    for folder in (
      *("benchmarks", "bert_span", "docs"),
      *("export", "flags", "tests"),
    )
    for path in (repository / folder).rglob("*.*")
  ]
  for part in PARTS.values():
    for pattern in part.patterns:
      assert fnmatch.filter([*files, "setup.py"], pattern), pattern
