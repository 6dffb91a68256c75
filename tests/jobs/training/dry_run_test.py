"""What a dry run says of memory; the programs' own tests run it whole."""

import dataclasses

from tiny_extractor import tiny_extractor

from bert_span.fine_tuning.options import FineTuningOptions
from bert_span.jobs.training.dry_run import memory_lines, model_sizes
from bert_span.training.devices.memory_estimate import (
  StepOptions,
  estimate_memory,
)
from bert_span.training.devices.plan import DevicePlan
from bert_span.training.options import ExecutionOptions

_SIZES = dataclasses.replace(
  model_sizes(tiny_extractor().model), num_parameters=1_000_000
)


def lines(memory_bytes=None, num_replicas=1, **execution):
  options = FineTuningOptions(
    train_batch_size=64, execution=ExecutionOptions(**execution)
  )
  plan = DevicePlan("2 CPUs", num_replicas, memory_bytes, program_bytes=0)
  return list(memory_lines(_SIZES, options, 512, plan))


def bytes_of(batch_size, **options):
  step = StepOptions(batch_size, 512, **options)
  return estimate_memory(_SIZES, step).total


def test_sizes_are_those_of_the_model():
  model = tiny_extractor().model
  sizes = dataclasses.asdict(model_sizes(model))
  assert sizes == {
    "num_layers": 1,
    "hidden_dim": 16,
    "num_heads": 2,
    "intermediate_dim": 32,
    "vocabulary_size": model.backbone.vocabulary_size,
    "num_parameters": sum(weight.numpy().size for weight in model.weights),
    "vocabulary_targets": 0,
  }


def test_a_batch_that_fits_needs_nothing():
  text = lines(memory_bytes=bytes_of(64))
  assert text[0].startswith(
    f"Memory, estimated: {bytes_of(64) / 1e9:.2f} GB on each device for 64 "
    "windows of 512 WordPieces in float32: weights 0.00 GB, optimizer 0.01 GB"
  )
  assert "64 windows on each device." in text[1]
  assert text[2].startswith("It fits: neither")


def test_a_batch_that_does_not_fit_gets_the_flags_that_help():
  memory = bytes_of(32, accumulate_steps=2)
  text = lines(memory_bytes=memory)
  assert text[-1].startswith("It does not fit. It would with --accumulate_step")


def test_replicas_share_a_batch_and_the_flags_given_are_counted():
  text = lines(
    memory_bytes=10**12,
    num_replicas=4,
    accumulate_steps=2,
    recompute=True,
    precision="bfloat16",
  )
  assert (
    "16 windows of 512 WordPieces in bfloat16, --accumulate_steps=2 "
    "--recompute:" in text[0]
  )
  assert text[-1] == "It fits."


def test_a_model_that_is_too_large_is_told():
  (*_, last) = lines(memory_bytes=10**6)
  assert last.startswith("It does not fit, not even one window at a time")


def test_without_a_memory_the_flag_is_named():
  assert "--memory_gb" in lines()[-1]
