"""The documents: they run, or their commands and names exist; so do links."""

import ast
import collections
import contextlib
import importlib
import inspect
import itertools
import json
import os
import pathlib
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from xml.etree import ElementTree

import pytest
from absl import flags

import bert_span
import bert_span.jobs
from bert_span.cli.flags import read_flags
from bert_span.options.fields import FOREIGN, option_fields
from bert_span.presets.huggingface_writer import save_huggingface
from bert_span.presets.load_pretrained import load_pretrained
from bert_span.text.options import WindowOptions
from tests.support.models import tiny_extractor
from tests.support.programs import define_flags, run_here, run_python

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_FOLDERS = ".", "docs", "export", "export/*", "benchmarks", "benchmarks/*"
_PAGES = sorted(
  path.relative_to(_ROOT).as_posix()
  for folder in _FOLDERS
  for path in _ROOT.glob(f"{folder}/*.md")
)
# They run whole. The commands of other pages run in tests of what they do.
_RUN = {"README.md": pytest.mark.large, "docs/tutorial.md": pytest.mark.slow}
_MODULE = r"(?:bert_span|benchmarks|tests)\.\w+"
_COMMAND = rf"python -m {_MODULE}|^export_\w+\.py|^bert_span_(?!lite)\w+ "


def _text(page):
  return (_ROOT / page).read_text(encoding="utf-8")


def _blocks(page, language):
  return re.findall(rf"^```{language}\n(.*?)^```", _text(page), re.M | re.S)


def _steps(page):
  """(why it is not run or "", "sh" or "python", block), from top to bottom."""
  return re.findall(
    r"(?:<!-- not run: ([^>]+) -->\n)?^```(sh|python)\n(.*?)^```",
    _text(page),
    re.M | re.S,
  )


def _statements(block):
  """Yields the commands of a shell block, each without its comment.

  A loop yields its commands with each value of its variable.
  """
  block = re.sub(
    r"^for (\w+) in (.*); do\n(.*?)^done\n",
    lambda loop: "".join(
      loop[3].replace(f"${loop[1]}", value) for value in loop[2].split()
    ),
    block,
    flags=re.M | re.S,
  )
  statement = ""
  for line in block.replace("\\\n", " ").splitlines(keepends=True):
    statement += line
    with contextlib.suppress(ValueError):  # Quotation marks are open.
      if words := shlex.split(statement, comments=True):
        yield statement, words
      statement = ""


def _program(words):
  """The module of one of our programs and its words; None of another."""
  words = [*itertools.dropwhile(lambda word: "=" in word, words)]
  name, *rest = words or [""]
  if name.endswith("python") and rest[:1] == ["-m"]:
    if not re.match(_MODULE, rest[1]):
      return None
    name, *rest = rest[1:]
  elif re.match(r"export_\w+\.py", name):
    name = f"export.{name.removesuffix('.py')}"
  elif re.match(r"bert_span_(?!lite)", name):
    name = name.replace("span_", "span.", 1)
  else:
    return None
  ends = [i for i, word in enumerate(rest) if word in ("|", "<", ">", "&&")]
  return name, rest[: ends[0] if ends else None]


@pytest.mark.parametrize("page", _PAGES)
def test_every_command_gives_options_that_its_program_takes(
  page, tmp_path, monkeypatch
):
  monkeypatch.chdir(tmp_path)
  (tmp_path / "flags").symlink_to(_ROOT / "flags")
  for block in _blocks(page, "sh"):
    programs = [_program(words) for _, words in _statements(block)]
    programs = [program for program in programs if program]
    assert len(programs) >= len(re.findall(_COMMAND, block, re.M))
    for name, words in programs:
      _check_options(name, words)


