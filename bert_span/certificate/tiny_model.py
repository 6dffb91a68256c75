"""The tiny BERT that checks 3 and 9 compare."""

import contextlib
import dataclasses
import os
import tempfile
import zlib

import numpy as np
import tensorflow as tf

from bert_span.modeling.encoder import build_encoder
from bert_span.modeling.encoder_config import read_bert_config
from bert_span.modeling.heads import SpanHead
from bert_span.modeling.span_model import SpanModel, assign_head
from bert_span.presets.encoder_weights import original_names
from bert_span.presets.tf1_checkpoint import load_tf1_checkpoint

_CHECKPOINT = "tiny_ckpt/bert_model.ckpt"


def tiny_model(goldens, dropout=True):
  """The `SpanModel` of the original's tiny checkpoint."""
  config = read_bert_config(goldens.path("tiny_ckpt/bert_config.json"))
  if not dropout:
    config = dataclasses.replace(config, dropout=0.0, attention_dropout=0.0)
  backbone = build_encoder(config)
  with _checkpoint(goldens, config) as prefix:
    heads = load_tf1_checkpoint(backbone, prefix)
  model = SpanModel(backbone, SpanHead())
  assign_head(model, heads["span_head"])
  return model


@contextlib.contextmanager
def _checkpoint(goldens, config):
  """Yields the prefix of the TensorFlow 1 checkpoint.

  Goldens without a checkpoint were recorded with weights that are a function of
  their names: they are written into a temporary folder.
  """
  if goldens.has(f"{_CHECKPOINT}.index"):
    yield goldens.path(f"{_CHECKPOINT}.index").removesuffix(".index")
    return
  hidden = config.hidden_dim
  shapes = {
    f"bert/{name}": _shape(name, config)
    for name in original_names(config.num_layers).values()
  }
  shapes["cls/squad/output_weights"] = (2, hidden)
  shapes["cls/squad/output_bias"] = (2,)
  with tempfile.TemporaryDirectory() as folder:
    prefix = os.path.join(folder, "bert_model.ckpt")
    tf.raw_ops.SaveV2(
      prefix=prefix,
      tensor_names=list(shapes),
      shape_and_slices=[""] * len(shapes),
      tensors=[_weight(name, shape) for name, shape in shapes.items()],
    )
    yield prefix


def _weight(name, shape):
  """Normal with deviation 0.2, around 1 for gamma, as tests/original draws."""
  generator = np.random.RandomState(zlib.crc32(name.encode("utf-8")))
  values = generator.standard_normal(shape) * 0.2
  return (values + (1 if name.endswith("gamma") else 0)).astype(np.float32)


def _shape(name, config):
  hidden, inner = config.hidden_dim, config.intermediate_dim
  for ending, shape in (
    ("word_embeddings", (config.vocabulary_size, hidden)),
    ("position_embeddings", (config.max_sequence_length, hidden)),
    ("token_type_embeddings", (config.num_segments, hidden)),
    ("intermediate/dense/kernel", (hidden, inner)),
    ("intermediate/dense/bias", (inner,)),
    ("attention/output/dense/kernel", (hidden, hidden)),
    ("output/dense/kernel", (inner, hidden)),
    ("kernel", (hidden, hidden)),
  ):
    if name.endswith(ending):
      return shape
  return (hidden,)  # A bias, beta or gamma.
