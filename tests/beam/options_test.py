"""How many shards there may be, and what a pipeline needs."""

import importlib.util

import pytest

from bert_span.beam.options import BeamOptions, ShardsOptions


def test_shards_have_numbers_of_five_digits():
  assert [ShardsOptions(num_shards=n).num_shards for n in (1, 99_999)] == [
    1,
    99_999,
  ]
  for number in (0, 100_000, 1.5):
    with pytest.raises(ValueError, match=f"num_shards.*{number}"):
      ShardsOptions(num_shards=number)


def test_a_pipeline_without_beam_names_its_extra(monkeypatch):
  monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
  assert BeamOptions(beam=("--runner=x",)).beam == ("--runner=x",)
  monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
  with pytest.raises(ValueError, match=r"apache_beam .*\[beam\]"):
    BeamOptions()
