#!/usr/bin/env python3
r"""Exports a trained model as a TFLite file for devices.

  export_tflite.py --model=DIR --output=model.tflite
  export_tflite.py --model=DIR --output=model.tflite \
    --quantization=dynamic --evaluate_file=dev.json --max_f1_drop=1

Writes the file and its report, model.tflite.json and model.tflite.txt. The file
is run before it gets its name: its ops must be builtin ops, its logits finite,
and its answers those of the model. docs/tflite.md describes how to use it.
"""

import dataclasses

from bert_span.cli.program import program
from bert_span.extractors.options import ModelOptions
from bert_span.options.fields import REQUIRED, changed, option
from bert_span.squad.options import ProofOptions
from bert_span.storage.options import FileOptions
from bert_span.tflite.options import ModelInfo, TFLiteOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportTfliteOptions(
  ModelOptions, TFLiteOptions, ModelInfo, ProofOptions, FileOptions
):
  """The options of `bert_span.jobs.export_tflite.export_tflite`."""

  output: str = option(
    REQUIRED,
    "File to write; its name ends with .tflite.",
    is_output=True,
    writes=(".json", ".txt"),
  )
  evaluate_file: str | None = option(
    None,
    "SQuAD file to score the model and the file on with the official metrics.",
    is_input=True,
  )
  max_f1_drop: float | None = changed(
    TFLiteOptions, "max_f1_drop", needs=("evaluate_file",)
  )
  test_vectors: str | None = option(
    None,
    "File to write 108 questions to, with tokens, windows, logits and answers, "
    "for a runner in another language to be compared with.",
    is_output=True,
  )

  def __post_init__(self):
    super().__post_init__()
    if not self.output.endswith(".tflite") or "://" in self.output:
      raise ValueError(
        f"output={self.output} must be a local path, ending in .tflite."
      )


run = program(
  ExportTfliteOptions,
  "bert_span.jobs.export_tflite:export_tflite",
  exits_on_sigterm=True,
)

if __name__ == "__main__":
  run()
