"""The documentation: its Python runs, its flags, links and notebook exist."""

import contextlib
import functools
import gzip
import importlib
import importlib.resources
import inspect
import json
import os
import pathlib
import re
import runpy
import shlex
import shutil
import subprocess
from xml.etree import ElementTree

import pytest
from absl import flags

import bert_span
import bert_span.jobs
from tests.support.programs import define_flags, run_here, run_python

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_FOLDERS = ".", "docs", "export", "export/*", "benchmarks", "benchmarks/*"
_PAGES = sorted(
  path.relative_to(_ROOT).as_posix()
  for folder in _FOLDERS
  for path in _ROOT.glob(f"{folder}/*.md")
)
_PROGRAM = re.compile(
  r"-m (bert_span\.\w+(?!\S*\.)|(?:benchmarks|tests)(?:\.\w+)+)|"
  r"^(export_\w+)\.py"
)
# Options of Beam and of argparse programs are not absl flags.
_FOREIGN = {"bert_span.beam_predict", "bert_span.beam_create_records"}


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


def _commands(page):
  """(program, names of its flags) of each command in the shell blocks."""
  for block in _blocks(page, "sh"):
    code = re.sub(r"(?<!\S)#.*", "", block.replace("\\\n", " "))
    code = re.sub(r"'[^']*'|\"[^\"]*\"", "X", code)
    for line in code.splitlines():
      if found := _PROGRAM.search(line):
        command = re.split(r" [|<>;&]", line[found.end() :])[0]
        name = found.group(1) or f"export.{found.group(2)}"
        yield name, re.findall(r"(?<!\S)\[?--(\w+)", command)


@functools.cache
def _flags_of(program):
  """Names of a program's flags, with the no- form of the boolean ones."""
  names = define_flags(program)
  return {*names, *(f"no{name}" for name in names if flags.FLAGS[name].boolean)}


@pytest.mark.parametrize("page", _PAGES)
def test_the_flags_of_every_command_exist(page):
  for program, names in _commands(page):
    if (_ROOT / program.replace(".", "/")).is_dir():
      program += ".__main__"
    code = _text(f"{program.replace('.', '/')}.py")
    if not re.search(r"^(def (main|run)\(argv\)|run = program)", code, re.M):
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
  assert (tmp_path / "output" / "model" / "task.json").is_file()


_RUNNABLE = [
  page
  for page in _PAGES
  if page == "README.md" or page.startswith("docs/")
  if not all(reason for reason, _, _ in _steps(page))
]
# What the pages have trained for hours.
_FEWER = {
  "for seed in 1 2 3;": "for seed in 1 2;",
  "--num_train_steps=10000": "--num_train_steps=2",
  "--num_warmup_steps=1000": "--num_warmup_steps=1",
}


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


def _write_few(sample, path):
  """Writes some answerable questions of a sample file as SQuAD 1.1."""
  squad = json.loads(sample.read_text("utf-8"))
  del squad["data"][2:]
  for article in squad["data"]:
    del article["paragraphs"][1:]
    for paragraph in article["paragraphs"]:
      paragraph["qas"] = [q for q in paragraph["qas"] if q["answers"]]
      for question in paragraph["qas"]:
        question.pop("is_impossible", None)
  path.write_text(json.dumps(squad | {"version": "1.1"}), "utf-8")


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
  """A random model with the packaged one's vocabulary and windows."""
  from bert_span.presets.load_pretrained import load_pretrained
  from bert_span.text.options import WindowOptions
  from tests.support.models import tiny_extractor

  folder = tmp_path_factory.mktemp("tiny") / "model"
  tiny_extractor(
    version_2=True,
    window_options=WindowOptions(),
    vocabulary=load_pretrained("minilm_squad").vocabulary(None),
  ).save_to_preset(folder)
  encoder = shutil.copytree(folder, folder.with_name("encoder"))
  for name in (
    "task.json",
    "preprocessor.json",
    "task.weights.h5",
    "checksums.json",
  ):
    (encoder / name).unlink()
  return folder


