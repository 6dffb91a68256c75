"""What create_pretraining_data does: writes masked text as TFRecords."""

import typing

from bert_span.pretraining.batches import open_text
from bert_span.pretraining.records import write_records
from bert_span.storage.log import log_line

if typing.TYPE_CHECKING:
  from bert_span.create_pretraining_data import CreatePretrainingDataOptions


def create_pretraining_data(options: "CreatePretrainingDataOptions"):
  """Masks a worker's part of the text, and writes it to files."""
  pretraining_input, sources = open_text(options)
  sequences = pretraining_input.copies(
    sources, options.dupe_factor, options.num_workers, options.worker
  )
  number = write_records(options.output_file, sequences, pretraining_input)
  log_line(
    f"{number} sequences ({options.dupe_factor} copies of each) in "
    f"{', '.join(options.output_file)}; read them with "
    f"max_seq_length={pretraining_input.max_seq_length} "
    f"max_predictions={pretraining_input.masking.max_predictions}"
  )
