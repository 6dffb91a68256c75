r"""Converts a trained model: from Hugging Face, or to it.

  python -m bert_span.convert --model=HF_DIR --output_dir=DIR
  python -m bert_span.convert --model=DIR --output_dir=HF_DIR --to=huggingface

The model is a BERT, DistilBERT, ELECTRA or RoBERTa with a question-answering
head. A model directory of this package keeps the flags of windows and answers,
such as --version_2_with_negative, for all programs.
"""

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import OptionFlags
from bert_span.options.fields import option


class _Options:
  output_dir: str | None = option(None, "Directory of the converted model.")
  to: str = option(
    "bert_span",
    "Format to write: a model directory of this package, or a directory of "
    "Hugging Face's transformers.",
    choices=("bert_span", "huggingface"),
  )


_MODEL = model_flags.model_flag()
_OPTIONS = OptionFlags(_Options)
model_flags.extractor_flags()


@program.entry_point
def run(argv):
  program.require(_MODEL, _OPTIONS.output_dir)
  options = model_flags.extractor_options(_MODEL.value)
  from bert_span.jobs import convert

  convert.convert(_MODEL.value, **_OPTIONS.values(), **options)


if __name__ == "__main__":
  run()
