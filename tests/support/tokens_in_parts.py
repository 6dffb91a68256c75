"""Tokens of many texts, for a moderate memory."""

import itertools


def tokens_in_parts(tokenizer, texts):
  """Returns lists of the ids, starts and ends of texts, 500 texts at a time."""
  parts = [
    [column.to_list() for column in tokenizer(texts[begin : begin + 500])]
    for begin in range(0, len(texts), 500)
  ]
  return [[*itertools.chain(*column)] for column in zip(*parts, strict=True)]
