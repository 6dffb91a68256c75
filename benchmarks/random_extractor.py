"""An extractor with random weights, for measurements of time and memory."""

from bert_span.extractor import SpanExtractor
from bert_span.modeling.encoder import EncoderConfig, build_encoder
from bert_span.modeling.heads import SpanHead
from bert_span.modeling.span_model import SpanModel
from bert_span.presets import load_pretrained
from bert_span.text.vocabulary import load_vocabulary

QUESTION = "水在哪里?"
_PASSAGE = "水木火土金日月山川"
_SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def random_extractor(preset=None):
  """A SpanExtractor with run_squad's windows and a random head.

  Args:
    preset: encoder, as in run_squad; None is a random one with one layer and 16
      units.
  """
  if preset:
    loaded = load_pretrained.load_pretrained(preset)
    vocabulary = load_vocabulary(loaded.vocabulary_path)
    return SpanExtractor(SpanModel(loaded.backbone, SpanHead()), vocabulary)
  return SpanExtractor(_tiny_model(), [*_SPECIAL_TOKENS, *_PASSAGE])


def passage_of(characters):
  """A passage in which each character is a WordPiece."""
  return (_PASSAGE * (characters // len(_PASSAGE) + 1))[:characters]


def _tiny_model():
  sizes = EncoderConfig(
    vocabulary_size=len(_SPECIAL_TOKENS) + len(_PASSAGE),
    num_layers=1,
    num_heads=1,
    hidden_dim=16,
    intermediate_dim=16,
    max_sequence_length=384,
    num_segments=2,
  )
  return SpanModel(build_encoder(sizes), SpanHead())
