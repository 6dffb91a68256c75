r"""Shows the windows of a SQuAD file, one JSON line each.

  python -m bert_span.inspect_windows --input_file=dev.json \
    --vocab_file=vocab.txt [--is_training] [--output_file=windows.jsonl]

Every line has qas_id, doc_span_index, input_ids, segment_ids, start_position,
end_position, token_char_spans and max_context, in the order of the file. With
--head=bio --is_training the labels are tag_labels, the shares of B, I and O of
every token of the passage. Findings about the file go to standard error.
"""

from absl import flags

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import define_flags, read_flags
from bert_span.text.options import WindowOptions
from bert_span.training.fine_tuning_options import FineTuningOptions

_INPUT_FILE = flags.DEFINE_string(
  "input_file", None, "SQuAD file (JSON, Parquet) whose windows are shown."
)
_IS_TRAINING = flags.DEFINE_bool(
  "is_training",
  False,
  "Whether to label windows with each question's first answer (with --head=bio "
  "all annotators'), and skip those not to train on.",
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file", "-", "File for the JSON lines; - is standard output."
)
_VOCAB_FILE, _DO_LOWER_CASE = model_flags.define_vocabulary_flags()
(_VERSION_2,) = define_flags(DecoderOptions, "version_2_with_negative")
(_ANNOTATOR_LABELS,) = define_flags(FineTuningOptions, "annotator_labels")
define_flags(WindowOptions)
model_flags.define_shared_flags("head")


@program.entry_point
def run(argv):
  program.require(_INPUT_FILE, _OUTPUT_FILE, _VOCAB_FILE)
  program.import_tensorflow()
  kind = model_flags.find_extractor_class()
  from bert_span.jobs import inspect_windows

  inspect_windows.inspect_windows(
    _INPUT_FILE.value,
    vocab_file=_VOCAB_FILE.value,
    do_lower_case=_DO_LOWER_CASE.value,
    window_options=read_flags(WindowOptions),
    preprocessor_class=kind.preprocessor_class,
    is_training=_IS_TRAINING.value,
    version_2_with_negative=_VERSION_2.value,
    annotator_labels=_ANNOTATOR_LABELS.value,
    output_file=None if _OUTPUT_FILE.value == "-" else _OUTPUT_FILE.value,
  )


if __name__ == "__main__":
  run()
