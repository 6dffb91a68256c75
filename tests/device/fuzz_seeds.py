"""Writes what fuzz.cc begins with: inputs, and files of SentencePieces."""

import io
import pathlib
import sys
import zipfile

from bert_span.text.sentencepiece_model import PIECE_FAMILIES
from bert_span.text.vocabulary import split_vocabulary
from bert_span.tflite import file as tflite_file
from bert_span.tflite.export import tflite_content
from bert_span.tflite.options import TFLiteOptions
from bert_span.tflite.port_vectors import vector_examples
from tests.support.models import (
  BYTE_PAIRS,
  MODERNBERT_PAIRS,
  exported_tflite,
  extractor_of,
)


def main(folder, pieces_folder):
  """Writes .tflite files without their models, and vocabularies with texts."""
  folder, pieces_folder = pathlib.Path(folder), pathlib.Path(pieces_folder)
  folder.mkdir(parents=True, exist_ok=True)
  pieces_folder.mkdir(parents=True, exist_ok=True)
  path, _ = exported_tflite()
  (folder / "file").write_bytes(b"F" + _files(path))
  for i, family in enumerate(PIECE_FAMILIES):
    path = folder / f"pieces_{i}"
    path.write_bytes(tflite_content(extractor_of(family), TFLiteOptions()))
    content = _files(path)
    (pieces_folder / str(i)).write_bytes(content)
    path.write_bytes(b"F" + content)
    for j, example in enumerate(vector_examples()[:40]):
      text = f"S{i}{example.question}\n\n{example.context}"
      (folder / f"S_{i}_{j}").write_text(text)
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


def _files(path):
  """Returns the archive of a .tflite file."""
  archive = io.BytesIO()
  with zipfile.ZipFile(archive, "w") as file:
    for name, content in tflite_file.read_files(path).items():
      file.writestr(name, content)
  return archive.getvalue()


if __name__ == "__main__":
  main(*sys.argv[1:])
