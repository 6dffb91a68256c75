"""Files that would fail without an error are refused."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from exported_tflite import exported_tflite
from tiny_extractor import CONTEXT, QUESTION, tiny_extractor

from bert_span.presets.span_config import CONFIG_FILE
from bert_span.squad.example import SquadExample
from bert_span.tflite import file as tflite_file
from bert_span.tflite import tflite_verification
from bert_span.tflite.arena_memory import peak_arena_bytes
from bert_span.tflite.runner import TFLiteRunner

_EXAMPLES = [
  SquadExample("mill", QUESTION, CONTEXT),
  SquadExample("blank", "Who?", " "),
]


def _packed(content, good):
  """A model with the files of a good one behind it."""
  config = tflite_file.read_span_config(good)
  config["tflite"].update(tflite_file.fingerprint(content))
  files = {
    **tflite_file.read_files(good),
    CONFIG_FILE: json.dumps(config).encode("utf-8"),
  }
  assert set(files) == {CONFIG_FILE, "vocab.txt"}
  return tflite_file.with_files(content, files)


@pytest.mark.large
def test_the_file_of_a_model_as_an_attribute_is_refused(tmp_path):
  """Written without an error, it reads variables that nobody has filled."""
  good, extractor = exported_tflite()
  module = tf.Module()
  module.model = extractor.model  # the wrong path
  specs = [
    tf.TensorSpec([1, 32], tf.int32, name=name)
    for name in ("ids", "mask", "segment_ids")
  ]

  @tf.function(input_signature=specs)
  def logits(ids, mask, segment_ids):
    return module.model(
      {"token_ids": ids, "padding_mask": mask, "segment_ids": segment_ids}
    )

  tf.saved_model.save(
    module, str(tmp_path / "saved"), logits.get_concrete_function()
  )
  converter = tf.lite.TFLiteConverter.from_saved_model(str(tmp_path / "saved"))
  path = tmp_path / "wrong.tflite"
  path.write_bytes(_packed(converter.convert(), good))
  with pytest.raises(ValueError, match=r"resource variables|NaN"):
    tflite_verification.verify(str(path), extractor, _EXAMPLES, "none")


@pytest.mark.large
def test_another_models_file_is_refused():
  path, _ = exported_tflite()
  other = tiny_extractor(version_2=True, seed=8)
  with pytest.raises(ValueError, match=r"of 2 answers .* It is not written"):
    tflite_verification.verify(path, other, _EXAMPLES, "none")


@pytest.mark.large
def test_weights_that_are_no_numbers_are_refused(tmp_path):
  good, extractor = exported_tflite()
  with open(good, "rb") as file:
    model = tflite_file.parse(file.read())
  largest = max(
    (buffer for buffer in model.buffers if buffer.data is not None),
    key=lambda buffer: len(buffer.data),
  )
  largest.data = np.full(len(largest.data) // 4, np.nan, np.float32).view(
    np.uint8
  )
  path = tmp_path / "nan.tflite"
  path.write_bytes(_packed(tflite_file.pack(model), good))
  with pytest.raises(ValueError, match="NaN or an infinity"):
    tflite_verification.verify(str(path), extractor, _EXAMPLES, "none")


@pytest.mark.large
@pytest.mark.parametrize("dynamic_length", [False, True])
def test_windows_of_any_length_and_padding_alone_give_numbers(dynamic_length):
  path, _ = exported_tflite(dynamic_length=dynamic_length)
  runner = TFLiteRunner(path, max_length=32)
  rng = np.random.default_rng(0)
  for _ in range(30):
    length = int(rng.integers(1, 33))
    ids = rng.integers(0, 20, length).astype(np.int32)
    mask = (np.arange(length) < rng.integers(0, length + 1)).astype(np.int32)
    outputs = runner(ids, mask, rng.integers(0, 2, length).astype(np.int32))
    assert set(outputs) == {"start_logits", "end_logits"}
    for values in outputs.values():
      assert values.shape == (length,)
      assert np.isfinite(values).all()
  with pytest.raises(ValueError, match="at most 32 WordPieces"):
    runner(*np.zeros([3, 33], np.int32))


@pytest.mark.large
def test_a_verification_tells_what_is_in_the_file():
  path, extractor = exported_tflite()
  found = tflite_verification.verify(path, extractor, _EXAMPLES, "none")
  assert (found.num_questions, found.num_equal) == (2, 2)
  assert found.largest_difference < 1e-4
  assert found.ops["FULLY_CONNECTED"] >= 6
  assert "CUSTOM" not in " ".join(found.ops)
  # At least the intermediate layer, float32 [32, 32], and what it is made of.
  assert found.peak_arena_bytes >= 4 * 32 * (32 + 16)
  assert found.peak_arena_bytes < 1e6
  assert dataclasses.asdict(found)["size_bytes"] > 10_000


def test_the_peak_is_where_most_tensors_live_together(tmp_path):
  """op 0: a -> b, op 1: b -> c, op 2: c, b -> d, each of 8 float32."""

  @tf.function(input_signature=[tf.TensorSpec([1, 8], tf.int32)])
  def chain(a):
    b = tf.cast(a, tf.float32)
    return tf.sin(b) * b

  converter = tf.lite.TFLiteConverter.from_concrete_functions(
    [chain.get_concrete_function()]
  )
  path = tmp_path / "chain.tflite"
  path.write_bytes(converter.convert())
  assert peak_arena_bytes(str(path), 8) == 3 * 8 * 4


def test_ops_beyond_the_builtin_ones_are_refused():
  tflite_file.check_ops({"ADD": 3, "CUSTOM:Mine": 1}, custom_ops=["Mine"])
  with pytest.raises(ValueError, match="CUSTOM:FlexErf"):
    tflite_file.check_ops({"ADD": 3, "CUSTOM:FlexErf": 1})
  with pytest.raises(ValueError, match="reads resource variables"):
    tflite_file.check_ops({"VAR_HANDLE": 1})
