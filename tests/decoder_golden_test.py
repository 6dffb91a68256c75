"""Decoding against the predictions that the original run_squad wrote.

The goldens name no offsets, but a pair of logits names a span. Texts may
differ by the original's alignment, see golden_texts.py, which also merges
spans of the same whole words.
"""

import dataclasses
import functools
import hashlib

import numpy as np
import pytest
import tensorflow as tf
from golden_logits import window_logits
from golden_texts import is_text_of, one_blank, whole_words

from bert_span.answers.decoder import (
  NO_SPAN_NULL_ODDS,
  DecoderOptions,
  SpanDecoder,
)
from bert_span.answers.prediction_files import predictions_of
from bert_span.data.input_pipeline import (
  EXAMPLES_PER_BATCH,
  example_arrays,
  window_dataset,
)
from bert_span.data.squad_reader import read_squad
from bert_span.text.preprocessor import SpanPreprocessor
from bert_span.text.vocabulary import load_vocabulary
from bert_span.text.windows import WindowOptions

pytestmark = pytest.mark.large

_KINDS = ("random", "ties", "peaky")
_DECODER_INPUTS = (
  "example_index",
  "input_mask",
  "token_char_starts",
  "token_char_ends",
  "is_max_context",
)


@dataclasses.dataclass(frozen=True)
class _Configuration:
  name: str
  file: str
  windows: WindowOptions
  version_2: bool


_A = _Configuration(
  "a", "squad1_dev_half.json", WindowOptions(384, 128, 64), False
)
_C = _Configuration(
  "c", "squad1_dev_half.json", WindowOptions(128, 48, 24), False
)
_F = _Configuration("f", "squad2_part.json", WindowOptions(384, 128, 64), True)
_H = _Configuration("h", "edge.json", WindowOptions(64, 16, 12), False)
_J = _Configuration("j", "edge-v2.json", WindowOptions(384, 128, 64), True)
_EDGE = [(c, kind) for c in (_H, _J) for kind in _KINDS]
_REAL = [(_A, "peaky"), (_A, "ties"), (_C, "peaky"), (_F, "random")]


@pytest.fixture(scope="module")
def batches_of(goldens, shared_data):
  """A function: configuration to its batches of (examples, windows)."""
  vocabulary = load_vocabulary(str(goldens / "tiny_ckpt" / "vocab.txt"))

  @functools.cache
  def batches(configuration):
    folder = goldens if "edge" in configuration.file else shared_data
    examples = read_squad(str(folder / configuration.file)).examples
    preprocessor = SpanPreprocessor(
      vocabulary, options=configuration.windows, pad_to_max=True
    )
    dataset = window_dataset(examples, preprocessor)
    return list(zip(_parts(examples), dataset, strict=True))

  return batches


@pytest.fixture(scope="module")
def predict(batches_of):
  """A function: configuration, kind of logits and options to predictions."""

  @functools.cache
  def cached(configuration, kind, **options):
    return _predict(batches_of, configuration, kind, **options)

  return cached


def _parts(examples):
  starts = range(0, len(examples), EXAMPLES_PER_BATCH)
  return [examples[start : start + EXAMPLES_PER_BATCH] for start in starts]


def _logits(kind, examples, windows, seq_length):
  """Start and end logits of a batch, float32 [windows, seq_length]."""
  rows = zip(
    windows["example_index"].numpy(),
    windows["doc_span_index"].numpy(),
    windows["first_context_position"].numpy(),
    windows["input_mask"].numpy().sum(axis=1),
    strict=True,
  )
  pairs = [
    window_logits(kind, examples[i].qas_id, int(d), seq_length, int(f), int(n))
    for i, d, f, n in rows
  ]
  return np.array(pairs, np.float32).reshape(-1, 2, seq_length).swapaxes(0, 1)


def _predict(batches, configuration, kind, **options):
  """Predictions by question id, and contexts by question id."""
  decoder = SpanDecoder(
    DecoderOptions(version_2_with_negative=configuration.version_2, **options)
  )
  decode = tf.function(decoder.__call__, reduce_retracing=True)
  predictions, contexts = {}, {}
  for examples, windows in batches(configuration):
    start, end = _logits(
      kind, examples, windows, configuration.windows.max_seq_length
    )
    outputs = decode(
      tf.constant(example_arrays(examples)["context"], tf.string),
      {name: windows[name] for name in _DECODER_INPUTS},
      tf.constant(start),
      tf.constant(end),
    )
    for example, row in zip(
      examples, predictions_of(examples, outputs), strict=True
    ):
      predictions[example.qas_id] = row
      contexts[example.qas_id] = example.context
  return predictions, contexts


def _golden(goldens, read_json, configuration, kind, suffix):
  return read_json(
    goldens / f"pred_{configuration.name}_{kind}_{suffix}.json.gz"
  )


def _golden_n_best(goldens, read_json, configuration, kind):
  pattern = f"pred_{configuration.name}_{kind}_nbest_first*.json.gz"
  (path,) = goldens.glob(pattern)
  return read_json(path)


def _logit_pairs(entries):
  return [(entry.start_logit, entry.end_logit) for entry in entries]


def _golden_pairs(entries):
  return [(entry["start_logit"], entry["end_logit"]) for entry in entries]


