"""The order of the rooms, held against every import, lazy ones too."""

import ast

# A module imports from its own place and from those before it. `keras_backend`
# means bert_span/__init__.py, too; `programs` are the other modules at the
# front and those of export/.
_ORDER = (
  "keras_backend",
  "storage",
  "text",
  "squad",
  "data",
  "modeling",
  "presets",
  "answers/decoding",
  "answers",
  "answers/scoring",
  "heads",
  "training",
  "fine_tuning",
  "search",
  "extractor",
  "pretraining",
  "serving/client",
  "serving",
  "tflite",
  "reporting",
  "squad/lint",
  "beam",
  "certificate",
  "cli",
  "jobs/training",
  "jobs",
  "programs",
)


# What a user expects of an object, though it is made of things after it:
# SpanExtractor.export.
_UPWARDS = {
  "bert_span/extractor.py": (
    "bert_span.jobs.saved_model_export",
    "bert_span.jobs.tflite_export",
  )
}


def _place(name):
  """The place of a dotted name of ours, as in _ORDER."""
  package, *inner = name.split(".")
  if package == "export":
    return "programs"
  if inner in ([], ["__version__"]):
    return "keras_backend"
  within = ("/".join(inner[:2]), inner[0])
  return next((place for place in within if place in _ORDER), "programs")


def _may_import(place, target):
  rooms = {place.split("/")[0], target.split("/")[0]}
  if target == "programs" or rooms == {"cli", "jobs"}:
    return False
  return _ORDER.index(target) <= _ORDER.index(place)


def _may_import_absl(place, name):
  """Flags are for cli and programs; "import absl" could bring them."""
  is_flags = name == "absl" or name.startswith(("absl.flags", "absl.app"))
  return not is_flags or place in ("cli", "programs")


def _imports(path, root):
  """Yields the line and the dotted name of every import of a file."""
  parents = path.relative_to(root).parent.parts
  for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
    if isinstance(node, ast.Import):
      yield from ((node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
      # One dot is the file's own folder.
      start = parents[: len(parents) + 1 - node.level] if node.level else ()
      base = ".".join([*start, *([node.module] if node.module else [])])
      yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def _modules(root):
  """Yields every module of ours: its path, and its place."""
  for path in sorted((*root.glob("bert_span/**/*.py"), *root.glob("export/*"))):
    if path.suffix == ".py":
      name = ".".join(path.relative_to(root).with_suffix("").parts)
      yield path, _place(name.removesuffix(".__init__"))


def _wrong_imports(root):
  wrong = []
  for path, place in _modules(root):
    for line, name in _imports(path, root):
      if name in _UPWARDS.get(str(path.relative_to(root)), ()):
        continue
      if name.split(".")[0] in ("bert_span", "export"):
        is_right = _may_import(place, _place(name))
      else:
        is_right = _may_import_absl(place, name)
      if not is_right:
        wrong.append(f"{path.relative_to(root)}:{line} imports {name}")
  return wrong


def test_every_import_follows_the_order_of_the_rooms(repository):
  wrong = _wrong_imports(repository)
  assert not wrong, "\n".join(["against the order:", *wrong])


def test_every_folder_with_modules_has_its_place(repository):
  package = repository / "bert_span"
  rooms = {path.parent for path in package.glob("*/**/*.py")}
  names = {str(room.relative_to(package)) for room in rooms}
  assert names <= set(_ORDER)


def test_imports_are_judged_in_every_form(tmp_path):
  sources = {
    "text/a.py": "from bert_span import storage, data",
    "text/b.py": "def f():\n  import bert_span.squad.reader",
    "text/__init__.py": "from .. import data",
    "answers/x.py": "from .scoring import y",  # a room within a room
    "cli/x.py": "from absl import flags\nfrom bert_span.jobs import x",
    "jobs/x.py": "import absl.flags",
  }
  for name, source in sources.items():
    path = tmp_path / "bert_span" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
  assert _wrong_imports(tmp_path) == [
    "bert_span/answers/x.py:1 imports bert_span.answers.scoring.y",
    "bert_span/cli/x.py:2 imports bert_span.jobs.x",
    "bert_span/jobs/x.py:1 imports absl.flags",
    "bert_span/text/__init__.py:1 imports bert_span.data",
    "bert_span/text/a.py:1 imports bert_span.data",
    "bert_span/text/b.py:2 imports bert_span.squad.reader",
  ]
