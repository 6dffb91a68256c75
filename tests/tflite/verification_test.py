"""Files that would fail without an error are refused."""

import numpy as np
import pytest
import tensorflow as tf
from device_texts import real_texts
from exported_tflite import TEXT_FILE, exported_tflite, with_nan_weights
from tiny_extractor import CONTEXT, QUESTION

from bert_span.squad.example import SquadExample
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import load_vocabulary
from bert_span.tflite import file as tflite_file
from bert_span.tflite.byte_tokenizer import CUSTOM_OPS
from bert_span.tflite.verification import (
  compare_tokenizers,
  peak_arena_bytes,
  verify,
)

pytestmark = pytest.mark.large

_EXAMPLES = [
  SquadExample("mill", QUESTION, CONTEXT),
  SquadExample("blank", "Who?", " "),
]
_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "σ", "##ς", "##σ"]


@pytest.mark.parametrize("file", [{}, {"dynamic_length": True}, TEXT_FILE])
def test_a_verification_describes_the_file(tmp_path, file):
  path, extractor = exported_tflite(**file)
  damaged = tmp_path / "nan.tflite"
  damaged.write_bytes(with_nan_weights(path))
  with pytest.raises(ValueError, match="NaN"):
    verify(str(damaged), extractor, _EXAMPLES, "none")
  found = verify(path, extractor, _EXAMPLES, "none")
  assert (found["num_questions"], found["num_equal"]) == (2, 2)
  assert found["largest_difference"] < 1e-4
  assert found["ops"]["FULLY_CONNECTED"] >= 6
  custom = {name for name in found["ops"] if name.startswith("CUSTOM:")}
  assert len(custom) == (len(CUSTOM_OPS) if file is TEXT_FILE else 0)
  assert found["size_bytes"] > 10_000
  # At least the intermediate layer, float32 [32, 32], and its input.
  assert 4 * 32 * (32 + 16) <= found["peak_arena_bytes"] < 1e6


def test_the_peak_is_where_most_tensors_live_together(tmp_path):
  """op 0: a -> b, op 1: b -> c, op 2: c, b -> d, each of 8 float32."""

  @tf.function(input_signature=[tf.TensorSpec([1, 8], tf.int32, "a")])
  def chain(a):
    b = tf.cast(a, tf.float32)
    return tf.sin(b) * b

  saved, path = str(tmp_path / "saved"), tmp_path / "chain.tflite"
  tf.saved_model.save(tf.Module(), saved, chain.get_concrete_function())
  path.write_bytes(tf.lite.TFLiteConverter.from_saved_model(saved).convert())
  inputs = {"a": np.zeros([1, 8], np.int32)}
  assert peak_arena_bytes(str(path), inputs) == 3 * 8 * 4


def test_ops_beyond_the_builtin_ones_are_refused():
  tflite_file.check_ops({"ADD": 3, "CUSTOM:Mine": 1}, custom_ops=["Mine"])
  with pytest.raises(ValueError, match="CUSTOM:FlexErf"):
    tflite_file.check_ops({"ADD": 3, "CUSTOM:FlexErf": 1})
  with pytest.raises(ValueError, match="VAR_HANDLE"):
    tflite_file.check_ops({"VAR_HANDLE": 1})


def test_differences_are_counted_by_cause():
  tokenizer = WordPieceTokenizer(_VOCABULARY)
  texts = ["a b", "a b", "ΣΣ", "b ΣΣ", "É\u0301 🙂\0", "", "\ud800"]
  found = compare_tokenizers(tokenizer, texts)
  assert found == {
    "num_texts": 6,
    # a b | σ ##ς | b σ ##ς | [UNK] [UNK]
    "num_tokens": 2 + 2 + 3 + 2,
    "capital_sigma": 2,
    "other": 0,
    "shown": ["ΣΣ", "b ΣΣ"],
  }


def test_real_texts_have_the_same_tokens_at_the_same_places(
  shared_data, uncased_vocab_file
):
  """As docs/tflite.md says; for cased text a part of it."""
  texts = real_texts(shared_data)
  vocabulary = load_vocabulary(uncased_vocab_file)
  for do_lower_case, every in ((True, 1), (False, 8)):
    tokenizer = WordPieceTokenizer(vocabulary, do_lower_case)
    found = compare_tokenizers(tokenizer, texts[::every])
    assert found["num_texts"] > 20_000 / every
    assert found["num_tokens"] > 1_000_000 / every
    assert not found["shown"]
