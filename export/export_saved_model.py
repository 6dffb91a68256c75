#!/usr/bin/env python3
r"""Exports a trained model for TensorFlow Serving.

  export_saved_model.py --model=DIR --output=BASE
  export_saved_model.py --model=DIR --output=BASE \
    --version=7 --null_score_diff_threshold=-1.5 --dtype=bfloat16

Writes BASE/<version>/, a SavedModel that takes questions and passages as
strings and returns answers: one span each, or with a bio head any number of
spans. Windows and decoding follow the model unless a flag is given, and are
fixed in the SavedModel. Before the version gets its name, a fresh process loads
it and checks that its answers are those of the model.
"""

import dataclasses

from bert_span.answers.decoding.options import StepOptions
from bert_span.cli.program import program
from bert_span.extractors.options import (
  LengthOptions,
  ModelOptions,
  PrecisionOptions,
)
from bert_span.options.fields import REQUIRED, changed, option
from bert_span.squad.options import ProofOptions
from bert_span.storage.options import FileOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportSavedModelOptions(
  ModelOptions,
  PrecisionOptions,
  LengthOptions,
  StepOptions,
  ProofOptions,
  FileOptions,
):
  """The options of `bert_span.jobs.export_saved_model.export_saved_model`."""

  output: str = option(
    REQUIRED,
    "Local folder of all versions of the served model.",
    is_output=True,
    writes={},
  )
  version: int | None = option(
    None,
    "Number of the version to write; by default 1 + the highest that exists.",
    minimum=1,
    maximum=2**63 - 1,
  )
  with_warmup: bool | None = option(
    None,
    "Whether to write requests that the server replays while it loads the "
    "version; by default if tensorflow-serving-api, which they need, is "
    "installed.",
    flag="warmup",
  )
  max_wordpieces_per_step: int = changed(
    StepOptions, "max_wordpieces_per_step", default=1024
  )


run = program(
  ExportSavedModelOptions,
  "bert_span.jobs.export_saved_model:export_saved_model",
  exits_on_sigterm=True,
)

if __name__ == "__main__":
  run()
