r"""Shows the windows of a SQuAD file, one JSON line each.

  python -m bert_span.inspect_windows --input_file=dev.json \
    --vocab_file=vocab.txt [--is_training] [--output_file=windows.jsonl]

Every line has qas_id, doc_span_index, input_ids, segment_ids, start_position,
end_position, token_char_spans and max_context, in the order of the file. With
--head=bio --is_training the labels are tag_labels, the shares of B, I and O of
every token of the passage. Findings about the file go to standard error.
"""

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import OptionFlags
from bert_span.fine_tuning.options import FineTuningOptions
from bert_span.options.fields import option
from bert_span.text.options import WindowOptions


class _Options:
  input_file: str | None = option(
    None, "SQuAD JSON file whose windows are shown."
  )
  is_training: bool = option(
    False,
    "Whether to label windows with each question's first answer (with "
    "--head=bio all annotators'), and skip those not to train on.",
  )
  output_file: str = option(
    "-", "File for the JSON lines; - is standard output."
  )


_INPUT_FILE, _IS_TRAINING, _OUTPUT_FILE = OptionFlags(_Options)
_VOCABULARY = model_flags.vocabulary_flags()
_VERSION_2 = model_flags.shared_flags("version_2_with_negative")
_LABELS = OptionFlags(FineTuningOptions, ["annotator_labels"])
OptionFlags(WindowOptions)
model_flags.shared_flags("head")


@program.entry_point
def run(argv):
  program.require(_INPUT_FILE, _OUTPUT_FILE, _VOCABULARY.vocab_file)
  program.import_tensorflow()
  kind = model_flags.find_extractor_class()
  from bert_span.jobs import inspect_windows

  inspect_windows.inspect_windows(
    _INPUT_FILE.value,
    **_VOCABULARY.values(),
    window_options=model_flags.window_options(),
    **_VERSION_2.values(),
    preprocessor_class=kind.preprocessor_class,
    is_training=_IS_TRAINING.value,
    **_LABELS.values(),
    output_file=None if _OUTPUT_FILE.value == "-" else _OUTPUT_FILE.value,
  )


if __name__ == "__main__":
  run()
