#!/usr/bin/env python3
r"""Exports a trained model as a TFLite file for devices.

  python -m export.export_tflite --model=DIR --output=model.tflite
  python -m export.export_tflite --model=DIR --output=model.tflite \
    --quantization=dynamic --evaluate_file=dev.json --max_f1_drop=1

Writes the file and its report, model.tflite.json and model.tflite.txt. The file
is run before it gets its name: its ops must be builtin ops, its logits finite,
and its answers those of the model. docs/tflite.md describes how to use it.
"""

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import OptionFlags
from bert_span.options.fields import option
from bert_span.tflite.options import ModelInfo, TFLiteOptions


class _Options:
  path: str | None = option(
    None, "File to write; its name ends with .tflite.", flag="output"
  )
  evaluate_file: str | None = option(
    None,
    "SQuAD JSON file to score the model and the file on with the official "
    "metrics.",
  )
  test_vectors: str | None = option(
    None,
    "File to write 100 questions to, with tokens, windows, logits and answers, "
    "for a runner in another language to be compared with.",
  )


_MODEL = model_flags.model_flag()
_FILES = OptionFlags(_Options)
_OPTIONS, _INFO = OptionFlags(TFLiteOptions), OptionFlags(ModelInfo)
model_flags.extractor_flags()


@program.entry_point
@program.exit_on_sigterm()
def run(argv):
  program.require(_MODEL, _FILES.path)
  path = _FILES.path.value
  if not path.endswith(".tflite") or "://" in path:
    raise ValueError(
      f"--output={path} must be a local path, ending in .tflite."
    )
  if not _FILES.evaluate_file.value:
    program.forbid([_OPTIONS.max_f1_drop], "needs --evaluate_file")
  extractor_options = model_flags.extractor_options(_MODEL.value)
  from bert_span.jobs import export_tflite

  export_tflite.export_file(
    _MODEL.value,
    tflite_options=_OPTIONS.options(info=_INFO.options()),
    **_FILES.values(),
    **extractor_options,
  )


if __name__ == "__main__":
  run()
