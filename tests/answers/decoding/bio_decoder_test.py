"""Answers of several spans from B/I/O logits, by hand and by brute force."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from bert_span import BioDecoder, BioDecoderOptions
from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.decoding.bio_decoder import PassageTokens, best_span_path
from bert_span.modeling.tags import B, I, O
from tests.support.squad import OUTSIDE, hand_windows

_PREFIX = 2  # positions before the passage: [CLS] [SEP]


def _windows(*tokens, is_max_context=lambda window, i: True, example=0):
  """Windows of these ranges of tokens: words of one letter and blanks."""
  rows = [
    [OUTSIDE] * _PREFIX
    + [(2 * i, 2 * i + 1, is_max_context(window, i)) for i in each]
    + [OUTSIDE]
    for window, each in enumerate(tokens)
  ]
  starts = [each.start for each in tokens]
  return hand_windows(rows, [example] * len(rows), starts, _PREFIX)


def _logits(probabilities):
  """float32 [1, seq_length, 3] of passage tokens; the rest is no matter."""
  p = np.pad(probabilities, [[_PREFIX, 1], [0, 0]], constant_values=1 / 3)
  return np.log(p).astype(np.float32)[np.newaxis]


def _decode(contexts, windows, logits, **options):
  decoder = BioDecoder(BioDecoderOptions(**options))
  outputs = decoder(tf.constant(contexts), windows, tf.constant(logits))
  return {name: value.numpy() for name, value in outputs.items()}


def _answer(probabilities, context="a b c d", **options):
  """The outputs of one passage of one window."""
  windows = _windows(range(len(probabilities)))
  return _decode([context], windows, _logits(probabilities), **options)


def _texts(outputs, example=0):
  count = outputs["span_count"][example]
  return [t.decode() for t in outputs["span_text"][example, :count]]


_TWO_SPANS = [
  [0.8, 0.1, 0.1],  # a: B
  [0.1, 0.7, 0.2],  # b: I
  [0.1, 0.1, 0.8],  # c: O
  [0.6, 0.2, 0.2],  # d: B
]


@pytest.mark.parametrize("decoding", ["viterbi", "greedy"])
def test_every_run_is_a_span_in_order_of_position(decoding):
  outputs = _answer(_TWO_SPANS, decoding=decoding)
  assert _texts(outputs) == ["a b", "d"]
  assert outputs["span_char_start"].tolist() == [[0, 6]]
  assert outputs["span_char_end"].tolist() == [[3, 7]]
  assert outputs["is_answerable"].tolist() == [True]
  scores = [np.sqrt(0.8 * 0.7), 0.6]
  assert outputs["span_score"][0] == pytest.approx(scores)
  # c is no I with 0.9; after d the passage ends.
  probabilities = [0.8 * 0.7 * 0.9, 0.6]
  assert outputs["span_probability"][0] == pytest.approx(probabilities)
  odds = (0.1 * 0.2 * 0.8 * 0.2) / (0.8 * 0.7 * 0.8 * 0.6)
  assert outputs["null_odds"] == pytest.approx(np.log([odds]))
  # The best span has its own columns.
  assert outputs["answer"].tolist() == [b"a b"]
  for name in ("char_start", "char_end", "score", "probability"):
    assert outputs[name][0] == outputs[f"span_{name}"][0, 0]


def test_viterbi_lets_i_follow_b_or_i_only():
  """The example of bio_decoder: greedy is O I O, Viterbi B I O."""
  orphan_i = [[0.4, 0.1, 0.5], [0.1, 0.6, 0.3], [0.1, 0.1, 0.8]]
  assert _texts(_answer(orphan_i, decoding="greedy")) == ["b"]
  outputs = _answer(orphan_i, decoding="viterbi")
  assert _texts(outputs) == ["a b"]
  assert outputs["null_odds"] == pytest.approx(np.log([0.12 / 0.192]))


_ALL_O = [[0.2, 0.1, 0.7], [0.1, 0.1, 0.8]]


@pytest.mark.parametrize("decoding", ["viterbi", "greedy"])
def test_no_span_is_no_answer_where_that_is_possible(decoding):
  outputs = _answer(_ALL_O, decoding=decoding, version_2_with_negative=True)
  assert _texts(outputs) == []
  assert not outputs["is_answerable"][0]
  assert outputs["answer"].tolist() == [b""]
  assert (outputs["char_start"][0], outputs["char_end"][0]) == (0, 0)
  assert outputs["score"][0] == 0
  assert outputs["probability"] == pytest.approx([0.7 * 0.8])
  assert outputs["null_odds"] == pytest.approx(np.log([3.5]))
  # Otherwise the best labelling with a span answers.
  assert _texts(_answer(_ALL_O, decoding=decoding)) == ["a"]


def test_thresholds():
  for probabilities, options, texts in (
    # The null threshold is in nats: ln 3.5 = 1.253.
    (_ALL_O, {"null_score_diff_threshold": 1.2}, []),
    (_ALL_O, {"null_score_diff_threshold": 1.3}, ["a"]),
    # Spans below the threshold are left out.
    (_TWO_SPANS, {"threshold": 0.61}, ["a b"]),
    (_TWO_SPANS, {"threshold": 0.9}, []),
  ):
    outputs = _answer(probabilities, version_2_with_negative=True, **options)
    assert _texts(outputs) == texts
    assert outputs["is_answerable"].tolist() == [bool(texts)]
  # One answer at least, where there is no "no answer".
  assert _texts(_answer(_TWO_SPANS, threshold=0.9)) == ["a b"]


def test_of_equal_texts_the_best_scored_stays():
  emoji = [[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]]
  assert _texts(_answer(emoji, context="é 🙂 x")) == ["é 🙂"]
  p = [[0.6, 0.1, 0.3], [0.1, 0.1, 0.8], [0.9, 0.05, 0.05], [0.8, 0.1, 0.1]]
  outputs = _answer(p, context="x b x d")
  assert _texts(outputs) == ["x", "d"]
  assert outputs["span_char_start"].tolist() == [[4, 6]]


def test_a_span_may_cross_windows_and_each_token_counts_once():
  """Tokens a b c | c d e; c is max-context in the second window."""
  windows = _windows(
    *(range(3), range(2, 5)), is_max_context=lambda window, i: window or i < 2
  )
  o, b, i = [0.05, 0.05, 0.9], [0.9, 0.05, 0.05], [0.05, 0.9, 0.05]
  logits = np.concatenate([_logits([o, b, o]), _logits([i, i, o])])
  outputs = _decode(["a b c d e"], windows, logits)
  assert _texts(outputs) == ["b c d"]


def test_examples_without_a_window_have_no_answer():
  windows = _windows(range(4), example=1)
  outputs = _decode(["", "a b c d", " "], windows, _logits(_TWO_SPANS))
  assert outputs["span_count"].tolist() == [0, 2, 0]
  assert _texts(outputs, 1) == ["a b", "d"]
  assert outputs["null_odds"][[0, 2]].tolist() == [NO_SPAN_NULL_ODDS] * 2
  assert outputs["probability"][0] == 1
  # No example is decoded, too.
  windows = {n: v[:0] for n, v in windows.items()}
  nothing = np.zeros([0], object), windows, np.zeros([0, 5, 3], np.float32)
  assert _decode(*nothing)["span_text"].shape == (0, 1)


def test_logits_must_be_finite():
  logits = np.full([1, 5, 3], np.nan, np.float32)
  with pytest.raises(tf.errors.InvalidArgumentError, match="tag_logits"):
    _decode(["a b"], _windows(range(2)), logits)


def _brute_force(log_p):
  """The best labelling with a span, and its odds, among all there are."""
  n = len(log_p)
  best, best_score = None, -np.inf
  for tags in itertools.product((B, I, O), repeat=n):
    before = (O, *tags[:-1])
    is_valid = all(t != I or b != O for b, t in zip(before, tags, strict=True))
    score = sum(log_p[k, tag] for k, tag in enumerate(tags))
    if is_valid and B in tags and score > best_score:
      best, best_score = tags, score
  return best, best_score - log_p[:, O].sum()


def test_viterbi_equals_the_best_of_all_labellings():
  rng = np.random.default_rng(3)
  lengths = [1, 2, 3, 4, 5, 6, 6, 6]
  logits = rng.normal(scale=2, size=[len(lengths), 7, 3])
  offsets = tf.zeros([len(lengths), 7], tf.int32)
  tokens = tf.constant(logits), offsets, offsets, tf.constant(lengths)
  best_tags, best_odds = best_span_path(PassageTokens(*tokens))
  for i, n in enumerate(lengths):
    log_p = logits[i, :n] - np.log(np.exp(logits[i, :n]).sum(1, keepdims=True))
    tags, odds = _brute_force(log_p)
    assert best_tags[i].numpy().tolist() == [*tags, *[O] * (7 - n)]
    assert float(best_odds[i]) == pytest.approx(odds, abs=1e-9)
