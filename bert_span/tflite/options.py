"""Options of a TFLite file; TensorFlow is not needed."""

import dataclasses

from bert_span.options.fields import CheckedOptions, option


@dataclasses.dataclass(frozen=True)
class ModelInfo(CheckedOptions):
  """What the metadata says about the model as a whole."""

  name: str = option("bert_span", "Name of the model in the metadata.")
  description: str = option(
    "Finds the answer to a question in a passage.",
    "Description of the model in the metadata.",
  )
  version: str = option(
    "1", "Version of the model in the metadata.", flag="model_version"
  )
  author: str = option("", "Author of the model.", flag=False)
  license: str = option("", "License of the model in the metadata.")


@dataclasses.dataclass(frozen=True)
class TFLiteOptions(CheckedOptions):
  """What to write to a TFLite file, and which checks it must pass."""

  quantization: str = option(
    "none",
    "Weights in float32 (none), in float16, half the size, or in 8 bits "
    "(dynamic), a quarter of the size.",
    choices=("none", "float16", "dynamic"),
  )
  dynamic_length: bool = option(
    False,
    "Whether the file accepts windows of any length up to max_seq_length. "
    "The Task Library needs a fixed length.",
  )
  max_f1_drop: float | None = option(
    None,
    "Largest allowed drop of F1 on evaluate_file, in points; beyond it no "
    "file is written.",
    minimum=0.0,
  )
  info: ModelInfo | None = None  # None: a name and a version only
