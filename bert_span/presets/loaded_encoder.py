"""An encoder as read from any kind of source, with what came along."""

import dataclasses

import keras_hub
import numpy as np


@dataclasses.dataclass(frozen=True)
class LoadedEncoder:
  """An encoder and what its source said about head and text.

  Attributes:
    backbone: the encoder, with the source's weights.
    head_weights: the trained heads, as a dict from the name of a head's layer
      ("span_head", "tag_head") to a dict from the names of its weights
      ("kernel", "bias") to float32 arrays.
    vocabulary_path: the vocabulary file beside the weights, or None.
    lower_case: whether text was lower-cased in training, or None if the
      source does not say.
    description: the source in words, for the log.
  """

  backbone: keras_hub.models.BertBackbone
  head_weights: dict[str, dict[str, np.ndarray]] = dataclasses.field(
    default_factory=dict
  )
  vocabulary_path: str | None = None
  lower_case: bool | None = None
  description: str = ""
