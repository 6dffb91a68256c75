"""The direction of the arrows between the rooms, read from the imports."""

import ast
import pathlib

import pytest

# Room -> what it may import of bert_span: rooms, or single modules of one.
_ARROWS = {
  "text": ("keras_backend",),
  "modeling": (),
  "data": ("text",),
  "answers": ("data", "keras_backend"),
  "reporting": ("answers", "data"),
  "training": ("data.atomic_file", "keras_backend"),
  "serving": ("text", "data", "modeling", "answers", "span_config"),
  "beam": (
    *("text", "data", "answers", "serving", "training.run_options"),
    *("extractor", "squad_records", "training_set"),
  ),
  "certificate": (
    *("text", "data", "modeling", "answers", "training", "fine_tuning"),
  ),
}


def _package_imports(source, package):
  """What a module imports, as absolute dotted names.

  Args:
    source: the module's Python text.
    package: dotted name of the package it stands in.

  Returns:
    Set of names; "from a import b" gives "a.b", imports within functions
    count as well.
  """
  names = set()
  for node in ast.walk(ast.parse(source)):
    if isinstance(node, ast.Import):
      names.update(alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
      parents = package.split(".")[: 1 - node.level or None]
      base = ".".join([*(parents if node.level else []), node.module or ""])
      names.update(f"{base.strip('.')}.{alias.name}" for alias in node.names)
  return names


def _is_within(name, module):
  return name == module or name.startswith(module + ".")


def _modules(repository, room):
  return sorted((repository / "bert_span" / room).glob("**/*.py"))


def _imports_of(repository, path):
  package = ".".join(path.relative_to(repository).parent.parts)
  return _package_imports(path.read_text(encoding="utf-8"), package)


def test_imports_are_found_in_every_form():
  source = (
    "import a.b as c\n"
    "from bert_span.text import windows\n"
    "from ..modeling import encoder\n"
    "from . import tokenizer\n"
    "def f():\n"
    "  from absl import flags\n"
  )
  assert _package_imports(source, "bert_span.text") == {
    "a.b",
    "bert_span.text.windows",
    "bert_span.modeling.encoder",
    "bert_span.text.tokenizer",
    "absl.flags",
  }


def test_every_room_has_its_arrows_written_here(repository):
  rooms = {
    path.parent.name for path in repository.glob("bert_span/*/__init__.py")
  }
  assert rooms == set(_ARROWS)


@pytest.mark.parametrize("room", _ARROWS)
def test_a_room_imports_only_what_its_arrows_allow(repository, room):
  allowed = [f"bert_span.{part}" for part in (room, *_ARROWS[room])]
  wrong = [
    f"{path.name} imports {name}"
    for path in _modules(repository, room)
    for name in sorted(_imports_of(repository, path))
    if _is_within(name, "bert_span")
    and not any(_is_within(name, module) for module in allowed)
  ]
  assert not wrong


@pytest.mark.parametrize("room", _ARROWS)
def test_no_room_reads_flags(repository, room):
  for path in _modules(repository, room):
    imports = _imports_of(repository, path)
    assert not [name for name in imports if _is_within(name, "absl.flags")]
    assert not [name for name in imports if _is_within(name, "absl.app")]
    assert "absl" not in imports, f"{path.name}: import absl.logging by name"


def test_the_library_at_the_front_reads_no_flags(repository):
  """Only programs do, the modules that can be run, and what runs them."""
  for path in (repository / "bert_span").glob("*.py"):
    source = path.read_text(encoding="utf-8")
    is_program = '__name__ == "__main__"' in source
    if is_program or path.name.endswith(("_flags.py", "programs.py")):
      continue
    imports = _imports_of(repository, path)
    assert not [name for name in imports if _is_within(name, "absl.flags")], (
      f"{path.name} is no program but imports absl.flags"
    )


def test_no_module_of_the_library_imports_a_program(repository):
  front = repository / "bert_span"
  programs = {
    f"bert_span.{path.stem}"
    for path in front.glob("*.py")
    if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
  }
  assert "bert_span.run_squad" in programs
  for path in pathlib.Path(front).glob("**/*.py"):
    for name in _imports_of(repository, path):
      assert not any(_is_within(name, program) for program in programs), (
        f"{path.name} imports {name}"
      )
