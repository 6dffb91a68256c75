"""The job of create_pretraining_data: writes masked text as records."""

from bert_span.pretraining.batches import PretrainingInput
from bert_span.pretraining.records import write_records
from bert_span.pretraining.text_sources import find_sources
from bert_span.storage.log import log_line
from bert_span.text.vocabulary import load_vocabulary


def write_masked_text(
  text,
  output_files,
  vocab_file,
  do_lower_case,
  max_seq_length,
  options,
  dupe_factor=10,
  num_workers=1,
  worker=0,
):
  """Masks text and writes its sequences, in turn to each of some files.

  `text` is the `TextLocation` of the text of all workers, `options` are
  `MaskingOptions` with max_predictions. The other arguments are the flags of
  bert_span.create_pretraining_data.
  """
  making = PretrainingInput(
    load_vocabulary(vocab_file), do_lower_case, max_seq_length, options
  )
  sequences = making.copies(
    find_sources(text), dupe_factor, num_workers, worker
  )
  number = write_records(output_files, sequences, making)
  log_line(
    f"{number} sequences ({dupe_factor} copies of each) in "
    f"{', '.join(output_files)}; read them with --max_seq_length="
    f"{max_seq_length} --max_predictions={options.max_predictions}"
  )
