"""All checks on the original's outputs for SQuAD."""

import pytest

from bert_span.certificate.decoding_checks import (
  compare_decoding,
  compare_null_odds,
)
from bert_span.certificate.model_checks import compare_model, compare_optimizer
from bert_span.certificate.text_checks import (
  compare_scores,
  compare_tokens,
  compare_windows,
)

pytestmark = pytest.mark.large

_NUM_WINDOWS = {"a": 5147, "b": 12032, "c": 12924, "d": 27075, "e": 3542}
_NUM_WINDOWS["f"] = _NUM_WINDOWS["e"]
_NUM_QUESTIONS = {"a": 4961, "c": 4961, "f": 3308}


def passed(comparisons):
  """(cases, equal) of each comparison by name; all must pass."""
  found = {}
  for comparison in comparisons:
    assert comparison.passes, (comparison.name, comparison.failures)
    found[comparison.name] = comparison.cases, comparison.equal
  return found


def test_all_strings_have_the_originals_tokens(original):
  counts = passed(compare_tokens(original)).values()
  assert len(counts) == 4
  assert all(cases == equal > 1000 for cases, equal in counts)


@pytest.mark.parametrize("name", _NUM_WINDOWS)
def test_every_window_is_the_originals(original, name):
  found = passed(compare_windows(original, [original.configurations[name]]))
  assert list(found.values()) == [(_NUM_WINDOWS[name], _NUM_WINDOWS[name])]


@pytest.mark.parametrize("name", _NUM_QUESTIONS)
def test_spans_order_texts_and_null_odds_are_the_originals(original, name):
  configurations = [original.configurations[name]]
  odds = passed(compare_null_odds(original, configurations)).values()
  assert len(odds) == (3 if name == "f" else 0)
  assert all(cases > 3000 for cases, _ in odds)
  found = passed(compare_decoding(original, configurations))
  cases, equal = found[f"Answers {name}, peaky"]
  assert cases == _NUM_QUESTIONS[name]
  assert cases - equal <= 0.005 * cases
  cases, equal = found[f"Best span and n-best order {name}, peaky"]
  assert cases == equal >= 792


@pytest.mark.parametrize(
  ("compare", "cases"),
  [
    (
      compare_model,
      {
        "Model: start_logits": 64,
        "Answering: start_logits": 64,
        "Training: loss of each of 20 steps": 20,
        "Training: weights after 20 steps": 37,
      },
    ),
    (
      compare_optimizer,
      {
        "Updates, dense: 9 variables, 40 steps": 40 * 9,
        "Updates, with_embedding: 10 variables, 40 steps": 40 * 10,
      },
    ),
    (compare_scores, {}),
  ],
)
def test_every_number_is_the_originals(original, compare, cases):
  found = passed(compare(original))
  assert {name: found[name][0] for name in cases} == cases
