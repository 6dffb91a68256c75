"""Decoding of small windows made by hand; expectations counted on paper."""

import functools
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_span import DecoderOptions, SpanDecoder
from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from tests.support.squad import OUTSIDE, decode_by_loops, hand_windows

_windows = functools.partial(hand_windows, pads=1)


def _window(context, first_word=0, max_context=None):
  """Tokens of [CLS] q [SEP] words [SEP] [PAD]; words are parted by blanks."""
  spans = [word.span() for word in re.finditer(r"\S+", context)][first_word:]
  flags = max_context or [True] * len(spans)
  inside = [(*span, flag) for span, flag in zip(spans, flags, strict=False)]
  return [OUTSIDE] * 3 + inside + [OUTSIDE] * 2


def _decode(contexts, windows, start_logits, end_logits, **options):
  """Outputs as nested Python lists."""
  shape = windows["padding_mask"].shape
  outputs = SpanDecoder(DecoderOptions(**options))(
    tf.constant(contexts, tf.string, [len(contexts)]),
    windows,
    *(tf.constant(x, tf.float32, shape) for x in (start_logits, end_logits)),
  )
  return {name: value.numpy().tolist() for name, value in outputs.items()}


def _decode_one(start_logits, end_logits, **options):
  """Of one window with all of _CONTEXT."""
  windows = _windows([_window(_CONTEXT)])
  return _decode([_CONTEXT], windows, start_logits, end_logits, **options)


def _texts(outputs, row=0):
  count = outputs["n_best_count"][row]
  texts = outputs["n_best_answer"][row]
  assert all(text == b"" for text in texts[count:])
  return [text.decode() for text in texts[:count]]


#                 0      1  2      3  4  5  6  7      8
_CONTEXT = "a b c d"  # [CLS] q [SEP] a  b  c  d  [SEP] [PAD]


def _assert_softmax(outputs, scores):
  """The probabilities are the softmax of these scores, 0 for the padding."""
  weights = np.zeros(len(outputs["n_best_score"][0]))
  weights[: len(scores)] = np.exp(scores)
  expected = weights / weights.sum()
  np.testing.assert_allclose(outputs["n_best_probability"][0], expected)


def test_best_span_and_order_of_the_n_best():
  start, end = [0, 0, 0, 7, 3, 2, 0, 0, 0], [0, 0, 0, 2, 6, 5, 0, 0, 0]
  outputs = _decode_one(start, end, max_answer_length=2**31 - 1)
  # 7+6, 7+5, 3+6, 7+2, 3+5, ...: "b" and "a" tie at 9, start rank decides.
  assert _texts(outputs)[:5] == ["a b", "a b c", "a", "b", "b c"]
  assert (outputs["answer"], outputs["score"]) == ([b"a b"], [13.0])
  assert (outputs["char_start"], outputs["char_end"]) == ([0], [3])
  assert outputs["n_best_end_logit"][0][:3] == [6.0, 5.0, 2.0]
  count, scores = outputs["n_best_count"][0], outputs["n_best_score"][0]
  assert count < len(scores)
  _assert_softmax(outputs, scores[:count])
  assert outputs["probability"][0] == outputs["n_best_probability"][0][0]


def _decode_null(logits, **options):
  return _decode_one(logits, logits, version_2_with_negative=True, **options)


_NO = [1, -9, -9, 4, 3, -9, -9, -9, -9]  # null score 2, best span "a" 8


def test_the_null_entry_has_its_share_of_the_probability():
  outputs = _decode_null(_NO, n_best_size=3)
  assert _texts(outputs) == ["a", "a b", "b", ""]
  _assert_softmax(outputs, [8.0, 7, 6, 2])


def test_no_answer_is_given_above_the_threshold_only():
  logits = [5, *_NO[1:]]  # null score 10, best span 8
  outputs = _decode_null(logits)
  assert (outputs["null_odds"], outputs["score"]) == ([2.0], [10.0])
  assert (outputs["answer"], outputs["is_answerable"]) == ([b""], [False])
  assert (outputs["char_start"], outputs["char_end"]) == ([0], [0])
  assert outputs["probability"][0] == outputs["n_best_probability"][0][0]
  outputs = _decode_null(logits, null_score_diff_threshold=2.0)
  assert outputs["answer"] == [b"a"]
  assert outputs["probability"][0] == outputs["n_best_probability"][0][1]


def test_question_without_a_span_gets_no_answer_in_both_versions():
  logits = [3, 2, 2, -9, -9, -9, -9, 2, 2]
  for version_2, cls, score in ((False, 0.0, 0.0), (True, 3.0, 6.0)):
    options = {"version_2_with_negative": version_2, "n_best_size": 5}
    options["null_score_diff_threshold"] = 1e9 * version_2
    outputs = _decode_one(logits, logits, **options)
    assert (outputs["answer"], outputs["n_best_count"]) == ([b""], [1])
    assert outputs["n_best_start_logit"][0][0] == cls
    assert outputs["n_best_probability"][0][:3] == [1.0, 0.0, 0.0]
    assert (outputs["probability"], outputs["score"]) == ([1.0], [score])
    assert outputs["null_odds"] == [NO_SPAN_NULL_ODDS]


