import pytest

from bert_span.training.options import (
  ExecutionOptions,
  StrategyOptions,
  check_strategy,
)
from bert_span.training.strategy import check_workers


@pytest.mark.parametrize(
  ("options", "execution", "num_workers"),
  [
    ({}, {}, 0),
    ({}, {}, 2),
    ({"distribution": "mirrored", "num_devices": 2}, {}, 0),
    ({"distribution": "mirrored"}, {}, 1),
    ({"distribution": "multi_worker_mirrored"}, {}, 2),
    ({"use_tpu": True, "num_tpu_cores": 8}, {"precision": "bfloat16"}, 0),
    ({"distribution": "tpu", "use_tpu": True}, {}, 0),
    ({"distribution": "one_device", "num_devices": 1}, {}, 0),
  ],
)
def test_what_fits_together_passes(options, execution, num_workers):
  options = StrategyOptions(**options)
  check_strategy(options, ExecutionOptions(**execution))
  check_workers(options, num_workers)


@pytest.mark.parametrize(
  ("options", "execution", "remedy"),
  [
    (
      {"distribution": "one_device", "num_devices": 2},
      {},
      "--distribution=mirrored",
    ),
    ({"distribution": "one_device"}, {"all_reduce": "ring"}, "--all_reduce"),
    ({"distribution": "mirrored", "use_tpu": True}, {}, "--use_tpu"),
    ({"use_tpu": True, "num_devices": 4}, {}, "--num_tpu_cores"),
    ({"use_tpu": True}, {"precision": "float16"}, "--precision=bfloat16"),
    ({"distribution": "tpu"}, {"jit_compile": "on"}, "--jit_compile"),
    ({"distribution": "tpu"}, {"all_reduce": "nccl"}, "--all_reduce"),
  ],
)
def test_options_that_contradict_each_other_are_refused_with_the_remedy(
  options, execution, remedy
):
  with pytest.raises(ValueError, match=remedy):
    check_strategy(StrategyOptions(**options), ExecutionOptions(**execution))


@pytest.mark.parametrize(
  ("options", "num_workers"),
  [
    ({"distribution": "multi_worker_mirrored"}, 0),
    ({"distribution": "mirrored"}, 2),
    ({"distribution": "one_device"}, 2),
    ({"use_tpu": True}, 2),
  ],
)
def test_options_that_do_not_fit_the_workers_are_refused(options, num_workers):
  with pytest.raises(ValueError, match="TF_CONFIG"):
    check_workers(StrategyOptions(**options), num_workers)
