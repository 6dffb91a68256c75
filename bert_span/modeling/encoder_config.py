"""The sizes of an encoder, by KerasHub's names."""

import dataclasses
import functools

import keras

from bert_span.options.fields import REQUIRED, CheckedOptions, option


@keras.saving.register_keras_serializable(package="bert_span")
def gelu_tanh(x):
  """GELU in its tanh form."""
  return keras.activations.gelu(x, approximate=True)


# By Hugging Face's names.
ACTIVATIONS = {
  "gelu": keras.activations.gelu,
  "gelu_pytorch_tanh": gelu_tanh,
  "gelu_new": gelu_tanh,
  "relu": keras.activations.relu,
  "relu6": keras.activations.relu6,
}
MAX_LAYERS = 1000
_size = functools.partial(option, minimum=1, maximum=2**24)
_dropout = functools.partial(option, minimum=0.0, below=1.0)


@dataclasses.dataclass(frozen=True)
class EncoderConfig(CheckedOptions):
  """The settings of an encoder; the defaults are those of BertConfig."""

  vocabulary_size: int = _size(REQUIRED, "Tokens in the vocabulary.")
  num_layers: int = _size(12, "Transformer layers.", maximum=MAX_LAYERS)
  num_heads: int = _size(12, "Attention heads in a layer.")
  hidden_dim: int = _size(768, "Width of a token's vector.")
  intermediate_dim: int = _size(3072, "Width inside the feed-forward part.")
  dropout: float = _dropout(
    0.1, "Rate after embeddings, attention, feed-forward."
  )
  attention_dropout: float = _dropout(0.1, "Rate on attention probabilities.")
  max_sequence_length: int = _size(512, "Rows of the position table.")
  # The released files all say 2.
  num_segments: int = _size(
    16, "Rows of the segment table, for question and passage.", minimum=2
  )
  initializer_range: float = option(
    0.02, "Standard deviation of random weights.", above=0.0
  )
  activation: str = option(
    "gelu_new",
    "Activation of the feed-forward part; gelu_new is GELU's tanh form.",
    choices=tuple(ACTIVATIONS),
  )
  layer_norm_epsilon: float = option(
    1e-12, "Added to the variance by LayerNorm.", above=0.0
  )
  architecture: str = option("bert", "Name in `ARCHITECTURES`.")
  embedding_dim: int | None = _size(
    None, "Width of token embeddings (ELECTRA, MobileBERT), if not hidden_dim."
  )

  def __post_init__(self):
    super().__post_init__()
    width = self.inner_dim
    if width % self.num_heads:
      name = "hidden" if width == self.hidden_dim else "bottleneck"
      raise ValueError(
        f"the {name} size must be a multiple of the number of attention heads. "
        f"Received: {width} and {self.num_heads}."
      )

  @property
  def inner_dim(self):
    """Width of attention and feed-forward networks."""
    return self.hidden_dim

  def deeper(self):
    """The config with one more layer, which a file of weights may hold."""
    num_layers = min(self.num_layers + 1, MAX_LAYERS)
    return dataclasses.replace(self, num_layers=num_layers)


@dataclasses.dataclass(frozen=True)
class AlbertConfig(EncoderConfig):
  """An ALBERT; the defaults are those of its original.

  The num_layers are divided into num_groups. All layers of a group have the
  same weights, those of num_inner_repetitions transformer layers.
  """

  architecture: str = option("albert", "Name in `ARCHITECTURES`.")
  num_heads: int = _size(64, "Attention heads in a layer.")
  hidden_dim: int = _size(4096, "Width of a token's vector.")
  intermediate_dim: int = _size(16384, "Width inside the feed-forward part.")
  dropout: float = _dropout(
    0.0, "Rate after embeddings, attention, feed-forward."
  )
  attention_dropout: float = _dropout(0.0, "Rate on attention probabilities.")
  num_segments: int = _size(
    2, "Rows of the segment table, for question and passage.", minimum=2
  )
  embedding_dim: int | None = _size(
    128, "Width of token embeddings, if not hidden_dim."
  )
  num_groups: int = _size(
    1, "Groups of layers with the same weights.", maximum=MAX_LAYERS
  )
  num_inner_repetitions: int = _size(
    1, "Transformer layers in a layer of a group.", maximum=MAX_LAYERS
  )

  def __post_init__(self):
    super().__post_init__()
    if self.num_layers % self.num_groups:
      raise ValueError(
        "the layers must be a multiple of their groups. Received: "
        f"{self.num_layers} and {self.num_groups}"
      )

  def deeper(self):
    num_groups, num_inner = (
      min(number + 1, MAX_LAYERS)
      for number in (self.num_groups, self.num_inner_repetitions)
    )
    return dataclasses.replace(
      self,
      num_layers=num_groups,
      num_groups=num_groups,
      num_inner_repetitions=num_inner,
    )