def _differing_texts(golden, predictions, contexts):
  """Ids whose text is not ours because of the original's alignment.

  Any other difference but white space (and the literal "empty") is a failure.
  """
  differing = []
  for qas_id, text in golden.items():
    ours = predictions[qas_id]
    if text == "empty" and not ours.text:
      assert ours.n_best[0].probability == 1.0
    elif one_blank(text) != one_blank(ours.text):
      assert is_text_of(text, contexts[qas_id], ours), qas_id
      differing.append(qas_id)
  return differing


def _assert_same_order(golden, entries, context, n_best_size):
  """Walks both lists; they may part only where the original merged spans.

  Its list then lacks spans of ours, whose whole words it already has, and
  goes on with spans that found no place in ours.
  """
  golden = [entry for entry in golden if entry["text"]]
  entries = [entry for entry in entries if entry.text]
  theirs, ours = _golden_pairs(golden), _logit_pairs(entries)
  seen, at = set(), 0
  for entry, pair in zip(entries, ours, strict=True):
    if (
      at < len(golden)
      and theirs[at] == pair
      and is_text_of(golden[at]["text"], context, entry)
    ):
      seen.add(one_blank(golden[at]["text"]))
      at += 1
    else:
      assert whole_words(context, entry) in seen, entry
  if at < len(golden):
    assert len(ours) >= n_best_size - 1  # full, perhaps with the null entry


@pytest.mark.parametrize(
  ("configuration", "kind"),
  _EDGE + _REAL,
  ids=lambda value: getattr(value, "name", value),
)
def test_spans_and_n_best_order_are_the_original_s(
  goldens, read_json, predict, configuration, kind
):
  predictions, contexts = predict(configuration, kind)
  n_best = _golden_n_best(goldens, read_json, configuration, kind)
  for qas_id, entries in n_best.items():
    ours = predictions[qas_id].n_best
    assert _golden_pairs(entries)[0] == _logit_pairs(ours)[0]
    if entries[0]["text"] == "empty":
      assert len(ours) == 1 and ours[0].probability == 1.0
      continue
    _assert_same_order(entries, ours, contexts[qas_id], 20)
    if _golden_pairs(entries) == _logit_pairs(ours):
      np.testing.assert_allclose(
        [entry["probability"] for entry in entries],
        [entry.probability for entry in ours],
        rtol=1e-9,
      )
  golden = _golden(goldens, read_json, configuration, kind, "predictions")
  differing = _differing_texts(golden, predictions, contexts)
  if (configuration, kind) in _REAL:
    allowed = 0.005 if kind == "peaky" else 0.02
    assert len(differing) <= allowed * len(golden)


@pytest.mark.parametrize(
  ("configuration", "kind"),
  [*((_J, kind) for kind in _KINDS), (_F, "random"), (_F, "peaky")],
  ids=lambda value: getattr(value, "name", value),
)
def test_null_odds_are_the_original_s_and_its_crashes_get_no_answer(
  goldens, read_json, predict, configuration, kind
):
  predictions, _ = predict(configuration, kind)
  golden = _golden(goldens, read_json, configuration, kind, "null_odds")
  for qas_id, odds in golden.items():
    assert predictions[qas_id].null_odds == odds
  for qas_id in set(predictions) - set(golden):
    assert predictions[qas_id].text == ""
    assert predictions[qas_id].null_odds == NO_SPAN_NULL_ODDS


@pytest.mark.parametrize(
  ("suffix", "options"),
  [
    ("predictions", {}),
    ("predictions_thr-3.0", {"null_score_diff_threshold": -3.0}),
    ("predictions_thr2.5", {"null_score_diff_threshold": 2.5}),
    ("predictions_nbest5_maxlen8", {"n_best_size": 5, "max_answer_length": 8}),
  ],
)
@pytest.mark.parametrize("configuration", [_J, _F], ids=lambda c: c.name)
def test_version_2_answers_are_the_original_s(
  goldens, read_json, predict, configuration, suffix, options
):
  predictions, contexts = predict(configuration, "peaky", **options)
  golden = _golden(goldens, read_json, configuration, "peaky", suffix)
  differing = _differing_texts(golden, predictions, contexts)
  if configuration is _F:
    assert len(differing) <= 0.005 * len(golden)


@pytest.mark.parametrize("configuration", [_H, _A], ids=lambda c: c.name)
def test_short_answers_are_the_original_s(
  goldens, read_json, predict, configuration
):
  predictions, contexts = predict(
    configuration, "peaky", n_best_size=5, max_answer_length=8
  )
  golden = _golden(
    goldens, read_json, configuration, "peaky", "predictions_nbest5_maxlen8"
  )
  differing = _differing_texts(golden, predictions, contexts)
  if configuration is _A:
    assert len(differing) <= 0.005 * len(golden)


def test_all_n_best_texts_of_real_questions_are_the_original_s(
  goldens, read_json, predict
):
  predictions, _ = predict(_A, "peaky")
  golden = _golden(goldens, read_json, _A, "peaky", "nbest_texts_sha1")
  differing = 0
  for qas_id, (count, sha1) in golden.items():
    texts = [one_blank(entry.text) for entry in predictions[qas_id].n_best]
    joined = "\x1f".join(texts).encode("utf-8", "surrogatepass")
    differing += (len(texts), hashlib.sha1(joined).hexdigest()) != (count, sha1)
  assert differing <= 0.005 * len(golden)
