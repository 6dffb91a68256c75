r"""Shows the windows of a SQuAD file, one JSON line each.

  python -m bert_span.inspect_windows --input_file=dev.json \
    --vocab_file=vocab.txt [--is_training] [--output_file=windows.jsonl]

Every line has qas_id, doc_span_index, input_ids, segment_ids, start_position,
end_position, token_char_spans and max_context, in the order of the file. With
--head=bio --is_training the labels are not positions but tag_labels, the shares
of B, I and O of every token of the passage. Findings about the file go to
standard error.
"""

from absl import flags

from bert_span.cli import model_flags, program, training_flags
from bert_span.cli.tensorflow_import import import_tensorflow

_INPUT_FILE = flags.DEFINE_string(
  "input_file", None, "SQuAD JSON file whose windows are shown."
)
_IS_TRAINING = flags.DEFINE_bool(
  "is_training",
  False,
  "Whether to label the windows with each question's first answer (with "
  "--head=bio those of every annotator), and to skip questions that cannot be "
  "trained on.",
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file", "-", "File for the JSON lines; - is standard output."
)
_VOCABULARY = model_flags.vocabulary_flags()
_VERSION_2 = model_flags.version_2_flag()
_HEAD = model_flags.head_flag()
_LABELS = training_flags.fine_tuning_flags("annotator_labels")
model_flags.window_flags()


def main(argv):
  """Checks the flags and shows the windows."""
  program.require(_INPUT_FILE, _OUTPUT_FILE, _VOCABULARY.vocab_file)
  import_tensorflow()
  head = model_flags.answer_head(_HEAD.value)
  from bert_span.jobs import window_inspection

  window_inspection.inspect_windows(
    _INPUT_FILE.value,
    _VOCABULARY.vocab_file.value,
    _VOCABULARY.do_lower_case.value,
    model_flags.window_options(),
    version_2=_VERSION_2.value,
    labels=head.labels if _IS_TRAINING.value else None,
    annotator_labels=_LABELS.annotator_labels.value,
    output_file=None if _OUTPUT_FILE.value == "-" else _OUTPUT_FILE.value,
  )


run = program.entry_point(main)

if __name__ == "__main__":
  run()
