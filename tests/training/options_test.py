"""Options of a training that contradict each other, or follow from others."""

import pytest

from bert_span.training.options import (
  MIRRORED,
  MULTI_WORKER,
  ONE_DEVICE,
  TPU,
  ExecutionOptions,
  RunOptions,
  SelectionOptions,
  StrategyOptions,
  TrainOptions,
  check_strategy,
)


@pytest.mark.parametrize(
  ("options", "execution", "named"),
  [
    (StrategyOptions(ONE_DEVICE, 2), {}, "num_devices=2.*mirrored"),
    (StrategyOptions(ONE_DEVICE), {"all_reduce": "ring"}, "all_reduce=ring"),
    (StrategyOptions(MIRRORED, use_tpu=True), {}, "use_tpu.*mirrored"),
    (StrategyOptions(TPU, 4), {}, "num_devices.*num_tpu_cores"),
    (StrategyOptions(TPU), {"precision": "float16"}, "precision=bfloat16"),
    (StrategyOptions(TPU), {"jit_compile": "on"}, "jit_compile"),
    (StrategyOptions(use_tpu=True), {"all_reduce": "nccl"}, "all_reduce=nccl"),
  ],
)
def test_devices_that_contradict_each_other_are_refused(
  options, execution, named
):
  with pytest.raises(ValueError, match=named):
    check_strategy(options, ExecutionOptions(**execution))


def test_devices_that_fit_are_taken():
  check_strategy(StrategyOptions(ONE_DEVICE, 1), ExecutionOptions())
  check_strategy(
    StrategyOptions(MULTI_WORKER), ExecutionOptions(all_reduce="ring")
  )
  check_strategy(
    StrategyOptions(TPU, use_tpu=True, num_tpu_cores=8),
    ExecutionOptions("bfloat16"),
  )


def test_a_batch_has_no_more_micro_batches_than_windows():
  TrainOptions(train_batch_size=4, execution=ExecutionOptions("float32", 4))
  with pytest.raises(
    ValueError, match=r"accumulate_steps=5.*train_batch_size=4"
  ):
    TrainOptions(train_batch_size=4, execution=ExecutionOptions("float32", 5))


def _run(**options):
  return RunOptions(output_dir="out", do_train=True, **options)


def test_a_run_knows_what_follows_from_its_options():
  run = _run(precision="bfloat16", eval_steps=5, best_metric="mlm_loss")
  assert run.execution == ExecutionOptions("bfloat16")
  assert run.selection() == SelectionOptions(5, "mlm_loss", True)
  assert _run(best_metric="f1").smaller_is_better is False
  assert _run().selection() is None
  assert run.path("a.json") == "out/a.json"


def test_a_run_starts_from_a_model():
  _run(preset="minilm_squad").check_model()
  _run(bert_config_file="c.json", vocab_file="v.txt").check_model()
  with pytest.raises(ValueError, match=r"`preset`.*bert_config_file"):
    _run().check_model()


def test_given_options_without_an_effect_are_logged(capsys):
  run = _run(master="grpc://a", tpu_name="t", preset="p")
  run.log_unused(preset="in this test", vocab_file="here")
  lines = capsys.readouterr().err.splitlines()
  assert sorted(line.split()[0] for line in lines) == [
    *("master", "preset", "tpu_name")
  ]
  _run(use_tpu=True, tpu_name="t").log_unused()
  assert capsys.readouterr().err == ""
