"""An encoder as read from any kind of source, with what came along."""

import dataclasses

import keras_hub
import numpy as np


@dataclasses.dataclass(frozen=True)
class LoadedEncoder:
  """An encoder and what its source said about head and text.

  Attributes:
    backbone: the encoder, with the source's weights.
    head_kernel: float32 [hidden, 2] of a fine-tuned span head, or None.
    head_bias: float32 [2], or None where there is no head or no bias.
    bio_kernel: float32 [3, hidden] of a trained B/I/O head, or None.
    bio_bias: float32 [3], or None where there is no such head.
    vocabulary_path: the vocabulary file beside the weights, or None.
    lower_case: whether text was lower-cased in training, or None if the
      source does not say.
    description: the source in words, for the log.
  """

  backbone: keras_hub.models.BertBackbone
  head_kernel: np.ndarray | None = None
  head_bias: np.ndarray | None = None
  bio_kernel: np.ndarray | None = None
  bio_bias: np.ndarray | None = None
  vocabulary_path: str | None = None
  lower_case: bool | None = None
  description: str = ""
