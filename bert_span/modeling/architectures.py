"""The architectures of the BERT family: KerasHub's and Hugging Face's names."""

import dataclasses
from collections.abc import Callable

import keras
import keras_hub

from bert_span.modeling import mobilebert
from bert_span.text.vocabulary import BYTE_PAIRS, SENTENCE_PIECES, WORD_PIECES

# Names of the same thing, from EncoderConfig's fields to those of others.
_HUGGINGFACE_KEYS = {
  "vocabulary_size": "vocab_size",
  "num_layers": "num_hidden_layers",
  "num_heads": "num_attention_heads",
  "hidden_dim": "hidden_size",
  "intermediate_dim": "intermediate_size",
  "dropout": "hidden_dropout_prob",
  "attention_dropout": "attention_probs_dropout_prob",
  "max_sequence_length": "max_position_embeddings",
  "num_segments": "type_vocab_size",
  "activation": "hidden_act",
  "layer_norm_epsilon": "layer_norm_eps",
}
# What MobileBERT's configuration has besides BERT's, by the same names.
MOBILEBERT_KEYS = (
  *("trigram_input", "use_bottleneck", "intra_bottleneck_size"),
  *("use_bottleneck_attention", "key_query_shared_bottleneck"),
  *("num_feedforward_networks", "normalization_type"),
)
_SIZES = (
  *("vocabulary_size", "num_layers", "num_heads", "hidden_dim"),
  *("intermediate_dim", "max_sequence_length"),
)


@dataclasses.dataclass(frozen=True)
class Architecture:
  """What sets an encoder of the BERT family apart."""

  name: str  # its model_type in Hugging Face's config.json
  backbone: type  # its classes in KerasHub
  tokenizer: type | None
  sizes: dict[str, str]  # fields of EncoderConfig -> arguments of that class
  embeddings: str = ""  # path of the layer with tables of tokens and positions
  layer: str = "transformer_layer"  # name of its layers, before their number
  activation: str = "gelu_new"  # what that class computes
  layer_norm_epsilon: float = 1e-12
  has_pooler: bool = True  # a layer that span extraction ignores
  tokens: str = WORD_PIECES  # what its vocabulary has
  # Its embeddings may have fewer rows more than tokens: padding.
  padding_rows: int = 128
  # Whether its attention scores distances: `RelativeScores`.
  has_distances: bool = False
  float16_overflow: str = ""  # why it is not computed in float16
  # Fields of EncoderConfig -> keys of Hugging Face's config.json.
  huggingface_keys: dict[str, str] = dataclasses.field(
    default_factory=lambda: _HUGGINGFACE_KEYS
  )
  huggingface_prefix: str = ""  # of its weights there, if not its name
  # What BERT's weights and its own are called there; replaced in this order.
  huggingface_names: tuple[tuple[str, str], ...] = ()
  huggingface_class: str = ""  # start of its classes' names, if not KerasHub's
  # Its class's defaults for keys of config.json that may be missing.
  huggingface_defaults: dict = dataclasses.field(default_factory=dict)
  # Further keys, and the values with which this is computed; the first one is
  # written. None is a missing key.
  huggingface_values: dict[str, tuple] = dataclasses.field(default_factory=dict)
  check_transformers: Callable | None = None  # refuses what it cannot compute
  first_position: int = 0  # row of its position table for the first token
  # Where layers are not BERT's: their names, see `original_weights`, and what
  # an `InferenceEncoder` computes, made of a backbone.
  original_weights: Callable | None = None
  inference: Callable | None = None

  @property
  def has_segments(self):
    """Whether question and passage have embeddings of their own."""
    return "num_segments" in self.sizes

  @property
  def class_name(self):
    """How the names of its classes begin in transformers."""
    name = self.backbone.__name__.removesuffix("Backbone")
    return self.huggingface_class or name

  @property
  def prefix(self):
    """What is before the names of its weights in a model with a head."""
    return f"{self.huggingface_prefix or self.name}."


@keras.saving.register_keras_serializable(package="bert_span")
class CamembertBackbone(keras_hub.models.XLMRobertaBackbone):
  """CamemBERT, which KerasHub lacks: XLM-R with other ids of tokens."""


