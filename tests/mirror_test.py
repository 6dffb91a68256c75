"""The rules for tests in docs/development.md, held against the tests."""

import ast
import re

# Modules without a test of their name: options and constants without a rule,
# names that are imported again, and a draw that encoder_test checks.
_UNMIRRORED = {
  *("answers/options", "search/options", "squad/options", "tflite/options"),
  *("modeling/initializer", "modeling/tags", "serving/client"),
}
# Folders of tests that mirror no room.
_OTHER_FOLDERS = (
  *("benchmarks", "conformance", "device", "robustness", "slow"),
)
# Architectures of which every_architecture_test.py proves all.
_UNMIRRORED |= {
  f"presets/architectures/{name}"
  for name in ("albert", "bert", "camembert", "deberta_v2", "electra")
}
_UNMIRRORED.add("presets/architectures/xlm_roberta")
# Test files about a whole room: what others publish, trainings that are killed.
_WITHOUT_MODULE = {
  *("presets/architectures/every_architecture", "presets/published"),
  "training/preemption",
}
_SENTENCE = re.compile(r"[a-z]{2,}(?: [a-z]{2,}){3}")


def test_every_module_has_a_test_of_its_name(repository):
  package, tests = repository / "bert_span", repository / "tests"
  modules = {
    str(path.relative_to(package).with_suffix(""))
    for path in package.glob("*/**/*.py")
    if path.stem != "__init__"
  }
  mirrored = {
    str(path.relative_to(tests)).removesuffix("_test.py")
    for path in tests.glob("*/**/*_test.py")
    if path.relative_to(tests).parts[0] not in _OTHER_FOLDERS
  }
  assert modules - mirrored == _UNMIRRORED
  assert mirrored - modules == _WITHOUT_MODULE


def test_no_message_is_matched_by_its_sentence(repository):
  sentences = []
  for path in (repository / "tests").rglob("*_test.py"):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
      if isinstance(node, ast.keyword) and node.arg == "match":
        text = ast.unparse(node.value)
        if _SENTENCE.search(text):
          sentences.append(f"{path.relative_to(repository)}: {text}")
  assert not sentences, "\n".join(sentences)
