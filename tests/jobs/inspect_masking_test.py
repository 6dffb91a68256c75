"""Masked sequences for people, and as rows of JSON."""

import json

import numpy as np
import pytest

from bert_span.inspect_masking import InspectMaskingOptions
from bert_span.jobs.inspect_masking import inspect_masking, masked_lines
from bert_span.pretraining.masking import MaskedSequence, MaskedSpan
from bert_span.pretraining.options import MaskingOptions
from tests.support.squad import write_encoder_files
from tests.support.training import VOCABULARY, write_corpus

_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_VOCABULARY += ["super", "bowl", "50", "the", "big", "game"]
_MASKED = MaskedSequence(
  np.array([2, 5, 6, 7, 8, 9, 10, 3], np.int32),
  np.array([2, 5, 4, 4, 8, 9, 6, 3], np.int32),
  (
    MaskedSpan(2, 3, 2, (1, 5), "mask", 1, 4),
    MaskedSpan(6, 6, 1, (1,), "random", 5, None),
  ),
)


def test_a_sequence_in_words():
  assert masked_lines(_MASKED, _VOCABULARY, MaskingOptions()) == [
    "8 WordPieces, 3 masked of a budget of 1",
    "[CLS] super {bowl 50} the big {game} [SEP]",
    "  2-3: bowl 50 -> [MASK] [MASK]",
    "       2 words, mask, between super (1) and the (4)",
    "  6-6: game -> bowl",
    "       1 word, random, between big (5) and none (edge)",
  ]


@pytest.fixture
def options(tmp_path):
  """The options of a made-up text, as a dict."""
  write_corpus(tmp_path, num_files=1)
  write_encoder_files(tmp_path, VOCABULARY)
  files = {
    "input_file": tmp_path / "0.txt",
    "vocab_file": tmp_path / "vocab.txt",
  }
  return {**files, "max_seq_length": 16, "seed": 3}


def test_a_file_gets_a_row_for_each_sequence(options, tmp_path, capsys):
  output_file = tmp_path / "masked.jsonl"
  inspect_masking(InspectMaskingOptions(**options, output_file=output_file))
  assert not capsys.readouterr().out
  rows = [json.loads(line) for line in output_file.read_text().splitlines()]
  assert len(rows) > 5
  for row in rows:
    both = zip(row["input_ids"], row["masked_input_ids"], strict=True)
    masked = {i for i, (token, shown) in enumerate(both) if token != shown}
    for span in row["spans"]:
      assert [*span] == [
        *("span", "word_count", "drawn_word_counts", "decision"),
        *("left_boundary", "right_boundary"),
      ]
    ranges = (span["span"] for span in row["spans"])
    assert masked <= {i for a, b in ranges for i in range(a, b + 1)}


def test_as_many_sequences_as_asked_for_are_printed(options, capsys):
  inspect_masking(InspectMaskingOptions(**options, max_sequences=2))
  shown = capsys.readouterr().out
  assert shown.startswith("Sequence 0: ") and shown.count("[CLS]") == 2
