r"""Writes the passages of SQuAD files as text for pre-training.

  python -m benchmarks.shared_contexts_text --output_dir=/tmp/text \
    ../shared/data/squad1_train_part.json ../shared/data/squad2_part.json

writes train.txt and held_out.txt with one sentence per line and a blank line
after each document. A document has the passages of an article in order. A
passage that is in several files is written once. Every 20th article is held
out.
"""

import hashlib
import json
import os

from absl import flags

from bert_span.cli import program
from bert_span.pretraining.text_sources import split_sentences

_OUTPUT_DIR = flags.DEFINE_string(
  "output_dir", None, "Folder for train.txt and held_out.txt.", required=True
)
_HELD_OUT_EVERY = flags.DEFINE_integer(
  "held_out_every", 20, "One of this many articles is held out.", lower_bound=2
)


def main(argv):
  """Reads the files and writes the text."""
  program.check(len(argv) > 1, "Give the SQuAD files to read.")
  os.makedirs(_OUTPUT_DIR.value, exist_ok=True)
  seen = set()
  documents = {"train": [], "held_out": []}
  for path in argv[1:]:
    for title, passages in _articles(path):
      new = [text for text in passages if text not in seen]
      seen.update(new)
      if new:
        documents[_part(title)].append(new)
  for part, texts in documents.items():
    _write(os.path.join(_OUTPUT_DIR.value, f"{part}.txt"), texts)


def _articles(path):
  """Yields (title, passages) of a SQuAD file."""
  with open(path, encoding="utf-8") as file:
    data = json.load(file)["data"]
  for number, article in enumerate(data):
    passages = [paragraph["context"] for paragraph in article["paragraphs"]]
    yield article.get("title") or f"{path} {number}", passages


def _part(title):
  """The part of an article, by its title: the same in all files."""
  digest = hashlib.sha256(title.encode("utf-8")).digest()
  number = int.from_bytes(digest[:8], "big")
  return "train" if number % _HELD_OUT_EVERY.value else "held_out"


def _write(path, documents):
  with open(path, "w", encoding="utf-8") as file:
    for passages in documents:
      for passage in passages:
        file.writelines(f"{line}\n" for line in split_sentences(passage))
      file.write("\n")
  words = sum(len(text.split()) for texts in documents for text in texts)
  print(f"{path}: {len(documents)} documents, {words} words")


if __name__ == "__main__":
  program.run_program(main, arguments=True)
