"""Which precision "auto" is, by devices and by measured products."""

import types

import pytest
import tensorflow as tf

from bert_span.extractors import precision
from bert_span.extractors.precision import resolve_dtype
from bert_span.extractors.span_extractor import SpanExtractor
from tests.support.models import CONTEXT, QUESTION, eagerly, tiny_extractor

_FAST = {"float32": 0.002, "bfloat16": 0.001}
_SLOW = {"float32": 0.001, "bfloat16": 0.002}


@pytest.fixture
def machine(monkeypatch):
  """A function that sets seconds of a product, and devices by their kind."""

  def describe(seconds, **devices):
    monkeypatch.setattr(precision, "_seconds_of_product", seconds.get)
    monkeypatch.setattr(
      tf.config, "list_physical_devices", lambda kind: devices.get(kind, [])
    )
    monkeypatch.setattr(
      tf.config.experimental, "get_device_details", lambda device: device
    )

  return describe


@pytest.mark.parametrize(
  ("seconds", "devices", "wanted"),
  [
    (_FAST, {}, "bfloat16"),
    (_SLOW, {}, "float32"),
    ({"float32": 0.001, "bfloat16": 0.0009}, {}, "float32"),
    (_SLOW, {"TPU": [{}]}, "bfloat16"),
    (_SLOW, {"GPU": [{"compute_capability": (9, 0)}]}, "bfloat16"),
    # The encoder runs on the GPU, whatever the processor is good at.
    (_FAST, {"GPU": [{"compute_capability": (7, 5)}]}, "float32"),
    (_FAST, {"GPU": [{}]}, "float32"),
  ],
)
def test_auto_is_bfloat16_where_it_is_faster(seconds, devices, wanted, machine):
  machine(seconds, **devices)
  assert resolve_dtype("auto") == wanted
  assert resolve_dtype("float32") == "float32"


def test_the_fastest_of_several_products_counts(monkeypatch):
  clock = iter([0, 9, 10, 15, 20, 22, 30, 34, 40, 43, 50, 58])
  monkeypatch.setattr(
    precision, "time", types.SimpleNamespace(perf_counter=lambda: next(clock))
  )
  dtypes, matmul = set(), tf.linalg.matmul

  def recorded(a, b):
    dtypes.update([a.dtype, b.dtype])
    return matmul(a, b)

  monkeypatch.setattr(tf.linalg, "matmul", recorded)
  assert precision._seconds_of_product("bfloat16") == 2
  assert dtypes == {tf.bfloat16}


@pytest.mark.large
def test_a_model_is_loaded_in_a_precision(machine, tmp_path):
  model = tiny_extractor()
  model.save_to_preset(tmp_path / "model")
  machine(_FAST)
  for dtype, loaded in {"auto": "bfloat16", "float16": "float16"}.items():
    cast = SpanExtractor.from_preset(tmp_path / "model", dtype=dtype)
    assert {v.dtype for v in cast.backbone.trainable_variables} == {loaded}
    answer = cast.answer(question=QUESTION, context=CONTEXT)
    with eagerly():
      wanted = model.answer(question=QUESTION, context=CONTEXT)
    assert answer.score == pytest.approx(wanted.score, abs=0.5)
    assert answer.score != wanted.score
  with pytest.raises(ValueError, match=r"auto.*'int8'"):
    SpanExtractor.from_preset(tmp_path / "model", dtype="int8")
