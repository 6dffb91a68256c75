"""Options that name files, made in Python; tests/cli has those of programs."""

import dataclasses
import os

import pytest

from bert_span.options.fields import option
from bert_span.storage.options import FileOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Options(FileOptions):
  source: str | None = option(None, "A file.", is_input=True)
  others: tuple[str, ...] = option((), "Files.", is_input=True)
  report: str | None = option(
    None, "A file.", is_output=True, writes=(".json",)
  )
  folder: str | None = option(
    None,
    "A folder.",
    is_output=True,
    writes={None: (r"a-\d+\.txt", "model/"), "trains": ("log",)},
  )
  trains: bool = option(False, "A switch.")


@pytest.mark.parametrize(
  ("options", "named"),
  [
    ({"source": "x", "report": "x"}, "report=x .*source=x"),
    ({"source": "x.json", "report": "x"}, "report=x.json .*source=x.json"),
    ({"others": ("y", "x"), "report": "./x"}, "report=./x .*others=x"),
    ({"source": "link", "report": "x"}, "report=x .*source=link"),
    ({"source": "hard", "report": "x"}, "report=x .*source=hard"),
    ({"source": "y,a-*", "folder": "."}, "a-1.txt of folder .*a-1.txt"),
    ({"source": "model/b", "folder": "."}, "model/ of folder .*model/b"),
    ({"source": "log", "folder": ".", "trains": True}, "log of folder .*log"),
  ],
)
def test_an_output_that_is_an_input_is_refused(
  tmp_path, monkeypatch, options, named
):
  monkeypatch.chdir(tmp_path)
  for name in ("x", "y", "a-1.txt", "log"):
    (tmp_path / name).touch()
  (tmp_path / "model").mkdir()
  os.symlink("x", "link")
  os.link("x", "hard")
  with pytest.raises(ValueError, match=named):
    _Options(**options)


def test_other_files_are_allowed_and_paths_are_texts(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / "log").touch()
  _Options(source="log", folder=".")  # Only with `trains` is it written.
  options = _Options(source=tmp_path / "x", others=[tmp_path / "y"], report="z")
  assert options.source == f"{tmp_path}/x"
  assert options.others == (f"{tmp_path}/y",)
  assert [*options.named_files()] == [
    ("`source`", f"{tmp_path}/x"),
    ("`others`", f"{tmp_path}/y"),
    ("`report`", "z"),
  ]
