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

from bert_span.cli import pretraining_flags, program
from bert_span.options.fields import INT32_MAX

_EPOCH = flags.DEFINE_integer(
  "epoch", 0, "Epoch whose masks are shown, from 0.", 0, INT32_MAX
)
_MAX_SEQUENCES = flags.DEFINE_integer(
  "max_sequences", None, "Most sequences to show; default all.", 1, INT32_MAX
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file", None, "File for JSON lines; without it text is printed."
)
pretraining_flags.define_masked_text_flags()


@program.entry_point
def run(argv):
  text_options = pretraining_flags.masked_text()
  program.import_tensorflow()
  from bert_span.jobs import inspect_masking

  inspect_masking.inspect_masking(
    _EPOCH.value, _MAX_SEQUENCES.value, _OUTPUT_FILE.value, **text_options
  )


if __name__ == "__main__":
  run()
