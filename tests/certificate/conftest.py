"""The original's outputs, as the conformance report reads them."""

import zlib

import pytest

from bert_span.certificate.golden_files import GoldenFiles, sample_goldens


class _PartOfGoldens(GoldenFiles):
  """A third of the questions of each file, by the hash of the id.

  Questions do not depend on each other; bert_span.conformance --goldens
  compares all of them.
  """

  def examples(self, configuration):
    examples = super().examples(configuration)
    return [example for example in examples if _is_in_part(example.qas_id)]

  def read(self, name):
    value = super().read(name)
    if name.startswith("features_"):
      return [row for row in value if _is_in_part(row["qas_id"])]
    if name.startswith("logits_check_"):
      rows = value["first50"]
      return {"first50": [row for row in rows if _is_in_part(row["qas_id"])]}
    if name.startswith("pred_"):
      return {key: each for key, each in value.items() if _is_in_part(key)}
    return value


def _is_in_part(qas_id):
  return zlib.crc32(qas_id.encode()) % 3 == 0


@pytest.fixture(scope="session")
def original(goldens, shared_data):
  """Outputs for SQuAD, or a skip."""
  return GoldenFiles(str(goldens), str(shared_data))


@pytest.fixture(scope="session")
def part_of_original(original):
  """The same of a third of the questions."""
  return _PartOfGoldens(original.folder, original.data_folder)


@pytest.fixture(scope="session")
def sample():
  """Those that come with the package: for its sample and for edge cases."""
  return sample_goldens()


@pytest.fixture
def alter(monkeypatch):
  """alter(name, change): from here on the file `name` holds change(value)."""

  def alter_file(name, change):
    method = "arrays" if name.endswith(".npz") else "read"
    original = getattr(GoldenFiles, method)

    def read(goldens, asked):
      value = original(goldens, asked)
      return change(value) if asked == name else value

    monkeypatch.setattr(GoldenFiles, method, read)

  return alter_file
