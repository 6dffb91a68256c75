"""Which precision "auto" is, by what a machine says of itself."""

import pytest
import tensorflow as tf
from tiny_extractor import CONTEXT, QUESTION, tiny_extractor

from bert_span.extractors import precision
from bert_span.extractors.precision import resolve_dtype
from bert_span.extractors.span_extractor import SpanExtractor

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


def test_products_are_measured():
  for dtype in _FAST:
    assert 0 < precision._seconds_of_product(dtype) < 10


def test_a_model_is_loaded_in_a_precision(machine, tmp_path):
  model = tiny_extractor()
  model.save_to_preset(tmp_path / "model")
  machine(_FAST)
  for dtype, loaded in {"auto": "bfloat16", "float16": "float16"}.items():
    cast = SpanExtractor.from_preset(tmp_path / "model", dtype=dtype)
    assert {v.dtype for v in cast.backbone.trainable_variables} == {loaded}
    answer = cast.answer(question=QUESTION, context=CONTEXT)
    wanted = model.answer(question=QUESTION, context=CONTEXT)
    assert answer.score == pytest.approx(wanted.score, abs=0.5)
    assert answer.score != wanted.score
  with pytest.raises(ValueError, match=r"auto or one of .* Received: 'int8'"):
    SpanExtractor.from_preset(tmp_path / "model", dtype="int8")
