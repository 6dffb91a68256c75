"""Writes the inputs that fuzz.cc begins with to a folder."""

import io
import pathlib
import sys
import zipfile

from bert_span.text.vocabulary import split_vocabulary
from bert_span.tflite import file as tflite_file
from bert_span.tflite.port_vectors import vector_examples
from tests.support.models import BYTE_PAIRS, MODERNBERT_PAIRS, exported_tflite


def main(folder):
  """Writes a .tflite file without its model, and vocabularies with texts."""
  folder = pathlib.Path(folder)
  folder.mkdir(parents=True, exist_ok=True)
  path, _ = exported_tflite()
  archive = io.BytesIO()
  with zipfile.ZipFile(archive, "w") as file:
    for name, content in tflite_file.read_files(path).items():
      file.writestr(name, content)
  (folder / "file").write_bytes(b"F" + archive.getvalue())
  for i, example in enumerate(vector_examples()[:40]):
    text = f"{example.context[:200]}\n{example.question}"
    tokens = dict.fromkeys(f"{text}\n##{text.lower()}".split())
    parts = "\n".join(tokens), f"{i:c}{example.question}", example.context
    (folder / str(i)).write_text("\n\n".join(parts))
  for i, example in enumerate(vector_examples()[:20]):
    for letter, vocabulary in (("B", BYTE_PAIRS), ("M", MODERNBERT_PAIRS)):
      pairs, added = split_vocabulary(vocabulary)
      contents = [f"+{token.content}" for token in added]
      lines = "\n".join([*pairs.merges, *contents])
      parts = letter + lines, f"{i + 60:c}{example.question}", example.context
      (folder / f"{letter}_{i}").write_text("\n\n".join(parts))


if __name__ == "__main__":
  main(sys.argv[1])
