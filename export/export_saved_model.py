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

from absl import flags

from bert_span.answers.decoding.options import StepOptions
from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import define_flags, read_flags

_MODEL = model_flags.define_model_flag()
_OUTPUT = flags.DEFINE_string(
  "output", None, "Local folder of all versions of the served model."
)
_VERSION = flags.DEFINE_integer(
  "version",
  None,
  "Number of the version to write; by default 1 + the highest that exists.",
  lower_bound=1,
  upper_bound=2**63 - 1,
)
_DTYPE = model_flags.define_dtype_flag()
_WARMUP = flags.DEFINE_bool(
  "warmup",
  None,
  "Whether to write requests that the server replays while it loads the "
  "version; by default if tensorflow-serving-api, which they need, is "
  "installed.",
)
define_flags(StepOptions, max_wordpieces_per_step=1024)
(_FIXED_LENGTH,) = model_flags.define_shared_flags("fixed_length")
model_flags.define_extractor_flags()


# The steps are printed, and no notes of TensorFlow.
@program.entry_point(log_level="3")
@program.exit_on_sigterm()
def run(argv):
  program.require(_MODEL, _OUTPUT)
  options = model_flags.extractor_options(_MODEL.value)
  from bert_span.jobs import export_saved_model

  export_saved_model.export_model(
    _MODEL.value,
    _OUTPUT.value,
    extractor_options={**options, "fixed_length": _FIXED_LENGTH.value},
    version=_VERSION.value,
    steps=read_flags(StepOptions),
    dtype=_DTYPE.value,
    with_warmup=_WARMUP.value,
  )


if __name__ == "__main__":
  run()
