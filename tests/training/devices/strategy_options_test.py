import pytest

from bert_span.training.devices.cluster import Cluster
from bert_span.training.devices.strategy_options import (
  StrategyOptions,
  check_strategy,
)
from bert_span.training.options import ExecutionOptions

_TWO_WORKERS = Cluster(("a:1", "b:1"), 0)


@pytest.mark.parametrize(
  ("options", "execution", "cluster"),
  [
    ({}, {}, None),
    ({}, {}, _TWO_WORKERS),
    ({"distribution": "mirrored", "num_devices": 2}, {}, None),
    ({"distribution": "mirrored"}, {}, Cluster(("a:1",), 0)),
    ({"distribution": "multi_worker_mirrored"}, {}, _TWO_WORKERS),
    ({"use_tpu": True, "num_tpu_cores": 8}, {"precision": "bfloat16"}, None),
    ({"distribution": "tpu", "use_tpu": True}, {}, None),
    ({"distribution": "one_device", "num_devices": 1}, {}, None),
  ],
)
def test_what_fits_together_passes(options, execution, cluster):
  check_strategy(
    StrategyOptions(**options), ExecutionOptions(**execution), cluster
  )


@pytest.mark.parametrize(
  ("options", "execution", "cluster", "remedy"),
  [
    ({"distribution": "multi_worker_mirrored"}, {}, None, "TF_CONFIG"),
    ({"distribution": "mirrored"}, {}, _TWO_WORKERS, "unset TF_CONFIG"),
    ({"distribution": "one_device"}, {}, _TWO_WORKERS, "unset TF_CONFIG"),
    ({"use_tpu": True}, {}, _TWO_WORKERS, "unset it"),
    (
      {"distribution": "one_device", "num_devices": 2},
      {},
      None,
      "--distribution=mirrored",
    ),
    ({"distribution": "one_device"}, {"all_reduce": "ring"}, None, "leave it"),
    ({"distribution": "mirrored", "use_tpu": True}, {}, None, "contradicts"),
    ({"use_tpu": True, "num_devices": 4}, {}, None, "--num_tpu_cores"),
    ({"use_tpu": True}, {"precision": "float16"}, None, "bfloat16"),
    ({"distribution": "tpu"}, {"jit_compile": "on"}, None, "--jit_compile"),
    ({"distribution": "tpu"}, {"all_reduce": "nccl"}, None, "--all_reduce"),
  ],
)
def test_what_cannot_be_is_refused_with_the_remedy(
  options, execution, cluster, remedy
):
  with pytest.raises(ValueError, match=remedy):
    check_strategy(
      StrategyOptions(**options), ExecutionOptions(**execution), cluster
    )


@pytest.mark.parametrize(
  "wrong",
  [
    {"precision": "int8"},
    {"jit_compile": "yes"},
    {"all_reduce": "tree"},
    {"accumulate_steps": 0},
  ],
)
def test_an_unknown_way_to_execute_is_named(wrong):
  (name,) = wrong
  with pytest.raises(ValueError, match=name):
    ExecutionOptions(**wrong)
