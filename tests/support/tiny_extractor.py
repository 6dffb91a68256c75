"""A small random model that answers questions, for tests of programs."""

import atexit
import contextlib
import functools
import io
import pathlib
import shutil
import tempfile

import keras
import numpy as np
import pytest
import tensorflow as tf
from tiny_encoder import MOBILEBERT, MODERNBERT, tiny_encoder

from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.text.byte_pair_tokenizer import BYTES
from bert_span.text.options import WindowOptions
from bert_span.text.sentencepiece_model import (
  CONTROL,
  PIECE_FAMILIES,
  UNKNOWN,
  ModelProto,
  sentence_pieces,
)
from bert_span.text.vocabulary import (
  AddedToken,
  BytePairs,
  ExtendedVocabulary,
  ModernBertPairs,
)

VOCABULARY = [
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
  *("the", "mill", "was", "built", "by", "anna", "in", "1895", "near", "river"),
  *("who", "when", "cafe", "日", "🙂", "##s", ".", "?", ","),
]
CONTEXT = "The mill was built by Anna in 1895, near the river."
# Bytes, and the results of two merges.
BYTE_PAIRS = BytePairs(
  ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *BYTES, "in", "Ġin"],
  ["i n", "Ġ in"],
)
# Bytes, the result of a merge, and a token that is found before words are.
MODERNBERT_PAIRS = ExtendedVocabulary(
  ModernBertPairs(
    ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", *BYTES, "in", "  "],
    ["i n"],
  ),
  (AddedToken("  ", normalized=True),),
)
_LETTERS = "abcdefghijklmnopqrstuvwxyzTAWE1895.,?日"


def tiny_pieces(family):
  """`SentencePieces` of letters and some words."""
  model = ModelProto()
  names = ("<unk>", "<s>", "</s>")
  if family == "deberta-v2":
    names = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
  elif family == "albert":
    names = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
  for name in names:
    model.pieces.add(piece=name, type=CONTROL)
  unknown = names.index(PIECE_FAMILIES[family].unknown)
  model.pieces[unknown].type = UNKNOWN
  model.trainer_spec.unk_id = unknown
  for token in ("\u2581", *_LETTERS, "\u2581the", "\u2581in", "\u2581mill"):
    model.pieces.add(piece=token, score=-5.0)
  return sentence_pieces(model.SerializeToString(), family, "tiny_pieces")


@functools.cache
def trained_pieces(family, texts=()):
  """`SentencePieces` that the package sentencepiece trains."""
  sentencepiece = pytest.importorskip("sentencepiece")
  content, size = io.BytesIO(), 3000 if texts else 40
  special = {"unk_id": 0, "bos_id": 1, "eos_id": 2}
  if family == "deberta-v2":
    special = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}
    names = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}
    special |= {f"{name}_piece": piece for name, piece in names.items()}
  elif family == "albert":
    special = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1}
    special |= {"control_symbols": ["[CLS]", "[SEP]", "[MASK]"]}
    special |= {"user_defined_symbols": [*'()"-.–£€']}
    size += 8
  sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter([CONTEXT, QUESTION, "It's in Café 日本.", *texts]),
    model_writer=content,
    vocab_size=size,
    hard_vocab_limit=not texts,
    minloglevel=2,
    **special,
  )
  return sentence_pieces(content.getvalue(), family, "trained_pieces")


_WINDOW_OPTIONS = WindowOptions(32, 8, 8)
QUESTION = "Who built the mill?"


def tiny_extractor(
  version_2=False,
  window_options=_WINDOW_OPTIONS,
  fixed_length=False,
  do_lower_case=True,
  seed=7,
  kind=SpanExtractor,
  vocabulary=VOCABULARY,
  **encoder,
):
  """One layer, logits that differ clearly; with version_2 "no answer" too."""
  keras.utils.set_random_seed(seed)
  backbone = tiny_encoder(
    **{"intermediate_dim": 32, **encoder},
    vocabulary_size=len(getattr(vocabulary, "tokens", vocabulary)),
    hidden_dim=16,
    max_sequence_length=window_options.max_seq_length,
  )
  extractor = kind(
    backbone,
    kind.preprocessor_class(
      vocabulary, do_lower_case, window_options, pad_to_max=fixed_length
    ),
    kind.decoder_class.options_type(version_2_with_negative=version_2),
  )
  rng = np.random.default_rng(seed)
  for weight in backbone.weights:
    if "embedding" in weight.path and len(weight.shape) == 2:
      weight.assign(rng.normal(size=weight.shape))
  kernel = extractor.head.kernel
  kernel.assign(3 * rng.normal(size=kernel.shape))
  return extractor


def shared_extractor(version_2=False, kind=SpanExtractor):
  """A `tiny_extractor` that tests share and do not change."""
  return _made_once(version_2, kind)


_SHARED_WEIGHTS = []


@functools.cache
def _made_once(version_2, kind):
  """One for equal arguments, whichever of them a test names."""
  extractor = tiny_extractor(version_2, kind=kind)
  _SHARED_WEIGHTS.append((extractor, extractor.get_weights()))
  return extractor


def assert_shared_are_unchanged():
  """Checks that no test has trained a `shared_extractor` or read into it."""
  for extractor, weights in _SHARED_WEIGHTS:
    for weight, expected in zip(extractor.weights, weights, strict=True):
      np.testing.assert_array_equal(weight, expected, weight.path)


@functools.cache
def shared_model(version_2=False, kind=SpanExtractor):
  """The directory of a `shared_extractor`, which tests do not change."""
  directory = new_folder() / "model"
  shared_extractor(version_2, kind).save_to_preset(directory)
  return directory


def extractor_of(architecture, **options):
  """A new `tiny_extractor` of an architecture, by its name."""
  if architecture == "roberta":
    options = {
      "window_options": WindowOptions(96, 40, 32),
      "vocabulary": BYTE_PAIRS,
      **options,
    }
  elif architecture == "modernbert":
    options = {
      "window_options": WindowOptions(96, 40, 32),
      "vocabulary": MODERNBERT_PAIRS,
      **MODERNBERT,
      **options,
    }
  elif architecture in PIECE_FAMILIES:
    options = {
      "window_options": WindowOptions(96, 40, 32),
      "vocabulary": tiny_pieces(architecture),
      **options,
    }
    if architecture == "deberta-v2":
      options = {"position_buckets": 64, **options}
    elif architecture == "albert":
      # A layer that is called twice.
      options = {"num_layers": 2, "embedding_dim": 16, **options}
  elif architecture == "electra":
    options["embedding_dim"] = 8
  elif architecture == "mobilebert":
    options = {**MOBILEBERT, **options}
  return tiny_extractor(architecture=architecture, **options)


@contextlib.contextmanager
def eagerly():
  """Runs models op by op: sooner than a graph is made, for few questions."""
  tf.config.run_functions_eagerly(True)
  try:
    yield
  finally:
    tf.config.run_functions_eagerly(False)


def new_folder():
  """A folder that exists until the process ends."""
  folder = pathlib.Path(tempfile.mkdtemp())
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  return folder
