"""A small random encoder, and two windows for it."""

import numpy as np

from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.encoder import build_encoder

IDS = np.array([[1, 2, 3, 4, 0, 0], [5, 6, 7, 8, 9, 10]], "int32")
INPUTS = {
  "token_ids": IDS,
  "segment_ids": np.array([[0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]], "int32"),
  "padding_mask": (IDS > 0).astype("int32"),
}

# As the released MobileBERT, but small.
MOBILEBERT = {
  "activation": "relu",
  "embedding_dim": 8,
  "trigram_input": True,
  "use_bottleneck": True,
  "intra_bottleneck_size": 12,
  "key_query_shared_bottleneck": True,
  "num_feedforward_networks": 2,
  "normalization_type": "no_norm",
  "outer_norm_epsilon": 1e-5,
}
# Four calls of two groups' layers, three in each call.
ALBERT = {
  "num_layers": 4,
  "num_groups": 2,
  "num_inner_repetitions": 3,
  "embedding_dim": 6,
}
# A global and a local layer, and a window that is shorter than texts.
MODERNBERT = {"num_layers": 2, "sliding_window_size": 8}


def tiny_config(**changes):
  sizes = {"vocabulary_size": 11, "num_layers": 1, "num_heads": 2}
  sizes |= {"hidden_dim": 8, "intermediate_dim": 16, "num_segments": 2}
  sizes |= {"max_sequence_length": 6}
  architecture = changes.get("architecture", "bert")
  if architecture == "deberta-v2":
    sizes["position_buckets"] = 4
  return ARCHITECTURES[architecture].config(**{**sizes, **changes})


def tiny_encoder(dtype=None, **changes):
  return build_encoder(tiny_config(**changes), dtype)
