"""Which sizes of an encoder fit each other."""

import pytest

from tests.support.models import tiny_config

_BOTTLENECK = {"architecture": "mobilebert", "intra_bottleneck_size": 9}


@pytest.mark.parametrize(
  ("changes", "numbers"),
  [
    ({"hidden_dim": 9}, "9 and 2"),
    ({**_BOTTLENECK, "use_bottleneck": True}, "9 and 2"),
    ({"architecture": "albert", "num_layers": 3, "num_groups": 2}, "3 and 2"),
    ({"architecture": "deberta-v2", "position_buckets": None}, "6.*None"),
    ({"architecture": "deberta-v2", "position_buckets": 10}, "6.*10"),
    ({"architecture": "modernbert", "hidden_dim": 6}, "3"),
    ({"architecture": "modernbert", "sliding_window_size": 7}, "7"),
  ],
)
def test_sizes_that_do_not_fit_are_refused(changes, numbers):
  with pytest.raises(ValueError, match=rf"\b{numbers}\b"):
    tiny_config(**changes)


@pytest.mark.parametrize(
  "changes",
  [
    {**_BOTTLENECK, "use_bottleneck": False},
    {"architecture": "deberta-v2", "position_buckets": 9},
    {"architecture": "modernbert", "sliding_window_size": 2},
  ],
)
def test_sizes_that_just_fit_are_taken(changes):
  config = tiny_config(**changes)
  assert {name: getattr(config, name) for name in changes} == changes


def test_a_deeper_encoder_has_a_layer_more_in_each_group():
  assert tiny_config(num_layers=3).deeper().num_layers == 4
  assert tiny_config(num_layers=1000).deeper().num_layers == 1000
  sizes = {"num_layers": 6, "num_groups": 2, "num_inner_repetitions": 4}
  deeper = tiny_config(architecture="albert", **sizes).deeper()
  groups = deeper.num_layers, deeper.num_groups, deeper.num_inner_repetitions
  assert groups == (3, 3, 5)
