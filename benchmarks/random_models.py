"""Models with random weights, for measurements of time and memory.

What needs Keras is imported when it is used: the caller chooses the backend.
"""

import dataclasses

VOCABULARY_SIZE = 30522
QUESTION = "水在哪里?"
_PASSAGE = "水木火土金日月山川"
_SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


@dataclasses.dataclass(frozen=True)
class Shape:
  """Sizes of an encoder; a feed-forward layer is 4 times as wide."""

  num_layers: int
  num_heads: int
  hidden_dim: int

  def flops(self, batch_size, seq_length):
    """Counts the floating-point operations of an update's matrix products.

    A layer has 12 H^2 weights. Each is multiplied and added once in the forward
    and twice in the backward pass for every token. Attention multiplies each
    pair of tokens by 2 H.
    """
    tokens = batch_size * seq_length
    width = self.hidden_dim
    per_token = 12 * width**2 + 2 * width * seq_length
    return 6 * tokens * self.num_layers * per_token


SHAPES = {
  "tiny": Shape(1, 1, 16),
  "mini": Shape(4, 4, 256),
  "small": Shape(4, 8, 512),
  "minilm": Shape(6, 12, 384),
  "base": Shape(12, 12, 768),
  "large": Shape(24, 16, 1024),
}


def random_encoder(shape, **changes):
  """Returns an encoder; `changes` are other fields of its EncoderConfig."""
  from bert_span.modeling.architectures import ARCHITECTURES
  from bert_span.modeling.encoder import build_encoder

  sizes = {
    "vocabulary_size": VOCABULARY_SIZE,
    "num_segments": 2,
    "intermediate_dim": 4 * shape.hidden_dim,
    **dataclasses.asdict(shape),
  }
  config_type = ARCHITECTURES[changes.get("architecture", "bert")].config
  return build_encoder(config_type(**{**sizes, **changes}))


def random_span_model(encoder):
  """Returns a `SpanExtractor` with a random head."""
  from bert_span.extractors.span_extractor import SpanExtractor

  extractor = SpanExtractor(encoder)
  extractor.head_is_trained = True  # Or it would not answer.
  return extractor


def random_extractor(preset=None):
  """Returns a SpanExtractor with run_squad's windows and a random head.

  Args:
    preset: encoder, as in run_squad; None is a random one with one layer and 16
      units.
  """
  from bert_span.data.preprocessor import SpanPreprocessor
  from bert_span.presets.load_pretrained import load_pretrained
  from bert_span.presets.vocabulary_files import load_vocabulary

  if preset:
    loaded = load_pretrained(preset)
    encoder = loaded.backbone
    vocabulary = load_vocabulary(loaded.vocabulary_path)
  else:
    vocabulary = [*_SPECIAL_TOKENS, *_PASSAGE]
    encoder = random_encoder(
      SHAPES["tiny"],
      vocabulary_size=len(vocabulary),
      intermediate_dim=16,
      max_sequence_length=384,
    )
  model = random_span_model(encoder)
  model.preprocessor = SpanPreprocessor(vocabulary)
  return model


def questions_about(characters, questions):
  """Returns `SquadExample`s about a passage of one WordPiece a character."""
  from bert_span.squad.example import SquadExample

  passage = (_PASSAGE * (characters // len(_PASSAGE) + 1))[:characters]
  return [SquadExample(str(i), QUESTION, passage) for i in range(questions)]
