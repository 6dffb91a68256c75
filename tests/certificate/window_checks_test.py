"""Point 2: windows and labels."""

import pytest
from altered_goldens import altered

from bert_span.certificate.configurations import EDGE, REAL
from bert_span.certificate.window_checks import check_windows

_NUM_WINDOWS = {"a": 5147, "b": 12032, "c": 12924, "d": 27075, "e": 3542}
_NUM_WINDOWS["f"] = _NUM_WINDOWS["e"]


@pytest.mark.large
@pytest.mark.parametrize("configuration", REAL, ids=lambda c: c.name)
def test_every_window_is_the_originals(original, configuration):
  (check,) = check_windows(original, [configuration])
  assert check.holds, check.failures
  assert check.cases == check.equal == _NUM_WINDOWS[configuration.name]


@pytest.mark.parametrize(
  ("key", "value"),
  [
    ("sha1_input_ids", "0"),
    ("sha1_segment_ids", "0"),
    ("sha1_orig_map", "0"),
    ("sha1_max_context", "0"),
    ("start_position", 5),
    ("end_position", 5),
    ("n_real_tokens", 5),
  ],
)
def test_one_other_value_is_noticed(edge_cases, key, value):
  def change(features):
    return [{**features[0], key: value}, *features[1:]]

  goldens = altered(edge_cases, "features_i.jsonl.gz", change)
  (check,) = check_windows(goldens, [c for c in EDGE if c.name == "i"])
  assert not check.holds
  assert check.failures == ("('edge001', 0)",)


def test_a_window_too_few_is_noticed(edge_cases):
  goldens = altered(edge_cases, "features_i.jsonl.gz", lambda f: f[:1] + f[2:])
  (check,) = check_windows(goldens, [c for c in EDGE if c.name == "i"])
  assert check.holds  # a question that the original dropped
  goldens = altered(edge_cases, "features_h.jsonl.gz", lambda f: [f[1], f[0]])
  (check,) = check_windows(goldens, [c for c in EDGE if c.name == "h"])
  assert not check.holds
