r"""Shows the windows that a SQuAD file becomes, one JSON line each.

  python -m bert_span.inspect_windows --input_file=dev.json \
    --vocab_file=vocab.txt [--is_training] [--output_file=windows.jsonl]

Every line has qas_id, doc_span_index, input_ids, segment_ids, start_position,
end_position, token_char_spans and max_context, in the order of the file. With
--head=bio --is_training the labels are tag_labels, the shares of B, I and O of
every token of the passage, and not positions. What was noticed while reading
goes to standard error.
"""

import json
import os
import sys

from absl import flags

from bert_span.cli import model_flags, program

_INPUT_FILE = flags.DEFINE_string(
  "input_file", None, "SQuAD JSON file to make windows of."
)
_IS_TRAINING = flags.DEFINE_bool(
  "is_training",
  False,
  "Whether to label the windows with each question's first answer (with "
  "--head=bio those of every annotator), and to leave out questions that "
  "cannot be trained on.",
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file", "-", "File that gets the JSON lines; - is standard output."
)
_VOCABULARY = model_flags.vocabulary_flags()
_VERSION_2 = model_flags.version_2_flag()
_HEAD = model_flags.head_flag()
_ANNOTATOR_LABELS = model_flags.annotator_labels_flag()
model_flags.window_flags()
# --help lists the flags of this module only, and those named here.
flags.adopt_module_key_flags(model_flags)


def main(argv):
  """Reads the file, makes its windows and writes them."""
  program.refuse_arguments(argv)
  _check_flags()
  # Seconds: only once the flags are known to be right.
  from bert_span.data.window_rows import bio_window_rows, window_rows
  from bert_span.text.preprocessor import SpanPreprocessor
  from bert_span.text.vocabulary import load_vocabulary

  preprocessor = SpanPreprocessor(
    load_vocabulary(_VOCABULARY.vocab_file.value),
    _VOCABULARY.do_lower_case.value,
    model_flags.window_options(),
  )
  if _has_tags():
    rows = bio_window_rows(_examples(), preprocessor, _ANNOTATOR_LABELS.value)
  else:
    rows = window_rows(_examples(), preprocessor, _IS_TRAINING.value)
  _write(json.dumps(row) + "\n" for row in rows)


def run():
  """Entry point of the installed command."""
  program.run_program(main)


def _has_tags():
  return _HEAD.value == "bio" and _IS_TRAINING.value


def _check_flags():
  program.check(_INPUT_FILE.value, "--input_file is required.")
  program.check(_OUTPUT_FILE.value, "--output_file must name a file.")
  program.check(
    _VOCABULARY.vocab_file.value,
    "--vocab_file is required: the vocab.txt of the model.",
  )


def _examples():
  """The examples of the input file; reports what was noticed on the way."""
  from bert_span.squad.reader import read_squad
  from bert_span.squad.rules import prediction_examples, training_examples

  squad_file = read_squad(_INPUT_FILE.value)
  if _IS_TRAINING.value:
    examples = training_examples(squad_file, _VERSION_2.value, _has_tags())
  else:
    examples = prediction_examples(squad_file, _VERSION_2.value)
  for line in squad_file.report.lines():
    print(line, file=sys.stderr)
  return examples


def _write(lines):
  """Writes lines one by one, so that no file is too long for the memory."""
  if _OUTPUT_FILE.value == "-":
    _print(lines)
    return
  from bert_span.storage.atomic_file import open_atomically

  with open_atomically(_OUTPUT_FILE.value) as file:
    for line in lines:
      file.write(line)


def _print(lines):
  try:
    for line in lines:
      sys.stdout.write(line)
    sys.stdout.flush()
  except BrokenPipeError:
    # `| head` has seen enough. Python would complain once more at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
  run()
