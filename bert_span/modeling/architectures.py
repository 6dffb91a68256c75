"""The architectures of the BERT family: KerasHub's and Hugging Face's names."""

import dataclasses

import keras_hub

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
_SIZES = (
  *("vocabulary_size", "num_layers", "num_heads", "hidden_dim"),
  *("intermediate_dim", "max_sequence_length"),
)


@dataclasses.dataclass(frozen=True)
class Architecture:
  """What sets an encoder of the BERT family apart."""

  name: str  # its model_type in Hugging Face's config.json
  backbone: type  # its classes in KerasHub
  tokenizer: type
  sizes: dict[str, str]  # fields of EncoderConfig -> arguments of that class
  embeddings: str = ""  # path of the layer with tables of tokens and positions
  activation: str = "gelu_new"  # what that class computes
  layer_norm_epsilon: float = 1e-12
  has_pooler: bool = True  # a layer that span extraction ignores
  byte_pairs: bool = False  # whether its tokens are these, not WordPieces
  # Fields of EncoderConfig -> keys of Hugging Face's config.json.
  huggingface_keys: dict[str, str] = dataclasses.field(
    default_factory=lambda: _HUGGINGFACE_KEYS
  )
  # What BERT's weights and its own are called there; replaced in this order.
  huggingface_names: tuple[tuple[str, str], ...] = ()
  first_position: int = 0  # row of its position table for the first token

  @property
  def has_segments(self):
    """Whether question and passage have embeddings of their own."""
    return "num_segments" in self.sizes


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
    {name: name for name in _SIZES},
    embeddings="embeddings/",
    activation="gelu",
    layer_norm_epsilon=1e-5,
    has_pooler=False,
    byte_pairs=True,
    # Positions count from the id of <pad>, 1, and padding has that position.
    first_position=2,
  ),
)
ARCHITECTURES = {each.name: each for each in _ARCHITECTURES}


def architecture_of(backbone):
  """The `Architecture` of a KerasHub backbone; ValueError if it is none."""
  for architecture in _ARCHITECTURES:
    if isinstance(backbone, architecture.backbone):
      return architecture
  raise ValueError(
    f"The encoder must be one of {', '.join(ARCHITECTURES)}. Received: "
    f"{type(backbone).__name__}"
  )
