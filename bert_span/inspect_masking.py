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

import dataclasses

from bert_span.cli.program import program
from bert_span.options.fields import option
from bert_span.pretraining.options import MaskedTextOptions
from bert_span.storage.options import FileOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class InspectMaskingOptions(MaskedTextOptions, FileOptions):
  """The options of `bert_span.jobs.inspect_masking.inspect_masking`."""

  epoch: int = option(0, "Epoch whose masks are shown, from 0.", minimum=0)
  max_sequences: int | None = option(
    None, "Most sequences to show; default all.", minimum=1
  )
  output_file: str | None = option(
    None,
    "File for JSON lines; without it text is printed.",
    is_output=True,
  )


run = program(
  InspectMaskingOptions, "bert_span.jobs.inspect_masking:inspect_masking"
)

if __name__ == "__main__":
  run()
