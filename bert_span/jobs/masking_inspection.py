"""What inspect_masking does: shows how text is masked for pre-training."""

import itertools
import json

from bert_span.jobs.lines import print_lines, write_lines
from bert_span.pretraining.corpus.batches import masked_sequences
from bert_span.pretraining.corpus.block_stream import BlockStream
from bert_span.pretraining.corpus.text_sources import find_sources
from bert_span.pretraining.masking.masked_sequence import SequenceMasker
from bert_span.pretraining.masking.masked_text import masked_row, masked_text
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import load_vocabulary


def inspect_masking(
  text,
  vocab_file,
  do_lower_case,
  max_seq_length,
  options,
  epoch=0,
  max_sequences=None,
  output_file=None,
):
  """Shows every sequence of a text, its spans and their boundaries.

  Args:
    text: `TextLocation`.
    vocab_file: vocab.txt of the model.
    do_lower_case: lower-case the text and strip accents.
    max_seq_length: WordPieces in a sequence, [CLS] and [SEP] included.
    options: `MaskingOptions`.
    epoch: whose masks are shown, from 0.
    max_sequences: that are shown, at most; None for all.
    output_file: path that gets JSON lines; None prints text.
  """
  vocabulary = load_vocabulary(vocab_file)
  stream = BlockStream(
    find_sources(text),
    WordPieceTokenizer(vocabulary, do_lower_case),
    max_seq_length,
  )
  masker = SequenceMasker(vocabulary, options)
  sequences = itertools.islice(
    masked_sequences(stream, masker, epoch), max_sequences
  )
  if output_file:
    write_lines(output_file, (json.dumps(masked_row(s)) for s in sequences))
  else:
    print_lines(_text_lines(sequences, vocabulary, options))


def _text_lines(sequences, vocabulary, options):
  for number, masked in enumerate(sequences):
    budget = options.budget(len(masked.original_ids) - 2)
    first, *lines = masked_text(masked, vocabulary, budget)
    yield from (f"Sequence {number}: {first}", *lines, "")
