"""The order of the rooms, held against every import, lazy ones too."""

import ast

# A module imports from its own place and from those before it. `keras_backend`
# means bert_span/__init__.py, too; `programs` are the other modules at the
# front and those of export/.
_ORDER = (
  "keras_backend",
  "options",
  "storage",
  "text",
  "squad",
  "modeling",
  "data",
  "presets/architectures",
  "presets",
  "answers/decoding",
  "answers",
  "scoring",
  "search",
  "extractors",
  "training",
  "pretraining",
  "client",
  "serving",
  "tflite",
  "reporting",
  "beam",
  "cli",
  "jobs",
  "programs",
)


# The one exception: Extractor.export, as keras.Model.export.
_UPWARDS = {
  "bert_span/extractors/extractor.py": (
    "bert_span.serving.export",
    "bert_span.tflite.export",
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


def _imports(path, lazy=True):
  """Yields the line and the dotted name of every import of a file.

  Imports that only type annotations need are left out.
  """
  tree = ast.parse(path.read_text(encoding="utf-8"))
  for node in tree.body:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
      node.body = []
  for node in ast.walk(tree) if lazy else tree.body:
    if isinstance(node, ast.Import):
      yield from ((node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
      assert node.level == 0, f"{path}:{node.lineno} is a relative import"
      for alias in node.names:
        yield node.lineno, f"{node.module}.{alias.name}"


def _may_import(place, name):
  package = name.split(".")[0]
  if package == "absl":  # Flags; "import absl" could bring them.
    is_flags = name == "absl" or name.startswith(("absl.flags", "absl.app"))
    return not is_flags or place == "cli"
  if package not in ("bert_span", "export"):
    return True
  target = _place(name)
  if target == "programs" or {place, target} == {"cli", "jobs"}:
    return False
  return _ORDER.index(target) <= _ORDER.index(place)


def test_every_import_follows_the_order_of_the_rooms(repository):
  wrong = []
  for folder in ("bert_span", "export"):
    for path in (repository / folder).rglob("*.py"):
      inside = path.relative_to(repository)
      module = ".".join(inside.with_suffix("").parts)
      place = _place(module.removesuffix(".__init__"))
      for line, name in _imports(path):
        is_upwards = name in _UPWARDS.get(str(inside), ())
        if not is_upwards and not _may_import(place, name):
          wrong.append(f"{inside}:{line} imports {name}")
  assert not wrong, "\n".join(["against the order:", *wrong])


def test_every_folder_with_modules_has_its_place(repository):
  package = repository / "bert_span"
  rooms = {path.parent for path in package.glob("*/**/*.py")}
  names = {str(room.relative_to(package)) for room in rooms}
  assert names <= set(_ORDER)


def test_the_model_and_its_loss_load_no_tensorflow(repository):
  # They run under Keras' other backends, too: benchmarks.training.
  names = [f"bert_span.modeling.{n}" for n in ("encoder", "heads", "losses")]
  loaded = set()
  while names:
    name = names.pop()
    path = repository / (name.replace(".", "/") + ".py")
    if not path.exists():  # The name of something within a module.
      name = name.rpartition(".")[0]
      path = repository / (name.replace(".", "/") + ".py")
    if name in loaded or not path.exists():
      continue
    loaded.add(name)
    imports = [name for _, name in _imports(path, lazy=False)]
    wrong = [name for name in imports if name.startswith("tensorflow")]
    assert not wrong, f"{path} imports {wrong}"
    names += [name for name in imports if name.startswith("bert_span.")]
  own = "bert_span.modeling.mobilebert", "bert_span.options.fields"
  assert {*own} <= loaded


def test_options_do_not_change_once_they_are_checked(repository):
  for folder in ("bert_span", "export"):
    for path in (repository / folder).rglob("*.py"):
      for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef) and node.name.endswith("Options"):
          made = " ".join(map(ast.unparse, node.decorator_list))
          assert "dataclass" not in made or "frozen=True" in made, node.name