@dataclasses.dataclass(frozen=True)
class MobileBertConfig(EncoderConfig):
  """A MobileBERT, with the defaults of its original: `MobileBertBackbone`."""

  architecture: str = option("mobilebert", "Name in `ARCHITECTURES`.")
  trigram_input: bool = option(False, "Embed a token with its neighbours.")
  use_bottleneck: bool = option(False, "Compute layers at a smaller width.")
  intra_bottleneck_size: int | None = _size(
    None, "Width inside a layer with bottlenecks, if not hidden_dim."
  )
  use_bottleneck_attention: bool = option(
    False, "Compute queries, keys and values from a layer's narrowed inputs."
  )
  key_query_shared_bottleneck: bool = option(
    False, "Compute queries and keys from a bottleneck of their own."
  )
  num_feedforward_networks: int = _size(
    1, "Feed-forward networks in a layer.", maximum=1000
  )
  normalization_type: str = option(
    "layer_norm",
    "Normalization; no_norm scales and shifts only.",
    choices=("layer_norm", "no_norm"),
  )
  outer_norm_epsilon: float | None = option(
    None,
    "LayerNorm's epsilon after the embeddings and after a layer's last "
    "feed-forward network, if not layer_norm_epsilon.",
    above=0.0,
  )

  @property
  def inner_dim(self):
    narrow = self.intra_bottleneck_size if self.use_bottleneck else None
    return narrow or self.hidden_dim


@dataclasses.dataclass(frozen=True)
class DebertaConfig(EncoderConfig):
  """A DeBERTa-v3, whose attention scores distances: `RelativeScores`."""

  architecture: str = option("deberta-v2", "Name in `ARCHITECTURES`.")
  position_buckets: int | None = _size(
    None, "Half of the rows of the relative position table.", minimum=2
  )

  def __post_init__(self):
    super().__post_init__()
    positions, buckets = self.max_sequence_length, self.position_buckets
    if buckets is None or not buckets // 2 < positions - 1:
      raise ValueError(
        "position_buckets must be given, at least 2 and less than twice the "
        f"{positions} positions. Received: {buckets}."
      )


@dataclasses.dataclass(frozen=True)
class ModernBertConfig(EncoderConfig):
  """A ModernBERT; the defaults are those of `ModernBertBackbone`."""

  architecture: str = option("modernbert", "Name in `ARCHITECTURES`.")
  num_layers: int = _size(22, "Transformer layers.", maximum=MAX_LAYERS)
  intermediate_dim: int = _size(1152, "Width inside the feed-forward part.")
  max_sequence_length: int = _size(8192, "Tokens that it was trained with.")
  dropout: float = _dropout(0.0, "Rate after attention and feed-forward.")
  attention_dropout: float = _dropout(0.0, "Rate on attention probabilities.")
  embedding_dropout: float = _dropout(0.0, "Rate after embeddings.")
  activation: str = option(
    "gelu",
    "Activation of the half of the feed-forward part that is not its gate.",
    choices=tuple(ACTIVATIONS),
  )
  layer_norm_epsilon: float = option(
    1e-5, "Added to the variance by LayerNorm.", above=0.0
  )
  global_attn_every_n_layers: int = _size(
    3, "Layers 0, n, 2 n, .. are global, the others local."
  )
  sliding_window_size: int = _size(
    128,
    "Neighbours that a token of a local layer attends to, on both sides.",
    minimum=2,
  )
  global_rope_max_wavelength: float = option(
    160000.0, "Base of the rotary positions of global layers.", above=0.0
  )
  local_rope_max_wavelength: float = option(
    10000.0, "Base of the rotary positions of local layers.", above=0.0
  )

  def __post_init__(self):
    super().__post_init__()
    head_size = self.hidden_dim // self.num_heads
    for name, value in (
      ("heads' size", head_size),
      ("sliding window", self.sliding_window_size),
    ):
      if value % 2:
        raise ValueError(f"the {name} must be even. Received: {value}.")
