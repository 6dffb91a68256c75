#!/usr/bin/env python3
r"""Exports a trained model for TensorFlow Serving.

  python -m export.export_saved_model --model=DIR --output=BASE
  python -m export.export_saved_model --model=DIR --output=BASE \
    --version=7 --null_score_diff_threshold=-1.5 --dtype=bfloat16

Writes BASE/<version>/, a SavedModel that takes questions and passages as
strings and gives answers: one span each, or with a bio head any number of
spans. Text and decoding options are the model's own unless a flag says
otherwise, and are fixed in the SavedModel. Before the version gets its name, a
fresh process loads it and must give the answers of the model.
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
  "output", None, "Local folder of all versions of the served model."
)
_VERSION = flags.DEFINE_integer(
  "version",
  None,
  "Number of the version to write; by default 1 + the highest there is.",
  lower_bound=1,
)
_DTYPE = flags.DEFINE_enum(
  "dtype",
  "float32",
  ["float32", "bfloat16", "float16"],
  "Precision of the encoder's variables and matrix products; softmax and head "
  "stay float32.",
)
_FIXED_LENGTH = flags.DEFINE_bool(
  "fixed_length",
  False,
  "Whether every window is padded to --max_seq_length, as run_squad does with "
  "--length_buckets=none.",
)
_WARMUP = flags.DEFINE_bool(
  "warmup",
  None,
  "Whether to write requests that the server replays while it loads the "
  "version; by default if tensorflow-serving-api, which they need, is "
  "installed.",
)
_STEPS = model_flags.step_flags()
model_flags.window_flags()
model_flags.decoder_flags()
model_flags.head_flag()
model_flags.bio_decoder_flags()


def main(argv):
  """Loads the model and exports it."""
  program.refuse_arguments(argv)
  program.check(_MODEL.value, "--model is required.")
  program.check(_OUTPUT.value, "--output is required.")
  # TensorFlow's notes on names and files would hide what matters.
  logging.set_verbosity(logging.WARNING)
  # Seconds: only once the flags are known to be right.
  import_tensorflow()
  saved = model_flags.saved_config(_MODEL.value)
  head = model_flags.head_of_model(saved)
  model_flags.check_decoder_flags(head)
  from bert_span.jobs import saved_model_export

  saved_model_export.export_model(
    _MODEL.value,
    _OUTPUT.value,
    _VERSION.value,
    _STEPS.options(),
    _DTYPE.value,
    _WARMUP.value,
    window_options=model_flags.window_options(saved),
    decoder_options=model_flags.decoder_options(saved, head),
    fixed_length=_FIXED_LENGTH.value,
  )


def run():
  """Runs the program."""
  program.run_program(main)


if __name__ == "__main__":
  run()
