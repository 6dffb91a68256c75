r"""Writes prediction files from saved logits, without running a model.

  python -m bert_span.run_squad ... --do_predict --write_logits
  python -m bert_span.decode --predict_file=dev.json --model=OUTPUT/model \
    --logits_file=OUTPUT/logits.npz --null_score_diff_threshold=-2.5 \
    --output_dir=/tmp/other_threshold

Several logits files, of models with the same windows, make an ensemble: the
logits of a window are averaged. The files written are run_squad's.
"""

import sys

from absl import flags

from bert_span.cli import model_flags, program

_LOGITS_FILE = flags.DEFINE_multi_string(
  "logits_file",
  None,
  "The .npz that run_squad --write_logits saved; several, separated by commas "
  "or with the flag repeated, are averaged.",
)
_MODEL = flags.DEFINE_string(
  "model",
  None,
  "Model directory, or minilm_squad, that gives the vocabulary, and the window "
  "and decoding flags that the command line does not; instead of --vocab_file.",
)
_PREDICT_FILE = model_flags.predict_file_flag()
_OUTPUT_DIR = model_flags.output_dir_flag()
_VOCABULARY = model_flags.vocabulary_flags()
model_flags.head_flag()
_NO_SPAN = model_flags.no_span_flag()
model_flags.window_flags()
model_flags.decoder_flags()
model_flags.bio_decoder_flags()
# --help lists the flags of this module only, and those named here.
flags.adopt_module_key_flags(model_flags)


def main(argv):
  """Reads questions and logits, decodes them and writes the predictions."""
  program.refuse_arguments(argv)
  _check_flags()
  # Seconds: only once the flags are known to be right.
  import tensorflow as tf

  from bert_span.answers.files.bio_prediction_files import (
    write_bio_prediction_files,
  )
  from bert_span.answers.files.ensemble import decode_saved_logits
  from bert_span.answers.files.logits_file import (
    BIO_LOGITS,
    SPAN_LOGITS,
    read_logits,
  )
  from bert_span.answers.files.original_no_span import as_original_without_span
  from bert_span.answers.files.prediction_files import write_prediction_files

  head, preprocessor, options = _head_preprocessor_and_decoder_options()
  model_flags.check_no_span(head)
  is_bio = head == "bio"
  names = BIO_LOGITS if is_bio else SPAN_LOGITS
  predictions = decode_saved_logits(
    _examples(options.version_2_with_negative),
    preprocessor,
    [read_logits(path, names) for path in _logits_files()],
    options,
  )
  if _NO_SPAN.value == "original":
    predictions = as_original_without_span(
      predictions, options.version_2_with_negative
    )
  tf.io.gfile.makedirs(_OUTPUT_DIR.value)
  write = write_bio_prediction_files if is_bio else write_prediction_files
  paths = write(_OUTPUT_DIR.value, predictions, options.version_2_with_negative)
  num_empty = sum(not prediction.text for prediction in predictions)
  print(
    f"{len(predictions)} questions answered, {num_empty} of them with no "
    f"answer: {', '.join(paths)}",
    file=sys.stderr,
  )


def run():
  """Entry point of the installed command."""
  program.run_program(main)


def _check_flags():
  check = program.check
  check(_PREDICT_FILE.value, "--predict_file is required.")
  check(
    _logits_files(),
    "--logits_file is required: the logits.npz of run_squad --write_logits.",
  )
  check(_OUTPUT_DIR.value, "--output_dir is required.")
  check(
    bool(_MODEL.value) != bool(_VOCABULARY.vocab_file.value),
    "Give either --model or --vocab_file: the vocabulary of the windows.",
  )
  check(
    not (_MODEL.value and _VOCABULARY.do_lower_case.present),
    "--do_lower_case belongs to --vocab_file; --model knows it. Leave it out.",
  )


def _logits_files():
  return [
    path.strip()
    for value in _LOGITS_FILE.value or []
    for path in value.split(",")
    if path.strip()
  ]


def _head_preprocessor_and_decoder_options():
  from bert_span.text.preprocessor import SpanPreprocessor
  from bert_span.text.vocabulary import load_vocabulary

  config, vocab_file = None, _VOCABULARY.vocab_file.value
  do_lower_case = _VOCABULARY.do_lower_case.value
  if _MODEL.value:
    config, vocab_file = _model_config()
    do_lower_case = config["do_lower_case"]
  preprocessor = SpanPreprocessor(
    load_vocabulary(vocab_file),
    do_lower_case,
    model_flags.window_options(config),
    pad_to_max=True,
  )
  head = model_flags.head_of_model(config)
  return head, preprocessor, model_flags.decoder_options(config, head)


def _model_config():
  """The dict of span_config.json and the vocabulary's path of --model."""
  import os

  from bert_span.presets.embedded_model import find_embedded_model
  from bert_span.presets.span_config import CONFIG_FILE, read_span_config
  from bert_span.presets.tokenizer_files import VOCABULARY_FILE

  config = read_span_config(_MODEL.value)
  if config is None:
    raise ValueError(
      f"--model={_MODEL.value} is no model directory of bert_span: it has no "
      f"{CONFIG_FILE}. Give --vocab_file instead, and the window flags that "
      "the logits were saved with."
    )
  return config, os.path.join(
    find_embedded_model(_MODEL.value), VOCABULARY_FILE
  )


def _examples(version_2_with_negative):
  """The questions to answer; reports what was noticed on the way."""
  from bert_span.squad.reader import read_squad
  from bert_span.squad.rules import prediction_examples

  squad_file = read_squad(_PREDICT_FILE.value)
  examples = prediction_examples(squad_file, version_2_with_negative)
  for line in squad_file.report.lines():
    print(line, file=sys.stderr)
  return examples


if __name__ == "__main__":
  run()