# What RoBERTa's descendants share.
_ROBERTA = {
  "sizes": {name: name for name in _SIZES},
  "embeddings": "embeddings/",
  "activation": "gelu",
  "layer_norm_epsilon": 1e-5,
  "has_pooler": False,
  "huggingface_prefix": "roberta",
  # Positions count from the id of <pad>, 1, and padding has that position.
  "first_position": 2,
}
_ARCHITECTURES = (
  Architecture(
    "bert",
    keras_hub.models.BertBackbone,
    keras_hub.models.BertTokenizer,
    {name: name for name in (*_SIZES, "num_segments")},
  ),
  # Sanh et al. 2019, arXiv 1910.01108.
  Architecture(
    "distilbert",
    keras_hub.models.DistilBertBackbone,
    keras_hub.models.DistilBertTokenizer,
    {name: name for name in _SIZES},
    embeddings="token_and_position_embedding/",
    activation="gelu",
    has_pooler=False,
    huggingface_keys={
      "vocabulary_size": "vocab_size",
      "num_layers": "n_layers",
      "num_heads": "n_heads",
      "hidden_dim": "dim",
      "intermediate_dim": "hidden_dim",
      "dropout": "dropout",
      "attention_dropout": "attention_dropout",
      "max_sequence_length": "max_position_embeddings",
      "activation": "activation",
    },
    huggingface_names=(
      ("encoder.layer", "transformer.layer"),
      ("attention.self.query", "attention.q_lin"),
      ("attention.self.key", "attention.k_lin"),
      ("attention.self.value", "attention.v_lin"),
      ("attention.output.dense", "attention.out_lin"),
      ("attention.output.LayerNorm", "sa_layer_norm"),
      ("intermediate.dense", "ffn.lin1"),
      ("output.dense", "ffn.lin2"),
      ("output.LayerNorm", "output_layer_norm"),
    ),
  ),
  # Clark et al. 2020, arXiv 2003.10555.
  Architecture(
    "electra",
    keras_hub.models.ElectraBackbone,
    keras_hub.models.ElectraTokenizer,
    {
      **{name: name for name in (*_SIZES, "num_segments", "embedding_dim")},
      "vocabulary_size": "vocab_size",
    },
    huggingface_keys={**_HUGGINGFACE_KEYS, "embedding_dim": "embedding_size"},
  ),
  # Liu et al. 2019, arXiv 1907.11692.
  Architecture(
    "roberta",
    keras_hub.models.RobertaBackbone,
    keras_hub.models.RobertaTokenizer,
    tokens=BYTE_PAIRS,
    **_ROBERTA,
  ),
  # Conneau et al. 2020, arXiv 1911.02116.
  Architecture(
    "xlm-roberta",
    keras_hub.models.XLMRobertaBackbone,
    keras_hub.models.XLMRobertaTokenizer,
    tokens=SENTENCE_PIECES,
    **_ROBERTA,
  ),
  # Martin et al. 2020, arXiv 1911.03894.
  Architecture(
    "camembert",
    CamembertBackbone,
    None,
    tokens=SENTENCE_PIECES,
    **_ROBERTA,
  ),
  # Sun et al. 2020, arXiv 2004.02984.
  Architecture(
    "mobilebert",
    mobilebert.MobileBertBackbone,
    mobilebert.MobileBertTokenizer,
    {
      name: name
      for name in (
        *(*_SIZES, "num_segments", "embedding_dim", *MOBILEBERT_KEYS),
        *("layer_norm_epsilon", "outer_norm_epsilon"),
      )
    },
    activation="relu",
    has_pooler=False,
    huggingface_keys={
      **_HUGGINGFACE_KEYS,
      "embedding_dim": "embedding_size",
      **{name: name for name in MOBILEBERT_KEYS},
    },
    huggingface_names=(
      ("FakeLayerNorm", "LayerNorm"),
      ("ffn_layer.", "ffn."),
    ),
    huggingface_defaults={
      "hidden_size": 512,
      "num_hidden_layers": 24,
      "num_attention_heads": 4,
      "intermediate_size": 512,
      "hidden_act": "relu",
      "hidden_dropout_prob": 0.0,
      "embedding_size": 128,
      "trigram_input": True,
      "use_bottleneck": True,
      "intra_bottleneck_size": 128,
      "key_query_shared_bottleneck": True,
      "num_feedforward_networks": 4,
      "normalization_type": "no_norm",
      "outer_norm_epsilon": mobilebert.TRANSFORMERS_EPSILON,  # no key
    },
    check_transformers=mobilebert.check_transformers,
    original_weights=mobilebert.original_weights,
    inference=mobilebert.MobileBertInference,
  ),
  # He et al. 2021, arXiv 2111.09543: DeBERTa v3, and mDeBERTa. In v2 the same
  # name has models with a convolution and other attention.
  Architecture(
    "deberta-v2",
    keras_hub.models.DebertaV3Backbone,
    keras_hub.models.DebertaV3Tokenizer,
    {**{name: name for name in _SIZES}, "position_buckets": "bucket_size"},
    layer="disentangled_attention_encoder_layer",
    activation="gelu",
    layer_norm_epsilon=1e-7,
    has_pooler=False,
    tokens=SENTENCE_PIECES,
    has_distances=True,
    float16_overflow=(
      "KerasHub scales the attention scores after their products, which exceed "
      "float16 in trained models (huggingface/transformers#24116)"
    ),
    padding_rows=1000,  # 899 of mDeBERTa
    huggingface_keys={
      **{k: v for k, v in _HUGGINGFACE_KEYS.items() if k != "num_segments"},
      "position_buckets": "position_buckets",
    },
    huggingface_names=tuple(
      (f"self.{name}", f"self.{name}_proj")
      for name in ("query", "key", "value")
    ),
    huggingface_prefix="deberta",
    huggingface_class="DebertaV2",
    huggingface_defaults={"vocab_size": 128100, "layer_norm_eps": 1e-7},
    huggingface_values={
      "relative_attention": (True,),
      "position_biased_input": (False,),
      "type_vocab_size": (0, None),
      "norm_rel_ebd": ("layer_norm",),
      "share_att_key": (True,),
      "pos_att_type": (
        *("p2c|c2p", "c2p|p2c", ["p2c", "c2p"], ["c2p", "p2c"]),
      ),
      "max_relative_positions": (-1, None),
      "conv_kernel_size": (0, None),
    },
  ),
)
ARCHITECTURES = {each.name: each for each in _ARCHITECTURES}


def same_tokens(architecture):
  """The architectures whose tokenizers give the same tokens."""
  return [
    each
    for each in _ARCHITECTURES
    if each is architecture or each.tokens == architecture.tokens == WORD_PIECES
  ]


def architecture_of(backbone):
  """The `Architecture` of a KerasHub backbone; ValueError if it is none."""
  architectures = {each.backbone: each for each in _ARCHITECTURES}
  for kind in type(backbone).mro():
    if kind in architectures:
      return architectures[kind]
  raise ValueError(
    f"The encoder must be one of {', '.join(ARCHITECTURES)}. Received: "
    f"{type(backbone).__name__}"
  )
