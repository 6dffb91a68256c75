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

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.tensorflow_import import import_tensorflow

_MODEL = model_flags.model_flag()
_OUTPUT = flags.DEFINE_string(
  "output", None, "Local folder of all versions of the served model."
)
_VERSION = flags.DEFINE_integer(
  "version",
  None,
  "Number of the version to write; by default 1 + the highest that exists.",
  lower_bound=1,
)
_DTYPE = flags.DEFINE_enum(
  "dtype",
  "float32",
  ["float32", "bfloat16", "float16"],
  "Precision of the encoder's variables and matrix products; softmax and head "
  "stay float32.",
)
_WARMUP = flags.DEFINE_bool(
  "warmup",
  None,
  "Whether to write requests that the server replays while it loads the "
  "version; by default if tensorflow-serving-api, which they need, is "
  "installed.",
)
_STEPS = model_flags.step_flags()
_FIXED_LENGTH = model_flags.shared_flag("fixed_length")
_VERIFY = model_flags.verify_flag()
model_flags.answer_flags()


def main(argv):
  """Loads the model, exports it and prints what was written."""
  program.end_on_sigterm()
  program.require(_MODEL, _OUTPUT)
  import_tensorflow()
  saved = model_flags.saved_config(_MODEL.value)
  options = model_flags.answer_options(saved)
  model_flags.check_decoder_flags(options.head)
  from bert_span.jobs import saved_model_export

  saved_model_export.export_model(
    _MODEL.value,
    _OUTPUT.value,
    _VERSION.value,
    _STEPS.options(),
    _DTYPE.value,
    _WARMUP.value,
    window_options=options.windows,
    decoder_options=options.decoder,
    fixed_length=_FIXED_LENGTH.value,
    verify=_VERIFY.value,
  )


run = program.entry_point(main)

if __name__ == "__main__":
  run()
