r"""Shows how the text of a file is masked for pre-training.

  python -m bert_span.inspect_masking --input_file=text.txt \
    --vocab_file=vocab.txt --max_seq_length=128 --masking=span --seed=1

prints every sequence, its spans and their boundaries for people. With
--output_file it writes JSON lines instead, one a sequence: input_ids and
masked_input_ids, before and after masking, and spans with span (positions,
inclusive), word_count, drawn_word_counts, decision, left_boundary and
right_boundary. For one file these are exactly the masks that training draws
from the same seed in that epoch.
"""

from absl import flags

from bert_span.cli import model_flags, pretraining_flags, program
from bert_span.cli.tensorflow_import import import_tensorflow

_EPOCH = flags.DEFINE_integer(
  "epoch", 0, "Epoch whose masks are shown, from 0.", lower_bound=0
)
_MAX_SEQUENCES = flags.DEFINE_integer(
  "max_sequences", None, "Most sequences to show; default all.", lower_bound=1
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file", None, "File for JSON lines; without it text is printed."
)
_VOCABULARY = model_flags.vocabulary_flags()
_TEXT = pretraining_flags.text_flags()
_MASKING = pretraining_flags.masking_flags()


def main(argv):
  """Checks the flags and shows the masks."""
  pretraining_flags.check_text_flags()
  program.require(_VOCABULARY.vocab_file)
  import_tensorflow()
  from bert_span.jobs import masking_inspection

  masking_inspection.inspect_masking(
    _TEXT.options(),
    _VOCABULARY.vocab_file.value,
    _VOCABULARY.do_lower_case.value,
    _MASKING.max_seq_length.value,
    pretraining_flags.masking_options(),
    _EPOCH.value,
    _MAX_SEQUENCES.value,
    _OUTPUT_FILE.value,
  )


run = program.entry_point(main)

if __name__ == "__main__":
  run()