def _check_options(name, words):
  """Makes the options of a command, or where it has "..." only its flags."""
  if (_ROOT / name.replace(".", "/")).is_dir():
    name += ".__main__"
  code = _text(f"{name.replace('.', '/')}.py")
  if not re.search(r"^(def main\(argv\)|run = program)", code, re.M):
    return  # Its options are those of argparse.
  define_flags(name)
  options_type = None
  if hasattr(sys.modules[name], "run"):
    options_type = sys.modules[name].run.options_type
  fields = option_fields(options_type) if options_type else []
  is_foreign = FOREIGN in [field.metadata["flag"] for field in fields]
  known = [word for word in words if "..." not in word]
  _, *rest = flags.FLAGS([name, *known], known_only=is_foreign)
  if not options_type:
    assert not rest
  elif known == words:
    if is_foreign:
      pytest.importorskip("apache_beam")
    options = read_flags(options_type, rest)
    # A runner for Dask has its flags in a module that needs it.
    if is_foreign and ("dask" not in str(rest) or find_spec("dask")):
      beam = importlib.import_module("bert_span.beam.pipeline_options")
      beam.pipeline_options(options.beam, options.num_shards)


# What the pages' Python begins with; an object has the meaning of its class.
_NAMES = {
  "bert_span": bert_span,
  "extractor": bert_span.SpanExtractor,
  "SpanExtractor": bert_span.SpanExtractor,
}
_CHECKED = ("bert_span", "keras", "keras_hub", "tensorflow")


@pytest.mark.parametrize(
  "page",
  # The program of the page on development is run below.
  [p for p in _PAGES if p not in (*_RUN, "docs/development.md")],
)
def test_names_and_arguments_in_the_python_of_a_page_exist(page):
  names = dict(_NAMES)
  for block in _blocks(page, "python"):
    for statement in ast.parse(block).body:
      for node in ast.walk(statement):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
          names |= _imported(node)
        elif isinstance(node, ast.Call):
          _check_arguments(node, names)
      if isinstance(statement, ast.Assign):
        for target in statement.targets:
          if isinstance(target, ast.Name):
            names[target.id] = _meaning(statement.value, names)


def _imported(node):
  """The meanings of the names that a statement imports."""
  found = {}
  for alias in node.names:
    module = getattr(node, "module", None) or alias.name
    if module.partition(".")[0] not in _CHECKED:
      found[alias.asname or alias.name.partition(".")[0]] = None
    elif isinstance(node, ast.ImportFrom):
      found[alias.asname or alias.name] = getattr(
        importlib.import_module(module), alias.name
      )
    else:
      importlib.import_module(module)
      name = module if alias.asname else module.partition(".")[0]
      found[alias.asname or name] = sys.modules[name]
  return found


def _meaning(node, names):
  """What an expression is, or the class of what it is; None if not known."""
  if isinstance(node, ast.Name):
    return names.get(node.id)
  if isinstance(node, ast.Attribute):
    base = _meaning(node.value, names)
    found = getattr(base, node.attr, None)
    return None if isinstance(found, property) else found
  if isinstance(node, ast.Call):
    function = _meaning(node.func, names)
    if inspect.isclass(function):
      return function
    if getattr(function, "__name__", "") == "from_preset":
      return function.__self__
  return None


def _check_arguments(call, names):
  """Checks that a method exists, and the keywords of what is called."""
  if isinstance(call.func, ast.Attribute):
    base = _meaning(call.func.value, names)
    assert base is None or hasattr(base, call.func.attr), ast.unparse(call)
  function = _meaning(call.func, names)
  if not callable(function):  # Not known, or a property.
    return
  parameters = inspect.signature(function).parameters
  if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
    return
  keywords = {keyword.arg for keyword in call.keywords} - {None}
  assert keywords <= {*parameters}, ast.unparse(call)


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


def test_the_page_of_flags_is_that_of_the_options():
  written = runpy.run_path(str(_ROOT / "docs" / "write_flags.py"))
  # If not: python docs/write_flags.py
  assert _text("docs/flags.md") == written["flags_page"]()


