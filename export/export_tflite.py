#!/usr/bin/env python3
r"""Exports a trained model as a TFLite file for devices.

  python -m export.export_tflite --model=DIR --output=model.tflite
  python -m export.export_tflite --model=DIR --output=model.tflite \
    --quantization=dynamic --evaluate_file=dev.json --max_f1_drop=1

Writes the file and its report, model.tflite.json and model.tflite.txt. The file
is run before it gets its name: its ops must be builtin ops (with
--with_tokenizer also those of tensorflow-text), its logits finite, and its
answers those of the model. export/TFLITE.md describes how to use it.
"""

from absl import flags, logging

from bert_span.cli import model_flags, program
from bert_span.cli.tensorflow_import import import_tensorflow

_MODEL = flags.DEFINE_string(
  "model",
  None,
  "Model directory that run_squad or save_to_preset wrote; minilm_squad, the "
  "model that comes with the package; or a Hugging Face directory of a BERT "
  "with a question-answering head.",
)
_OUTPUT = flags.DEFINE_string(
  "output", None, "File to write; its name ends with .tflite."
)
_EVALUATE_FILE = flags.DEFINE_string(
  "evaluate_file",
  None,
  "SQuAD JSON file to score the model and the file on with the official "
  "metrics.",
)
_OPTIONS, _INFO = model_flags.tflite_flags()
model_flags.window_flags()
model_flags.decoder_flags()
model_flags.bio_decoder_flags()


def main(argv):
  """Exports a model and prints the report."""
  program.refuse_arguments(argv)
  _check_flags()
  # TensorFlow would log names and files.
  logging.set_verbosity(logging.WARNING)
  # Takes seconds: only after the flags are checked.
  import_tensorflow()
  saved = model_flags.saved_config(_MODEL.value)
  head = model_flags.answer_head(saved["head"] if saved else "span")
  from bert_span.jobs import tflite_export

  tflite_export.export_model(
    _MODEL.value,
    _OUTPUT.value,
    _OPTIONS.options(info=_INFO.options()),
    model_flags.window_options(saved),
    model_flags.decoder_options(saved, head),
    _EVALUATE_FILE.value,
  )


def run():
  """Runs the program."""
  program.run_program(main)


def _check_flags():
  check = program.check
  check(_MODEL.value, "--model is required.")
  check(_OUTPUT.value, "--output is required.")
  check(
    _OUTPUT.value.endswith(".tflite"),
    f"--output={_OUTPUT.value}: the name must end with .tflite.",
  )
  check(
    "://" not in _OUTPUT.value,
    f"--output={_OUTPUT.value}: write to a local path, and copy the file.",
  )
  check(
    _OPTIONS.max_f1_drop.value is None or _EVALUATE_FILE.value,
    "--max_f1_drop needs --evaluate_file, the questions to measure F1 on.",
  )


if __name__ == "__main__":
  run()
