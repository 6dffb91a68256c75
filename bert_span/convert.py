r"""Converts a trained model: from Hugging Face, or to it.

  python -m bert_span.convert --model=HF_DIR --output_dir=DIR
  python -m bert_span.convert --model=DIR --output_dir=HF_DIR --to=huggingface

The model has a question-answering head; docs/coming_from_transformers.md lists
the architectures. A model directory of this package keeps the flags of windows
and answers, such as --version_2_with_negative, for all programs.
"""

from absl import flags

from bert_span.cli import model_flags, program

_MODEL = model_flags.define_model_flag()
_OUTPUT_DIR = flags.DEFINE_string(
  "output_dir", None, "Directory of the converted model."
)
_TO = flags.DEFINE_enum(
  "to",
  "bert_span",
  ["bert_span", "huggingface"],
  "Format to write: a model directory of this package, or a directory of "
  "Hugging Face's transformers.",
)
model_flags.define_extractor_flags()


@program.entry_point
def run(argv):
  program.require(_MODEL, _OUTPUT_DIR)
  options = model_flags.extractor_options(_MODEL.value)
  from bert_span.jobs import convert

  convert.convert(_MODEL.value, _OUTPUT_DIR.value, _TO.value, **options)


if __name__ == "__main__":
  run()
