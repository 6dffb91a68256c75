r"""Shows the windows of a SQuAD file, one JSON line each.

  python -m bert_span.inspect_windows --input_file=dev.json \
    --vocab_file=vocab.txt [--is_training] [--output_file=windows.jsonl]

Every line has qas_id, doc_span_index, input_ids, segment_ids, start_position,
end_position, token_char_spans and max_context, in the order of the file. With
--head=bio --is_training the labels are tag_labels, the shares of B, I and O of
every token of the passage. Findings about the file go to standard error.
"""

import dataclasses

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.cli.program import program
from bert_span.extractors.options import HeadOptions
from bert_span.options.fields import REQUIRED, changed, option
from bert_span.presets.encoder_source import EncoderSource
from bert_span.storage.options import FileOptions
from bert_span.text.options import WindowOptions
from bert_span.training.fine_tuning_options import FineTuningOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class InspectWindowsOptions(WindowOptions, HeadOptions, FileOptions):
  """The options of `bert_span.jobs.inspect_windows.inspect_windows`."""

  input_file: str = option(
    REQUIRED,
    "SQuAD file (JSON, Parquet) whose windows are shown.",
    is_input=True,
  )
  vocab_file: str = changed(EncoderSource, "vocab_file", default=REQUIRED)
  do_lower_case: bool = changed(
    EncoderSource, "do_lower_case", default=True, flag_default=None
  )
  is_training: bool = option(
    False,
    "Whether to label windows as training does, with each question's first "
    "answer (with head=bio those of all annotators), and to leave out "
    "questions that training skips.",
  )
  annotator_labels: str = changed(FineTuningOptions, "annotator_labels")
  version_2_with_negative: bool = changed(
    DecoderOptions, "version_2_with_negative"
  )
  output_file: str = option(
    "-", "File for the JSON lines; - is standard output.", is_output=True
  )


run = program(
  InspectWindowsOptions, "bert_span.jobs.inspect_windows:inspect_windows"
)

if __name__ == "__main__":
  run()
