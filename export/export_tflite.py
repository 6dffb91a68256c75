#!/usr/bin/env python3
r"""Exports a trained model as a TFLite file for devices.

  export_tflite.py --model=DIR --output=model.tflite
  export_tflite.py --model=DIR --output=model.tflite \
    --quantization=dynamic --evaluate_file=dev.json --max_f1_drop=1

Writes the file and its report, model.tflite.json and model.tflite.txt. The file
is run before it gets its name: its ops must be builtin ops, its logits finite,
and its answers those of the model. docs/tflite.md describes how to use it.
"""

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import define_flags, read_flags
from bert_span.tflite.options import ModelInfo, TFLiteOptions

_MODEL = model_flags.define_model_flag()
_OUTPUT = flags.DEFINE_string(
  "output", None, "File to write; its name ends with .tflite."
)
_EVALUATE_FILE = flags.DEFINE_string(
  "evaluate_file",
  None,
  "SQuAD file to score the model and the file on with the official metrics.",
)
_TEST_VECTORS = flags.DEFINE_string(
  "test_vectors",
  None,
  "File to write 100 questions to, with tokens, windows, logits and answers, "
  "for a runner in another language to be compared with.",
)
_OPTIONS = define_flags(TFLiteOptions)
define_flags(ModelInfo)
model_flags.define_extractor_flags()


# The steps are printed, and no notes of TensorFlow.
@program.entry_point(log_level="3")
@program.exit_on_sigterm()
def run(argv):
  program.require(_MODEL, _OUTPUT)
  path = _OUTPUT.value
  if not path.endswith(".tflite") or "://" in path:
    raise ValueError(
      f"--output={path} must be a local path, ending in .tflite."
    )
  if not _EVALUATE_FILE.value:
    program.forbid([_OPTIONS.max_f1_drop], "needs --evaluate_file")
  extractor_options = model_flags.extractor_options(_MODEL.value)
  from bert_span.jobs import export_tflite

  export_tflite.export_file(
    _MODEL.value,
    path,
    evaluate_file=_EVALUATE_FILE.value,
    test_vectors=_TEST_VECTORS.value,
    tflite_options=read_flags(TFLiteOptions, info=read_flags(ModelInfo)),
    **extractor_options,
  )


if __name__ == "__main__":
  run()
