"""Small files of text for pre-training, and their block streams."""

import numpy as np

from bert_span.pretraining.block_stream import BlockStream
from bert_span.pretraining.text_sources import TextFile
from bert_span.text.tokenizer import WordPieceTokenizer

WORDS = [f"{a}{b}" for a in "abcdefgh" for b in "klmnopqr"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "##s"]
TOKENIZER = WordPieceTokenizer(VOCABULARY)


def write_corpus(folder, num_files=3, documents=12):
  """Files of documents of short sentences; returns their sources."""
  rng = np.random.default_rng(0)
  sources = []
  for number in range(num_files):
    path = folder / f"{number}.txt"
    with open(path, "w") as file:
      for _ in range(documents):
        for _ in range(rng.integers(1, 6)):
          print(*rng.choice(WORDS, rng.integers(1, 8)), file=file)
        print(file=file)
    sources.append(TextFile(str(path)))
  return sources


def stream_of(sources, seed=None, chunk_blocks=5, max_seq_length=12):
  return BlockStream(sources, TOKENIZER, max_seq_length, seed, chunk_blocks)
