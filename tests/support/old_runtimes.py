"""Asks an exported model in older TensorFlows; `make test-old-runtimes`.

  python tests/support/old_runtimes.py --environments=FOLDER

Exports minilm_squad, and asks it the twenty questions of bert_span/sample in an
environment for each version. Status 1 if an answer differs from this version's.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

from bert_span import SpanExtractor
from bert_span.serving import fresh_process

# Of tensorflow and of tensorflow-text.
_VERSIONS = {"2.16.2": "2.16.1", "2.17.1": "2.17.0", "2.19.1": "2.19.0"}
_PASSAGES = pathlib.Path(__file__).parents[2] / "bert_span/sample/passages"
_TOLERANCE = 1e-4  # of scores and probabilities, relative above 1


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--environments", type=pathlib.Path, required=True)
  environments = parser.parse_args().environments
  with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    extractor = SpanExtractor.from_preset("minilm_squad")
    saved_model = extractor.export(folder / "minilm_squad")
    request = {"saved_model": str(saved_model), "batches": [_questions()]}
    (folder / "request.json").write_text(json.dumps(request))
    expected = _answers(sys.executable, folder)
    different = 0
    for version, text_version in _VERSIONS.items():
      python = environments / version / "bin" / "python"
      if not python.exists():
        venv.create(environments / version, with_pip=True)
        packages = f"tensorflow=={version}", f"tensorflow-text=={text_version}"
        pip = [python, "-m", "pip", "install", "--quiet", *packages]
        subprocess.run(pip, check=True)
      found = _answers(python, folder)
      differences = [n for n in expected if not _equal(expected[n], found[n])]
      different += bool(differences)
      count = len(expected["answer"])
      print(f"TensorFlow {version}: {count} questions, ", end="")
      print(f"different: {', '.join(differences) or 'none'}")
  return bool(different)


def _questions():
  columns = {"question": [], "context": []}
  for path in sorted(_PASSAGES.glob("*_questions.txt")):
    passage = path.with_name(path.name.replace("_questions", ""))
    for question in path.read_text().splitlines():
      columns["question"].append(question)
      columns["context"].append(passage.read_text())
  return columns


def _answers(python, folder):
  """The columns of the answers that another interpreter gets."""
  # Python searches a script's folder for modules, so it is copied from ours.
  script = shutil.copy(fresh_process.__file__, folder)
  paths = folder / "request.json", folder / "reply.json"
  environ = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
  subprocess.run([python, script, *paths], check=True, env=environ)
  return json.loads(paths[1].read_text())["answers"][0]


def _equal(expected, found):
  if isinstance(expected, list):
    return len(expected) == len(found) and all(map(_equal, expected, found))
  if isinstance(expected, float):
    return math.isclose(expected, found, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
  return expected == found


if __name__ == "__main__":
  sys.exit(main())
