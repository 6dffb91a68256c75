"""The masked sequences that one of several workers writes."""

from bert_span.pretraining.corpus.batches import masked_sequences
from bert_span.pretraining.corpus.block_stream import BlockStream
from bert_span.pretraining.corpus.text_sources import sources_of_worker
from bert_span.pretraining.masking.masked_sequence import SequenceMasker
from bert_span.text.tokenizer import WordPieceTokenizer


def masked_copies(
  sources,
  vocabulary,
  do_lower_case,
  max_seq_length,
  options,
  copies,
  num_workers=1,
  worker=0,
):
  """Masks a worker's share of some text, copy after copy.

  Args:
    sources: list of `TextFile` or the like, the same for every worker.
    vocabulary: list of tokens, the index is the id.
    do_lower_case: lower-case and strip accents (uncased models).
    max_seq_length: WordPieces in a sequence, [CLS] and [SEP] included.
    options: `MaskingOptions`.
    copies: of the text, each masked anew.
    num_workers: workers that share the sources.
    worker: number of this one, from 0.

  Yields:
    `MaskedSequence`.

  Raises:
    ValueError: there are fewer sources than workers.
  """
  own = sources_of_worker(sources, num_workers, worker)
  tokenizer = WordPieceTokenizer(vocabulary, do_lower_case)
  stream = BlockStream(own, tokenizer, max_seq_length)
  masker = SequenceMasker(vocabulary, options)
  for copy in range(copies):
    # Masks differ from worker to worker too.
    yield from masked_sequences(stream, masker, copy * num_workers + worker)