@pytest.fixture
def reader_folder(tmp_path, tiny_model):
  """A folder as a reader of the pages has it, with the files that they name."""
  folder = tmp_path / "checkout"
  folder.mkdir()
  for name in ("bert_span", "export", "docs"):
    (folder / name).symlink_to(_ROOT / name)
  (folder / "flags").mkdir()
  for path in (_ROOT / "flags").iterdir():
    text = path.read_text("utf-8")
    (folder / "flags" / path.name).write_text(
      _replaced(text, tmp_path, tiny_model)
    )
  sample = _ROOT / "bert_span" / "sample"
  for name in ("train", "my_train", "dev", "my_dev", "held_out", "others"):
    source = sample / ("train.json" if "train" in name else "dev.json")
    _write_few(source, folder / f"{name}.json")
  passage = (sample / "passages" / "lighthouse.txt").read_text("utf-8")
  questions = {"id": "q1", "question": "Who?", "context": passage}
  files = {
    "passage.txt": passage,
    "notes/one.md": passage,
    "text/0.txt": f"{passage}\n" * 4,
    "held_out.txt": f"{passage}\n" * 4,
    "questions/0.jsonl": json.dumps(questions) + "\n",
  }
  for name, text in files.items():
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text, "utf-8")
  with gzip.open(folder / "text" / "0.txt.gz", "wt") as file:
    file.write(files["text/0.txt"])
  vocabulary = tiny_model / "assets" / "tokenizer" / "vocabulary.txt"
  shutil.copy(vocabulary, folder / "vocab.txt")
  for name in ("mine", "a", "b"):
    shutil.copytree(tiny_model, tmp_path / "tmp" / name / "model")
  return folder


def _replaced(text, folder, tiny_model):
  """Commands with absolute paths in a folder, small models and few steps."""
  replacements = {
    "minilm_squad": str(tiny_model),
    "all-minilm-l6-v2": str(tiny_model.with_name("encoder")),
    **_FEWER,
    "/tmp/": f"{folder}/tmp/",
    "/models/": f"{folder}/models/",
    "/srv/models/": f"{folder}/models/",
  }
  words = "|".join(map(re.escape, replacements))
  return re.sub(
    rf"(?<![\w/.])(?:{words})(?!\d)", lambda match: replacements[match[0]], text
  )


@pytest.mark.large
@pytest.mark.parametrize("page", _RUNNABLE)
def test_the_blocks_of_a_page_run_in_their_order(
  page, reader_folder, tmp_path, tiny_model, few_samples, model_hub, monkeypatch
):
  monkeypatch.chdir(reader_folder)
  run = "".join(block for reason, _, block in _steps(page) if not reason)
  models = {*re.findall(r"hf://([\w-]+/[\w-]+)", run)}
  if models or page == "docs/coming_from_transformers.md":
    from bert_span import SpanExtractor
    from bert_span.presets.huggingface_writer import save_huggingface

    extractor = SpanExtractor.from_preset(tiny_model)
    save_huggingface(extractor, reader_folder / "DIR")
    for name in models:
      model_hub.push(name, reader_folder / "DIR")
  if page == "docs/calibration.md":  # Some answers must be right.
    shutil.rmtree(tmp_path / "tmp" / "mine" / "model")
    packaged = _ROOT / "bert_span" / "pretrained" / "minilm_squad"
    shutil.copytree(packaged, tmp_path / "tmp" / "mine" / "model")
  passage = (reader_folder / "passage.txt").read_text("utf-8")
  names = {
    "bert_span": bert_span,
    "SpanExtractor": bert_span.SpanExtractor,
    "DIR": "DIR",
    "passage": passage,
    "passages": [passage] * 2,
    "question": "Who designed the lighthouse?",
  }
  for reason, language, block in _steps(page):
    if reason:
      continue
    code = _replaced(block, tmp_path, tiny_model)
    if language == "python":
      exec(code, names)
      continue
    for statement, words in _statements(code):
      if words[0] == "pip":
        continue  # The packages of all extras are installed for the tests.
      if words[:2] == ["python", "-m"]:
        run = run_here(*words[2:])
      elif words[0].startswith("export_"):
        run = run_here(f"export.{words[0].removesuffix('.py')}", *words[1:])
      elif words[0].startswith("bert_span_"):
        run = run_here(words[0].replace("span_", "span.", 1), *words[1:])
      else:  # Not subprocess.run, which `few_samples` replaces.
        run = subprocess.Popen(["bash", "-c", statement])
        run.wait()
      assert run.returncode == 0, (statement, getattr(run, "stderr", ""))
  asked = {name for name in models for x in model_hub.requests if name in x}
  assert asked == models


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
  assert "@keyframes" in "".join(picture.getroot().itertext())
  assert run_python(path, "said", "false").returncode == 1


def test_every_picture_is_drawn_and_shown(tmp_path):
  (tmp_path / "docs" / "images").mkdir(parents=True)
  (tmp_path / "bert_span").symlink_to(_ROOT / "bert_span")
  for name in ("draw_pictures.py", "architecture.md"):
    shutil.copy(_ROOT / "docs" / name, tmp_path / "docs")
  run = run_python(tmp_path / "docs" / "draw_pictures.py")
  assert run.returncode == 0, run.stderr
  pages = "".join(map(_text, _PAGES))
  for path in (tmp_path / "docs" / "images").iterdir():
    drawn = path.read_text("utf-8")
    assert ElementTree.fromstring(drawn).tag.endswith("}svg")
    assert f"images/{path.name}" in pages
    # Draw them again after a change of the code.
    assert drawn == (_ROOT / "docs" / "images" / path.name).read_text("utf-8")
