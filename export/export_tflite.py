#!/usr/bin/env python3
r"""Exports a trained model as a TFLite file for devices.

  python -m export.export_tflite --model=DIR --output=model.tflite
  python -m export.export_tflite --model=DIR --output=model.tflite \
    --quantization=dynamic --evaluate_file=dev.json --max_f1_drop=1

Writes the file and its report, model.tflite.json and model.tflite.txt. The file
is run before it gets its name: its ops must be builtin ops (with
--with_tokenizer also those of tensorflow-text), its logits finite, and its
answers those of the model. docs/tflite.md describes how to use it.
"""

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import OptionFlags
from bert_span.cli.tensorflow_import import import_tensorflow
from bert_span.tflite.options import ModelInfo, TFLiteOptions

_MODEL = model_flags.model_flag()
_OUTPUT = flags.DEFINE_string(
  "output", None, "File to write; its name ends with .tflite."
)
_EVALUATE_FILE = flags.DEFINE_string(
  "evaluate_file",
  None,
  "SQuAD JSON file to score the model and the file on with the official "
  "metrics.",
)
_TEST_VECTORS = flags.DEFINE_string(
  "test_vectors",
  None,
  "File to write 100 questions to, with tokens, windows, logits and answers, "
  "for a runner in another language to be compared with.",
)
_OPTIONS, _INFO = OptionFlags(TFLiteOptions), OptionFlags(ModelInfo)
_VERIFY = model_flags.verify_flag()
model_flags.answer_flags()


def main(argv):
  """Exports a model and prints the report."""
  program.end_on_sigterm()
  program.require(_MODEL, _OUTPUT)
  program.check(
    _OUTPUT.value.endswith(".tflite"),
    f"--output={_OUTPUT.value}: the name must end with .tflite.",
  )
  program.check(
    "://" not in _OUTPUT.value,
    f"--output={_OUTPUT.value}: write to a local path, and copy the file.",
  )
  program.check(
    _OPTIONS.max_f1_drop.value is None or _EVALUATE_FILE.value,
    "--max_f1_drop needs --evaluate_file, the questions to measure F1 on.",
  )
  program.check(
    not (_TEST_VECTORS.value and _OPTIONS.with_tokenizer.value),
    "--test_vectors is for files without --with_tokenizer: with it, tokens, "
    "windows and logits are inside the file.",
  )
  import_tensorflow()
  saved = model_flags.saved_config(_MODEL.value)
  answers = model_flags.answer_options(saved)
  from bert_span.jobs import tflite_export

  tflite_export.export_model(
    _MODEL.value,
    _OUTPUT.value,
    _OPTIONS.options(info=_INFO.options()),
    answers.windows,
    answers.decoder,
    _EVALUATE_FILE.value,
    _VERIFY.value,
    _TEST_VECTORS.value,
  )


run = program.entry_point(main)

if __name__ == "__main__":
  run()
