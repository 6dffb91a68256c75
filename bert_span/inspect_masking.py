r"""Shows how the text of a file is masked for pre-training.

  python -m bert_span.inspect_masking --input_file=text.txt \
    --vocab_file=vocab.txt --max_seq_length=128 --masking=span --seed=1

shows every sequence, its spans and their boundaries to a person. With
--output_file it writes JSON lines instead, one a sequence: input_ids and
masked_input_ids, before and after masking, and spans with span (positions,
inclusive), word_count, drawn_word_counts, decision, left_boundary and
right_boundary. Of one file these are the very masks that training draws from
the same seed in that epoch.
"""

import itertools
import json
import os
import sys

from absl import flags

from bert_span.cli import model_flags, pretraining_flags, program

_EPOCH = flags.DEFINE_integer(
  "epoch", 0, "Epoch whose masks are shown, from 0.", lower_bound=0
)
_MAX_SEQUENCES = flags.DEFINE_integer(
  "max_sequences", None, "Sequences that are shown, at most.", lower_bound=1
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file", None, "File that gets JSON lines; none shows text."
)
_VOCABULARY = model_flags.vocabulary_flags()
_TEXT = pretraining_flags.text_flags()
_MASKING = pretraining_flags.masking_flags()
# --help lists the flags of this module only, and those named here.
flags.adopt_module_key_flags(model_flags)
flags.adopt_module_key_flags(pretraining_flags)


def main(argv):
  """Reads the text, masks it and shows it."""
  program.refuse_arguments(argv)
  pretraining_flags.check_text_flags()
  program.check(
    _VOCABULARY.vocab_file.value,
    "--vocab_file is required: the vocab.txt of the model.",
  )
  # Seconds: only once the flags are known to be right.
  from bert_span.pretraining.masking.masked_text import masked_row, masked_text
  from bert_span.text.vocabulary import load_vocabulary

  vocabulary = load_vocabulary(_VOCABULARY.vocab_file.value)
  options = pretraining_flags.masking_options()
  sequences = _sequences(vocabulary, options)
  if _OUTPUT_FILE.value:
    _write(json.dumps(masked_row(masked)) + "\n" for masked in sequences)
    return
  for number, masked in enumerate(sequences):
    budget = options.budget(len(masked.original_ids) - 2)
    first, *lines = masked_text(masked, vocabulary, budget)
    _print([f"Sequence {number}: {first}", *lines, ""])


def run():
  """Entry point of the installed command."""
  program.run_program(main)


def _sequences(vocabulary, options):
  from bert_span.pretraining.corpus.batches import masked_sequences
  from bert_span.pretraining.corpus.block_stream import BlockStream
  from bert_span.pretraining.masking.masked_sequence import SequenceMasker
  from bert_span.text.tokenizer import WordPieceTokenizer

  stream = BlockStream(
    pretraining_flags.text_sources(),
    WordPieceTokenizer(vocabulary, _VOCABULARY.do_lower_case.value),
    _MASKING.max_seq_length.value,
  )
  masker = SequenceMasker(vocabulary, options)
  sequences = masked_sequences(stream, masker, _EPOCH.value)
  return itertools.islice(sequences, _MAX_SEQUENCES.value)


def _write(lines):
  from bert_span.storage.atomic_file import open_atomically

  with open_atomically(_OUTPUT_FILE.value) as file:
    for line in lines:
      file.write(line)


def _print(lines):
  try:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
  except BrokenPipeError:
    # `| head` has seen enough. Python would complain once more at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit()


if __name__ == "__main__":
  run()