@pytest.mark.parametrize("version_2", [False, True])
@pytest.mark.parametrize("span_score", ["logit_sum", "mean_probability"])
def test_examples_without_a_window_get_no_answer(version_2, span_score):
  # Examples 0, 2 and 3 have no window; 1 has one.
  logits = [-1, -9, -9, 4, 3, -9, -9, -9, -9]
  options = {"version_2_with_negative": version_2, "span_score": span_score}
  contexts = ["", _CONTEXT, "  ", ""]
  windows = _windows([_window(_CONTEXT)], [1])
  outputs = _decode(contexts, windows, logits, logits, **options)
  assert outputs["answer"] == [b"", b"a", b"", b""]
  assert outputs["is_answerable"] == [False, True, False, False]
  assert outputs["null_odds"][0] == NO_SPAN_NULL_ODDS
  assert (outputs["score"][0], outputs["n_best_count"][3]) == (0.0, 1)
  assert outputs["probability"][0] == outputs["probability"][3] == 1.0
  # Not a single window in the batch, and not a single example.
  outputs = _decode(["", ""], _windows([]), [], [], **options)
  assert outputs["answer"] == [b"", b""]
  assert outputs["probability"] == [1.0, 1.0]
  outputs = _decode([], _windows([]), [], [], **options)
  assert all(value == [] for value in outputs.values())


def test_mean_probability_averages_softmaxes_over_real_tokens():
  start, end = [0, 0, 0, 2, 1, 0, 0, 0, 50], [0, 0, 0, 1, 3, 0, 0, 0, 60]
  options = {"span_score": "mean_probability", "n_best_size": 3}
  outputs = _decode_one(start, end, version_2_with_negative=True, **options)
  # Padding left out.
  starts, ends = (np.exp(x[:8]) / np.exp(x[:8]).sum() for x in (start, end))
  best = (starts[3] + ends[4]) / 2
  null = (starts[0] + ends[0]) / 2
  assert outputs["answer"] == [b"a b"]
  assert outputs["score"] == [pytest.approx(best)]
  assert outputs["probability"] == outputs["score"]
  assert outputs["null_odds"] == [pytest.approx(null - best)]
  # "b" (1, 3) is more probable than "a" (2, 1), "a" than null.
  assert _texts(outputs) == ["a b", "b", "a", ""]
  assert outputs["n_best_end_logit"][0][:2] == [3.0, 3.0]
  assert outputs["n_best_probability"] == outputs["n_best_score"]


def test_mean_probability_compares_windows_by_probability():
  # Higher logits in window 0, but there two starts share the probability.
  start = [[-9, -9, -9, 9, 9, -9, -9, -9, -9], [-9] * 5 + [6] + [-9] * 3]
  windows = _windows([_window(_CONTEXT)] * 2, [0, 0])
  for span_score, answer in (("logit_sum", b"a"), ("mean_probability", b"c")):
    outputs = _decode([_CONTEXT], windows, start, start, span_score=span_score)
    assert outputs["answer"] == [answer]


@pytest.mark.parametrize("seed", [0, 1, 4, 5])
def test_random_batches_decode_as_nested_loops_do(seed):
  rng = np.random.default_rng(seed)
  contexts, rows, example_index = [], [], []
  for example in range(12):
    words = int(rng.integers(1, 40))
    # Few letters: many equal texts.
    contexts.append(" ".join(rng.choice(list("ab日"), words)))
    for first in range(0, words, 10):
      flags = (rng.random(min(20, words - first)) < 0.6).tolist()
      rows.append(_window(contexts[-1], first, flags))
      example_index.append(example)
  windows = _windows(rows, example_index)
  shape = windows["padding_mask"].shape
  start, end = np.round(rng.normal(size=(2, *shape)) * 3, seed % 2)
  start, end = start.astype(np.float32), end.astype(np.float32)
  options = DecoderOptions(
    n_best_size=1000 if seed == 5 else int(rng.integers(1, 12)),
    max_answer_length=2**31 - 1 if seed == 4 else 5,
  )
  outputs = SpanDecoder(options)(tf.constant(contexts), windows, start, end)
  arrays = {name: value.numpy() for name, value in windows.items()}
  for i, context in enumerate(contexts):
    mine = np.array(example_index) == i
    of_example = {name: value[mine] for name, value in arrays.items()}
    logits = start[mine], end[mine]
    spans, odds = decode_by_loops(context, of_example, *logits, options)
    assert float(outputs["null_odds"][i]) == pytest.approx(odds)
    count = int(outputs["n_best_count"][i])
    columns = [
      outputs[f"n_best_{name}"][i, :count].numpy().tolist()
      for name in ("answer", "char_start", "char_end", "score")
    ]
    got = [(text.decode(), *row) for text, *row in zip(*columns, strict=True)]
    assert got == (spans or [("", 0, 0, 0.0)])


def test_scores_are_exact_under_any_dtype_policy():
  keras.config.set_dtype_policy("mixed_bfloat16")
  try:
    logits = [-9, -9, -9, 1.0009765625, 1.0, -9, -9, -9, -9]
    outputs = _decode_one(logits, logits)
  finally:
    keras.config.set_dtype_policy("float32")
  assert outputs["score"] == [2.001953125]


def test_logits_that_are_not_finite_are_an_error():
  logits = [0.0] * 8 + [float("nan")]
  with pytest.raises(tf.errors.InvalidArgumentError, match="start_logits"):
    _decode_one(logits, [0.0] * 9)
