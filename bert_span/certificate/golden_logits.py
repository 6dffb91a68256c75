"""The logits with which the original's predictions were recorded.

They are a function of the window's name, so that they need not be stored; the
outputs hold hashes of them.
"""

import zlib

import numpy as np


def window_logits(
  kind, qas_id, doc_span_index, seq_length, first_context, tokens
):
  """Start and end logits of one window, float32 [seq_length] each.

  Args:
    kind: "random", "ties" or "peaky".
    qas_id: the question's id.
    doc_span_index: number of the window in its question.
    seq_length: max_seq_length, WordPieces.
    first_context: position of the first context token.
    tokens: real tokens of the window, special ones included.
  """
  key = f"{qas_id}/{doc_span_index}"
  if kind == "peaky":
    return _peaky(_generator(key + "/peaky"), seq_length, first_context, tokens)
  rng = _generator(key)
  start = rng.standard_normal(seq_length).astype(np.float32) * 4
  end = rng.standard_normal(seq_length).astype(np.float32) * 4
  return (np.round(start), np.round(end)) if kind == "ties" else (start, end)


def _generator(key):
  return np.random.RandomState(zlib.crc32(key.encode("utf-8")) & 0xFFFFFFFF)


def _peaky(rng, seq_length, first_context, tokens):
  low = np.float32(5)
  start = rng.standard_normal(seq_length).astype(np.float32) - low
  end = rng.standard_normal(seq_length).astype(np.float32) - low
  for _ in range(6):
    at = first_context + int(rng.randint(0, tokens - 1 - first_context))
    length = int(rng.randint(0, 12))
    height = np.float32(rng.uniform(4, 12))
    start[at] += height
    end[min(at + length, tokens - 2)] += height
  null = np.float32(rng.uniform(4, 14))
  start[0] += null
  end[0] += null
  return start, end
