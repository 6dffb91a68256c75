"""Asks an exported model in older TensorFlows; `make test-old-runtimes`.

  python tests/scripts/old_runtimes.py --environments=FOLDER

Exports minilm_squad, and verifies it as an export does, but in an environment
for each version. Status 1 if an answer differs from this version's.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import venv

from bert_span import SpanExtractor
from bert_span.data.window_batches import example_batches
from bert_span.serving import verification
from bert_span.squad.options import FULL
from bert_span.squad.sample_examples import sample_examples

# Of tensorflow and of tensorflow-text.
_VERSIONS = {"2.16.2": "2.16.1", "2.17.1": "2.17.0", "2.19.1": "2.19.0"}
_TOLERANCE = 1e-4  # of scores and probabilities, relative above 1


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--environments", type=pathlib.Path, required=True)
  environments = parser.parse_args().environments
  examples, status = sample_examples(FULL), 0
  with tempfile.TemporaryDirectory() as folder:
    extractor = SpanExtractor.from_preset("minilm_squad")
    saved_model = extractor.export(pathlib.Path(folder) / "minilm_squad")
    rows = list(
      map(extractor.columns.expected_row, extractor.predictions(examples))
    )
    for version, text_version in _VERSIONS.items():
      python = environments / version / "bin" / "python"
      if not python.exists():
        venv.create(environments / version, with_pip=True)
        packages = f"tensorflow=={version}", f"tensorflow-text=={text_version}"
        pip = [python, "-m", "pip", "install", "--quiet", *packages]
        subprocess.run(pip, check=True)
      batches = example_batches(examples)
      try:
        verification.verify_saved_model(
          saved_model, batches, rows, _TOLERANCE, python
        )
        print(f"TensorFlow {version}: {len(rows)} equal answers")
      except ValueError as error:
        print(f"TensorFlow {version}: {error}")
        status = 1
  return status


if __name__ == "__main__":
  sys.exit(main())