def test_the_program_of_the_development_page_runs(tmp_path, monkeypatch):
  _, program, job = _blocks("docs/development.md", "python")
  for folder, package in (("", bert_span), ("jobs", bert_span.jobs)):
    path = tmp_path / folder
    path.mkdir(exist_ok=True)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(path)])
  (tmp_path / "count_questions.py").write_text(program)
  (tmp_path / "jobs" / "count_questions.py").write_text(job)
  questions = _ROOT / "bert_span" / "sample" / "dev.json"
  name, data = "bert_span.count_questions", f"--predict_file={questions}"
  count = int(run_here(name, data).stdout)
  assert 0 < int(run_here(name, data, "--answerable").stdout) < count
  refused = run_here(name, data, f"--output_file=file://{questions}")
  assert "--output_file=file:" in refused.stderr and refused.returncode == 1
  module = importlib.import_module(name)
  options = module.CountQuestionsOptions(predict_file=questions)
  assert (
    importlib.import_module("bert_span.jobs.count_questions").count_questions(
      options
    )
    == count
  )


def test_the_api_page_has_every_public_name():
  shown = re.findall(r"^::: ([\w.]+)\.(\w+)$", _text("docs/api.md"), re.M)
  for module, name in shown:
    path = _ROOT / f"{module.replace('.', '/')}.py"
    assert re.search(rf"^(class|def) {name}\b", path.read_text("utf-8"), re.M)
  assert set(bert_span.__all__) - {"__version__"} <= {name for _, name in shown}


def test_the_model_of_a_hub_in_the_first_commands_runs_everywhere():
  published = json.loads(_text("tests/presets/published.json"))
  vocabularies = {
    name: published["families"][form["family"]]["file"]
    for form in published["forms"]
    for name in form.get("names", ())
  }
  for page in ("README.md", "docs/coming_from_transformers.md"):
    names = re.findall(r"=hf://([\w-]+/[\w-]+)", "".join(_blocks(page, "sh")))
    assert len(names) == 3
    # WordPieces, as the browser reads no other tokens.
    assert {vocabularies[name] for name in names} == {"vocab.txt"}


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
  """A random model with the packaged one's vocabulary and windows."""
  folder = tmp_path_factory.mktemp("tiny") / "model"
  tiny_extractor(
    version_2=True,
    window_options=WindowOptions(),
    vocabulary=load_pretrained("minilm_squad").vocabulary(None),
  ).save_to_preset(folder)
  return folder


@pytest.fixture
def reader_folder(tmp_path, tiny_model):
  """A clone as a reader has it, with a smaller sample and smaller models."""
  folder = tmp_path / "checkout"
  (tmp_path / "tmp").mkdir()
  (folder / "flags").mkdir(parents=True)
  sample = folder / "bert_span" / "sample"
  sample.mkdir(parents=True)
  for path in (_ROOT / "flags").iterdir():
    text = path.read_text("utf-8")
    (folder / "flags" / path.name).write_text(
      _replaced(text, tmp_path, tiny_model)
    )
  for path in (_ROOT / "bert_span" / "sample").iterdir():
    if path.suffix == ".json" and path.stem in ("train", "dev"):
      squad = json.loads(path.read_text("utf-8"))
      del squad["data"][2:]
      (sample / path.name).write_text(json.dumps(squad), "utf-8")
    else:
      (sample / path.name).symlink_to(path)
  return folder


def _replaced(text, folder, tiny_model):
  """Commands with absolute paths in a folder, and small models."""
  replacements = {
    "minilm_squad": str(tiny_model),
    "/tmp/": f"{folder}/tmp/",
  }
  words = "|".join(map(re.escape, replacements))
  return re.sub(
    rf"(?<![\w/.])(?:{words})(?!\d)", lambda match: replacements[match[0]], text
  )


