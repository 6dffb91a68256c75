"""What create_pretraining_data does: writes masked text as TFRecords."""

from bert_span.pretraining.batches import open_text
from bert_span.pretraining.records import write_records
from bert_span.storage.log import log_line


def write_masked_text(
  output_files, dupe_factor, num_workers, worker, **masked_text
):
  """Masks a worker's part of the text of `open_text`; writes it to files."""
  pretraining_input, sources = open_text(**masked_text)
  sequences = pretraining_input.copies(
    sources, dupe_factor, num_workers, worker
  )
  number = write_records(output_files, sequences, pretraining_input)
  log_line(
    f"{number} sequences ({dupe_factor} copies of each) in "
    f"{', '.join(output_files)}; read them with "
    f"--max_seq_length={pretraining_input.max_seq_length} "
    f"--max_predictions={pretraining_input.masking.max_predictions}"
  )
