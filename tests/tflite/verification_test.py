"""Files that would fail without an error are refused."""

import pytest
import tensorflow as tf

from bert_span.answers.answer import Answer, Prediction
from bert_span.squad.example import SquadExample
from bert_span.tflite.verification import (
  _compare,
  peak_arena_bytes,
  verify_file,
)
from tests.support.models import (
  CONTEXT,
  QUESTION,
  exported_tflite,
  with_nan_weights,
)

pytestmark = pytest.mark.large

_EXAMPLES = [
  SquadExample("mill", QUESTION, CONTEXT),
  SquadExample("blank", "Who?", " "),
]


@pytest.mark.parametrize("file", [{}, {"dynamic_length": True}])
def test_a_verification_describes_the_file(tmp_path, file):
  path, extractor = exported_tflite(**file)
  damaged = tmp_path / "nan.tflite"
  damaged.write_bytes(with_nan_weights(path))
  with pytest.raises(ValueError, match="NaN"):
    verify_file(str(damaged), extractor, _EXAMPLES, "none")
  verified = verify_file(path, extractor, _EXAMPLES, "none")
  assert (verified["num_questions"], verified["num_equal"]) == (2, 2)
  assert verified["largest_difference"] < 1e-4
  assert verified["ops"]["FULLY_CONNECTED"] >= 6
  assert not [name for name in verified["ops"] if name.startswith("CUSTOM:")]
  assert "BITCAST" not in verified["ops"]  # not in the Task Library's runtime
  assert verified["size_bytes"] > 10_000
  # At least the intermediate layer, float32 [32, 32], and its input.
  assert 4 * 32 * (32 + 16) <= verified["peak_arena_bytes"] < 1e6


def test_the_peak_is_where_most_tensors_live_together(tmp_path):
  """op 0: a -> b, op 1: b -> c, op 2: c, b -> d, each of 8 float32."""

  @tf.function(input_signature=[tf.TensorSpec([1, 8], tf.int32, "a")])
  def chain(a):
    b = tf.cast(a, tf.float32)
    return tf.sin(b) * b

  saved, path = str(tmp_path / "saved"), tmp_path / "chain.tflite"
  tf.saved_model.save(tf.Module(), saved, chain.get_concrete_function())
  path.write_bytes(tf.lite.TFLiteConverter.from_saved_model(saved).convert())
  assert peak_arena_bytes(str(path), {"a": 8}) == 3 * 8 * 4


def test_few_questions_may_differ_by_two_standard_errors_more():
  def predictions(num_changed):
    starts = [1] * num_changed + [0] * (10 - num_changed)
    answers = [Answer("mill", start, 9, 1.0, 0.5, 0.0) for start in starts]
    return [Prediction("q", a, n_best=(a,), spans=(a,)) for a in answers]

  # 0.6 * 10 - 2 * sqrt(10 * 0.6 * 0.4) = 2.9 must be equal.
  right = predictions(0)
  assert _compare(right, predictions(7), "dynamic")[0] == 3
  with pytest.raises(ValueError, match="8 of 10"):
    _compare(right, predictions(8), "dynamic")
  with pytest.raises(ValueError, match="1 of 10"):
    _compare(right, predictions(1), "none")
