"""The architectures of encoders: their backbones and what these compute.

The names of the weights in their files are in presets/architectures/, one
module for each architecture.
"""

import dataclasses
from collections.abc import Callable

import keras
import keras_hub

from bert_span.modeling.encoder_config import (
  AlbertConfig,
  DebertaConfig,
  EncoderConfig,
  MobileBertConfig,
  ModernBertConfig,
)
from bert_span.modeling.mobilebert import MobileBertBackbone
from bert_span.modeling.mobilebert_inference import MobileBertInference
from bert_span.modeling.modernbert import ModernBertBackbone
from bert_span.modeling.modernbert_inference import ModernBertInference

_SIZES = (
  *("vocabulary_size", "num_layers", "num_heads", "hidden_dim"),
  *("intermediate_dim", "max_sequence_length"),
)


@dataclasses.dataclass(frozen=True)
class Architecture:
  """How the encoders of one architecture compute."""

  name: str  # its model_type in Hugging Face's config.json
  backbone: type  # a class of KerasHub, or one of ours in its manner
  arguments: dict[str, str]  # fields of `config` -> arguments of the backbone
  config: type = EncoderConfig
  # The backbone's own defaults.
  activation: str = "gelu"
  layer_norm_epsilon: float = 1e-12
  float16_overflow: str = ""  # why it does not compute in float16
  # Whether a new span head has the transform of a `SpanHead`.
  head_has_transform: bool = False
  # Makes the computation of an `InferenceEncoder` from a backbone; None for an
  # encoder that computes as BERT.
  inference: Callable | None = None


def _same(*names):
  """Returns arguments of the backbone that have the names of the fields."""
  return {name: name for name in names}


@keras.saving.register_keras_serializable(package="bert_span")
class CamembertBackbone(keras_hub.models.XLMRobertaBackbone):
  """CamemBERT, which KerasHub lacks: an XLM-R with other token ids."""


_ROBERTA = {"arguments": _same(*_SIZES), "layer_norm_epsilon": 1e-5}
_ARCHITECTURES = (
  Architecture(
    "bert",
    keras_hub.models.BertBackbone,
    _same(*_SIZES, "num_segments"),
    activation="gelu_new",
  ),
  # Sanh et al. 2019, arXiv 1910.01108.
  Architecture(
    "distilbert", keras_hub.models.DistilBertBackbone, _same(*_SIZES)
  ),
  # Clark et al. 2020, arXiv 2003.10555.
  Architecture(
    "electra",
    keras_hub.models.ElectraBackbone,
    _same(*_SIZES, "num_segments", "embedding_dim")
    | {"vocabulary_size": "vocab_size"},
    activation="gelu_new",
  ),
  # Lan et al. 2019, arXiv 1909.11942.
  Architecture(
    "albert",
    keras_hub.models.AlbertBackbone,
    _same(
      *(*_SIZES, "num_segments", "embedding_dim"),
      *("num_groups", "num_inner_repetitions"),
    ),
    AlbertConfig,
    activation="gelu_new",
  ),
  # Liu et al. 2019, arXiv 1907.11692.
  Architecture("roberta", keras_hub.models.RobertaBackbone, **_ROBERTA),
  # Conneau et al. 2020, arXiv 1911.02116.
  Architecture("xlm-roberta", keras_hub.models.XLMRobertaBackbone, **_ROBERTA),
  # Martin et al. 2020, arXiv 1911.03894.
  Architecture("camembert", CamembertBackbone, **_ROBERTA),
  # Sun et al. 2020, arXiv 2004.02984.
  Architecture(
    "mobilebert",
    MobileBertBackbone,
    _same(
      *(*_SIZES, "num_segments", "embedding_dim", "trigram_input"),
      *("use_bottleneck", "intra_bottleneck_size", "use_bottleneck_attention"),
      *("key_query_shared_bottleneck", "num_feedforward_networks"),
      *("normalization_type", "layer_norm_epsilon", "outer_norm_epsilon"),
    ),
    MobileBertConfig,
    activation="relu",
    inference=MobileBertInference,
  ),
  # He et al. 2021, arXiv 2111.09543: DeBERTa v3 and mDeBERTa. DeBERTa v2, which
  # has a convolution and other attention, has the same name.
  Architecture(
    "deberta-v2",
    keras_hub.models.DebertaV3Backbone,
    _same(*_SIZES) | {"position_buckets": "bucket_size"},
    DebertaConfig,
    layer_norm_epsilon=1e-7,
    float16_overflow=(
      "KerasHub scales the attention scores after their products, which exceed "
      "float16 in trained models (huggingface/transformers#24116)"
    ),
  ),
  # Warner et al. 2024, arXiv 2412.13663.
  Architecture(
    "modernbert",
    ModernBertBackbone,
    _same(
      *(*_SIZES, "global_attn_every_n_layers", "sliding_window_size"),
      *("global_rope_max_wavelength", "local_rope_max_wavelength"),
      *("layer_norm_epsilon", "attention_dropout", "embedding_dropout"),
    ),
    ModernBertConfig,
    layer_norm_epsilon=1e-5,
    head_has_transform=True,
    inference=ModernBertInference,
  ),
)
ARCHITECTURES = {
  architecture.name: architecture for architecture in _ARCHITECTURES
}


def architecture_of(backbone):
  """Returns the `Architecture` of a backbone; ValueError for another model."""
  architectures = {x.backbone: x for x in _ARCHITECTURES}
  for backbone_class in type(backbone).mro():
    if backbone_class in architectures:
      return architectures[backbone_class]
  raise ValueError(
    f"The encoder must be one of {', '.join(ARCHITECTURES)}. Received: "
    f"{type(backbone).__name__}."
  )
