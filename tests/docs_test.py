"""The documentation: its Python runs, its flags, links and notebook exist."""

import functools
import importlib.resources
import inspect
import json
import os
import pathlib
import re
import runpy
import shutil
from xml.etree import ElementTree

import pytest
from absl import flags
from programs import define_flags, run_python

import bert_span

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_FOLDERS = ".", "docs", "export", "export/*", "benchmarks", "benchmarks/*"
_PAGES = sorted(
  path.relative_to(_ROOT).as_posix()
  for folder in _FOLDERS
  for path in _ROOT.glob(f"{folder}/*.md")
)
_PROGRAM = re.compile(
  r"-m ((?:bert_span|export)\.\w+(?!\S*\.)|benchmarks(?:\.\w+)+)"
)
# Options of Beam and of argparse programs are not absl flags.
_FOREIGN = {"bert_span.beam_predict", "bert_span.beam_create_records"}


def _text(page):
  return (_ROOT / page).read_text(encoding="utf-8")


def _blocks(page, language):
  return re.findall(rf"^```{language}\n(.*?)^```", _text(page), re.M | re.S)


def _commands(page):
  """(program, names of its flags) of each command in the shell blocks."""
  for block in _blocks(page, "sh"):
    code = re.sub(r"(?<!\S)#.*", "", block.replace("\\\n", " "))
    code = re.sub(r"'[^']*'|\"[^\"]*\"", "X", code)
    for line in code.splitlines():
      if found := _PROGRAM.search(line):
        command = re.split(r" [|<>;&]", line[found.end() :])[0]
        yield found.group(1), re.findall(r"(?<!\S)\[?--(\w+)", command)


@functools.cache
def _flags_of(program):
  """Names of a program's flags, with the no- form of the boolean ones."""
  names = define_flags(program)
  return {*names, *(f"no{name}" for name in names if flags.FLAGS[name].boolean)}


@pytest.mark.parametrize("page", _PAGES)
def test_the_flags_of_every_command_exist(page):
  for program, names in _commands(page):
    code = _text(f"{program.replace('.', '/')}.py")
    if not re.search(r"^def (main|run)\(argv\)", code, re.M):
      continue
    known = {*_flags_of(program), "flagfile", "help", "helpfull"}
    unknown = set(names) - known
    if program in _FOREIGN:
      unknown -= _beam_options()
    assert not unknown, f"{program} has no {sorted(unknown)}"


@functools.cache
def _beam_options():
  beam = pytest.importorskip("apache_beam.options.pipeline_options")
  names = {*re.findall(r"--(\w+)", inspect.getsource(beam))}
  # Of the Flink runner's job server, of portable runners, and of DaskRunner,
  # whose module needs Dask.
  names |= {"flink_master", "parallelism"}
  return names | {"dask_client_address", "dask_npartitions"}


def _prose(page):
  """A page without its code."""
  return re.sub(r"^```.*?^```", "", _text(page), flags=re.M | re.S)


def _anchors(page):
  """Anchors that code hosts give to a page's headings."""
  headings = re.findall(r"^#+ (.+)$", _prose(page).lower(), re.M)
  return {re.sub(r"[^\w\- ]", "", h).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", _PAGES)
def test_relative_links_exist(page):
  for link in re.findall(r"\]\((?![a-z]+:)([^)\s]+)\)", _prose(page)):
    path, _, anchor = link.partition("#")
    target = (_ROOT / page).parent / path if path else _ROOT / page
    assert target.exists(), link
    assert not anchor or anchor in _anchors(target), link


def test_the_api_page_has_every_public_name():
  shown = re.findall(r"^::: ([\w.]+)\.(\w+)$", _text("docs/api.md"), re.M)
  for module, name in shown:
    path = _ROOT / f"{module.replace('.', '/')}.py"
    assert re.search(rf"^(class|def) {name}\b", path.read_text("utf-8"), re.M)
  assert set(bert_span.__all__) - {"__version__"} <= {name for _, name in shown}


@pytest.mark.large
def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
  sample = importlib.resources.files("bert_span") / "sample" / "train.json"
  squad = json.loads(sample.read_text("utf-8"))
  del squad["data"][1:], squad["data"][0]["paragraphs"][1:]
  (tmp_path / "my_train.json").write_text(json.dumps(squad), "utf-8")
  monkeypatch.chdir(tmp_path)
  names = {}
  for block in _blocks("README.md", "python"):
    exec(block, names)
  assert names["answer"].text == "Ingrid Halvorsen"
  assert (tmp_path / "output" / "model" / "span_config.json").is_file()


# Programs run in the notebook's process, and exports are compared on a few
# samples there: as commands, and on all samples, they are tested elsewhere.
_FASTER = """
import shlex
import subprocess
from exported_model import ask_here, few_samples
from programs import succeeds_here
from bert_span.serving import export

few = few_samples()
export.sample_examples = lambda: few


def run_line(line):
  python, m, *command = shlex.split(line)
  done = succeeds_here(*command)
  print(done.stdout, done.stderr)


subprocess.run = ask_here
get_ipython().system = run_line
"""


@pytest.mark.large
def test_the_notebook_runs_and_shows_its_pictures(tmp_path, monkeypatch):
  for package in ("nbformat", "nbclient", "ipykernel"):
    pytest.importorskip(package)
  monkeypatch.setenv("PATH", os.environ["PATH"])  # `execute` changes it.
  paths = str(_ROOT), str(_ROOT / "tests" / "support")
  monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
  tutorial = runpy.run_path(str(_ROOT / "docs" / "run_tutorial.py"))
  notebook = tutorial["nbformat"].read(tutorial["NOTEBOOK"], as_version=4)
  saved = [len(cell.get("outputs", ())) > 0 for cell in notebook.cells]
  notebook.cells[1].source += _FASTER
  data = notebook.cells[10]
  for file, passages in (("train", 15), ("dev", 5)):
    assert f'"{file}.json", {passages}' in data.source
    data.source = data.source.replace(f'json", {passages}', 'json", 2')
  tutorial["execute"](notebook, str(tmp_path))
  outputs = [
    output.get("data", {})
    for cell in notebook.cells
    for output in cell.get("outputs", ())
  ]
  assert any("image/png" in data for data in outputs)
  shown = [data.get("text/html", "") for data in outputs]
  asked, served = (html for html in shown if "<mark>" in html)
  assert "<mark>Ingrid Halvorsen</mark>" in asked
  assert served != asked
  # The saved outputs are those of the same cells.
  assert saved == [len(cell.get("outputs", ())) > 0 for cell in notebook.cells]


def test_every_picture_is_drawn_and_shown(tmp_path):
  images = tmp_path / "images"
  images.mkdir()
  script = shutil.copy(_ROOT / "docs" / "draw_pictures.py", tmp_path)
  assert run_python(script).returncode == 0
  pages = "".join(map(_text, _PAGES))
  for path in images.iterdir():
    assert ElementTree.parse(path).getroot().tag.endswith("}svg")
    assert f"images/{path.name}" in pages
