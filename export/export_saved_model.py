#!/usr/bin/env python3
r"""Exports a trained model for TensorFlow Serving.

  python -m export.export_saved_model --model=DIR --output=BASE
  python -m export.export_saved_model --model=DIR --output=BASE \
    --version=7 --null_score_diff_threshold=-1.5 --dtype=bfloat16

Writes BASE/<version>/, a SavedModel that takes questions and passages as
strings and returns answers: one span each, or with a bio head any number of
spans. Windows and decoding follow the model unless a flag is given, and are
fixed in the SavedModel. Before the version gets its name, a fresh process loads
it and checks that its answers are those of the model.
"""

from bert_span.answers.decoding.options import StepOptions
from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import OptionFlags
from bert_span.options.fields import option


class _Options:
  base: str | None = option(
    None, "Local folder of all versions of the served model.", flag="output"
  )
  version: int | None = option(
    None,
    "Number of the version to write; by default 1 + the highest that exists.",
    minimum=1,
    maximum=2**63 - 1,
  )
  dtype: str = option(
    "float32",
    "Precision of the encoder's variables and matrix products; softmax and "
    "head stay float32.",
    choices=("float32", "bfloat16", "float16"),
  )
  with_warmup: bool | None = option(
    None,
    "Whether to write requests that the server replays while it loads the "
    "version; by default if tensorflow-serving-api, which they need, is "
    "installed.",
    flag="warmup",
  )


_MODEL = model_flags.model_flag()
_OPTIONS = OptionFlags(_Options)
_STEPS = OptionFlags(StepOptions, max_wordpieces_per_step=1024)
_FIXED_LENGTH = model_flags.shared_flags("fixed_length")
model_flags.extractor_flags()


@program.entry_point
@program.exit_on_sigterm()
def run(argv):
  program.require(_MODEL, _OPTIONS.base)
  options = model_flags.extractor_options(_MODEL.value)
  from bert_span.jobs import export_saved_model

  export_saved_model.export_model(
    _MODEL.value,
    extractor_options={**options, **_FIXED_LENGTH.values()},
    steps=_STEPS.options(),
    **_OPTIONS.values(),
  )


if __name__ == "__main__":
  run()