@pytest.mark.parametrize(
  "page", [pytest.param(page, marks=tier) for page, tier in _RUN.items()]
)
def test_the_blocks_of_a_page_run_in_their_order(
  page, reader_folder, tmp_path, tiny_model, few_samples, model_hub, monkeypatch
):
  monkeypatch.chdir(reader_folder)
  run = "".join(block for reason, _, block in _steps(page) if not reason)
  models = {*re.findall(r"hf://([\w-]+/[\w-]+)", run)}
  if models:
    extractor = bert_span.SpanExtractor.from_preset(tiny_model)
    save_huggingface(extractor, reader_folder / "theirs")
    for name in models:
      model_hub.push(name, reader_folder / "theirs")
  names = {}
  for reason, language, block in _steps(page):
    if reason:
      continue
    if language == "python":  # with the model of the package
      exec(block, names)
      continue
    code = _replaced(block, tmp_path, tiny_model)
    for statement, words in _statements(code):
      if program := _program(words):
        name, arguments = program
        run = run_here(name, *arguments)
      else:  # Not subprocess.run, which `few_samples` replaces.
        run = subprocess.Popen(["bash", "-c", statement])
        run.wait()
      assert run.returncode == 0, (statement, getattr(run, "stderr", ""))
  asked = {name for name in models for x in model_hub.requests if name in x}
  assert asked == models
  if page == "README.md":
    assert names["answer"].text == "Ingrid Halvorsen"
    assert (reader_folder / "output" / "model" / "task.json").is_file()


# Programs run in the notebook's process, and exports are compared on a few
# samples there: as commands, and on all samples, they are tested elsewhere.
_FASTER = """
import shlex
import subprocess
from tests.support.models import ask_here, few_samples
from tests.support.programs import succeeds_here
from bert_span.serving import export

few = few_samples()
export.sample_examples = lambda _: few


def run_line(line):
  python, m, *command = shlex.split(line)
  done = succeeds_here(*command)
  print(done.stdout, done.stderr)


subprocess.run = ask_here
get_ipython().system = run_line
"""


@pytest.mark.slow
def test_the_notebook_runs_and_shows_its_pictures(tmp_path, monkeypatch):
  for package in ("nbformat", "nbclient", "ipykernel"):
    pytest.importorskip(package)
  monkeypatch.setenv("PATH", os.environ["PATH"])  # `execute` changes it.
  monkeypatch.setenv("PYTHONPATH", str(_ROOT))
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


def test_a_command_is_recorded(tmp_path):
  (tmp_path / "images").mkdir()
  path = shutil.copy(_ROOT / "docs" / "record_terminal.py", tmp_path)
  run = run_python(
    path, "said", "echo", f"<1>\n{'long' * 40}\n{tmp_path.parent}/a"
  )
  assert run.returncode == 0, run.stderr
  picture = ElementTree.parse(tmp_path / "images" / "said.svg")
  texts = [e.text for e in picture.iter() if e.tag.endswith("}text")]
  assert texts[1:] == ["<1>", ("long" * 40)[:92], "a"]
  assert run_python(path, "said", "false").returncode == 1


def test_every_picture_is_drawn_and_shown(tmp_path):
  (tmp_path / "docs" / "images").mkdir(parents=True)
  (tmp_path / "bert_span").symlink_to(_ROOT / "bert_span")
  for name in ("draw_pictures.py", "architecture.md"):
    shutil.copy(_ROOT / "docs" / name, tmp_path / "docs")
  run = run_python(tmp_path / "docs" / "draw_pictures.py")
  assert run.returncode == 0, run.stderr
  drawn = [*(tmp_path / "docs" / "images").iterdir()]
  assert drawn
  pages = "".join(map(_text, _PAGES))
  for path in drawn:
    assert f"images/{path.name}" in pages
    # Draw them again after a change of the code.
    saved = _ROOT / "docs" / "images" / path.name
    assert _shown(path) == _shown(saved), path.name


def _shown(path):
  """The texts of a picture, and the number of its shapes of each kind."""
  elements = [*ElementTree.parse(path).iter()]
  texts = [e.text for e in elements if e.tag.endswith("}text")]
  return texts, collections.Counter(e.tag for e in elements)
