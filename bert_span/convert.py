r"""Converts a trained model: from Hugging Face, or to it.

  python -m bert_span.convert --model=HF_DIR --output_dir=DIR
  python -m bert_span.convert --model=DIR --output_dir=HF_DIR --to=huggingface

The model has a question-answering head; docs/models.md lists
the architectures. A model directory of this package saves the flags of windows
and answers, such as --version_2_with_negative: all programs follow them.
"""

import dataclasses

from bert_span.cli.program import program
from bert_span.extractors.options import ModelOptions
from bert_span.options.fields import changed, option
from bert_span.storage.options import FileOptions, OutputFolder


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConvertOptions(ModelOptions, FileOptions):
  """The options of `bert_span.jobs.convert.convert`."""

  output_dir: str = changed(
    OutputFolder, "output_dir", help="Directory of the converted model."
  )
  to: str = option(
    "bert_span",
    "Format to write: a model directory of this package, or a directory of "
    "Hugging Face's transformers.",
    choices=("bert_span", "huggingface"),
  )


run = program(ConvertOptions, "bert_span.jobs.convert:convert")

if __name__ == "__main__":
  run()
