"""A million characters: every token in a window, memory in proportion."""

import json

import numpy as np
import pytest
import tensorflow as tf
from programs import succeeds
from tiny_extractor import VOCABULARY
from window_rules import check_tokens, check_windows

from bert_span.text.preprocessor import SpanPreprocessor

pytestmark = pytest.mark.large

_MILLION = 1_000_000
_SENTENCE = (
  "The mill was built by Anna in 1895, near the river. 日本語のテキスト。 "
  "한글 العربية ไทย e\u0301 İ 👩\u200d👩\u200d👧\u200d👦 🇩🇪\u202f\u200b "
)


def test_windows_of_a_million_characters_show_every_token():
  context = (_SENTENCE * (_MILLION // len(_SENTENCE) + 1))[:_MILLION]
  preprocessor = SpanPreprocessor(VOCABULARY)
  question, texts = tf.constant(["Who built it?"]), tf.constant([context])
  windows = preprocessor({"question": question, "context": texts})
  windows = {name: value.numpy() for name, value in windows.items()}
  tokens = preprocessor.tokenizer(texts)
  starts = tokens.char_starts.values.numpy()
  ends = tokens.char_ends.values.numpy()
  assert len(starts) > _MILLION / 4
  check_tokens(context, starts, ends)
  check_windows(windows, np.arange(len(windows["input_ids"])), starts, ends)


def test_memory_grows_by_less_than_1_kb_a_character():
  result = succeeds(
    "benchmarks.long_document_memory", "--characters=10000,300000"
  )
  short, long = map(json.loads, result.stdout.splitlines())
  assert (short["windows"], long["windows"]) == (77, 2342)
  grown = 1e6 * (long["peak_mb"] - short["peak_mb"])  # bytes
  assert grown < 1000 * 300_000
