"""Every weight of every architecture has one name in others' files."""

import dataclasses

import pytest

from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.presets.architectures.architecture_files import (
  all_files,
  files_of,
)
from tests.support.models import ALBERT, MOBILEBERT, tiny_config, tiny_encoder

_MOBILEBERT = {"architecture": "mobilebert", **MOBILEBERT}
_CASES = [
  *({"architecture": name} for name in ARCHITECTURES),
  {"architecture": "electra", "embedding_dim": 4},
  {"architecture": "albert", **ALBERT},
  _MOBILEBERT,
  _MOBILEBERT | {"key_query_shared_bottleneck": False, "trigram_input": False},
  _MOBILEBERT | {"use_bottleneck_attention": True, "embedding_dim": None},
]


@pytest.mark.parametrize("changes", _CASES)
def test_each_weight_has_one_name(changes):
  settings = {"num_layers": 2, **changes}
  config, backbone = tiny_config(**settings), tiny_encoder(**settings)
  files = files_of(config.architecture)
  maps = [files.weight_names, files.original_weight_names]
  for names in (each(config) for each in maps if each):
    assert names.keys() == {weight.path for weight in backbone.weights}
    assert len({*names.values()}) == len(names)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_each_field_has_one_key_of_config_json(name):
  files, architecture = files_of(name), ARCHITECTURES[name]
  fields = {field.name for field in dataclasses.fields(architecture.config)}
  # What KerasHub's class is made of; two epsilons have no key of their own.
  assert files.keys.keys() <= fields
  assert architecture.arguments.keys() - files.keys.keys() <= {
    "outer_norm_epsilon"
  }
  assert len({*files.keys.values()}) == len(files.keys)
  others = files.values.keys() | files.written.keys()
  assert not others & {*files.keys.values()}
  assert files.defaults.keys() <= {*files.keys.values(), "outer_norm_epsilon"}


def test_classes_of_transformers_belong_to_one_architecture():
  names = [files.class_name for files in all_files().values()]
  assert len({*names}) == len(names)
