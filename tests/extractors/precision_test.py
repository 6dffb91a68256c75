"""Which precision "auto" is, by what a machine says of itself."""

import builtins
import io

import pytest
import tensorflow as tf
from tiny_extractor import CONTEXT, QUESTION, tiny_extractor

from bert_span.extractors.precision import resolve_dtype
from bert_span.extractors.span_extractor import SpanExtractor

_BFLOAT16 = "flags\t\t: fpu avx2 avx512_bf16\n"


@pytest.fixture
def machine(monkeypatch):
  """A function that sets /proc/cpuinfo and devices, as dicts of details."""

  def describe(cpuinfo, **devices):
    def opened(path, *args, **options):
      if path == "/proc/cpuinfo":
        if cpuinfo is None:
          raise FileNotFoundError(path)
        return io.StringIO(cpuinfo)
      return real_open(path, *args, **options)

    monkeypatch.setattr(builtins, "open", opened)
    monkeypatch.setattr(
      tf.config, "list_physical_devices", lambda kind: devices.get(kind, [])
    )
    monkeypatch.setattr(
      tf.config.experimental, "get_device_details", lambda device: device
    )

  real_open = open
  return describe


@pytest.mark.parametrize(
  ("cpuinfo", "devices", "wanted"),
  [
    (_BFLOAT16, {}, "bfloat16"),
    ("flags : fpu amx_bf16 amx_tile\n", {}, "bfloat16"),
    ("flags : fpu avx2 avx512f\n", {}, "float32"),
    ("Features : fp asimd bf16\n", {}, "float32"),
    (None, {}, "float32"),
    ("flags : fpu\n", {"TPU": [{}]}, "bfloat16"),
    ("flags : fpu\n", {"GPU": [{"compute_capability": (9, 0)}]}, "bfloat16"),
    # The encoder runs on the GPU, whatever the processor has.
    (_BFLOAT16, {"GPU": [{"compute_capability": (7, 5)}]}, "float32"),
    (_BFLOAT16, {"GPU": [{}]}, "float32"),
  ],
)
def test_auto_is_bfloat16_where_there_are_instructions(
  cpuinfo, devices, wanted, machine
):
  machine(cpuinfo, **devices)
  assert resolve_dtype("auto") == wanted
  assert resolve_dtype("float32") == "float32"


def test_a_model_is_loaded_in_a_precision(machine, tmp_path):
  model = tiny_extractor()
  model.save_to_preset(tmp_path / "model")
  machine(_BFLOAT16)
  for dtype, loaded in {"auto": "bfloat16", "float16": "float16"}.items():
    cast = SpanExtractor.from_preset(tmp_path / "model", dtype=dtype)
    assert {v.dtype for v in cast.backbone.trainable_variables} == {loaded}
    answer = cast.answer(question=QUESTION, context=CONTEXT)
    wanted = model.answer(question=QUESTION, context=CONTEXT)
    assert answer.score == pytest.approx(wanted.score, abs=0.5)
    assert answer.score != wanted.score
  with pytest.raises(ValueError, match=r"auto or one of .* Received: 'int8'"):
    SpanExtractor.from_preset(tmp_path / "model", dtype="int8")
