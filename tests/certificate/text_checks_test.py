"""Checks 1, 2 and 8: WordPieces, windows and labels."""

import pytest

from bert_span.certificate.text_checks import (
  compare_lost,
  compare_tokens,
  compare_windows,
)

_NUM_WINDOWS = {"a": 5147, "b": 12032, "c": 12924, "d": 27075, "e": 3542}
_NUM_WINDOWS["f"] = _NUM_WINDOWS["e"]


@pytest.mark.large
def test_all_strings_have_the_originals_tokens(original):
  comparisons = list(compare_tokens(original))
  assert len(comparisons) == 4
  for comparison in comparisons:
    assert comparison.passes, comparison.failures
    assert comparison.cases == comparison.equal > 1000


@pytest.mark.large
def test_one_other_token_fails(sample, alter):
  def change(rows):
    return [
      [text, [*tokens, "x"] if i == 7 else tokens]
      for i, (text, tokens) in enumerate(rows[:20])
    ]

  alter("tokenization_lower.jsonl.gz", change)
  wordpieces, *others = compare_tokens(sample)
  assert wordpieces.cases - wordpieces.equal == 1
  assert not wordpieces.passes
  assert all(comparison.passes for comparison in others)


@pytest.mark.large
@pytest.mark.parametrize("name", _NUM_WINDOWS)
def test_every_window_is_the_originals(original, name):
  (comparison,) = compare_windows(original, [original.configurations[name]])
  assert comparison.passes, comparison.failures
  assert comparison.cases == comparison.equal == _NUM_WINDOWS[name]


@pytest.mark.parametrize(
  ("key", "value"),
  [
    *(("sha1_input_ids", "0"), ("sha1_segment_ids", "0")),
    *(("sha1_orig_map", "0"), ("sha1_max_context", "0")),
    *(("start_position", 5), ("end_position", 5), ("n_real_tokens", 5)),
  ],
)
def test_one_other_value_of_a_window_fails(sample, alter, key, value):
  def change(features):
    return [{**features[0], key: value}, *features[1:]]

  alter("features_i.jsonl.gz", change)
  comparison = next(compare_windows(sample, [sample.configurations["i"]]))
  assert comparison.failures == ["('edge001', 0)"]


def test_another_order_fails_and_a_question_the_original_drops_does_not(
  sample, alter
):
  alter("features_h.jsonl.gz", lambda f: [f[1], f[0]])
  (comparison,) = compare_windows(sample, [sample.configurations["h"]])
  assert not comparison.passes
  alter("features_i.jsonl.gz", lambda f: f[:1] + f[2:])
  assert next(compare_windows(sample, [sample.configurations["i"]])).passes


def test_a_dropped_question_that_is_not_trained_on_here_fails(sample, alter):
  def change(summary):
    skipped = ["edge037", *summary["skipped_qas_ids"]]
    return {**summary, "skipped_qas_ids": skipped}

  alter("summary_g.json", change)
  comparison = compare_lost(sample, sample.configurations["g"])
  assert comparison.failures == ["edge037: [None]"]
