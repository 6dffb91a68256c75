"""Strings in, byte spans out: compared with the answers of the model."""

import random

import numpy as np
import pytest
import tensorflow as tf
from exported_tflite import with_decoder
from tiny_extractor import CONTEXT, QUESTION, VOCABULARY, tiny_extractor

from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.decoding.n_best import Candidates, NullEntry
from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.squad.example import SquadExample
from bert_span.text.options import WindowOptions
from bert_span.text.tokenizer import Tokens, one_row
from bert_span.text.windows import SlidingWindows
from bert_span.tflite.text_graph import (
  RankedWindows,
  TextGraph,
  distinct_entries,
  null_entry,
)

_PASSAGES = [
  CONTEXT,
  # Many windows, and no two of the same words, whose logits would be equal.
  "É 🙂 " + " ".join(random.Random(0).choices(VOCABULARY[5:], k=90)),
  "Cafe\u0301 日 was built by ANNA.",
  "",
  " \n\t ",
]


@pytest.mark.large
@pytest.mark.parametrize(
  ("version_2", "span_score"),
  [(False, "logit_sum"), (True, "mean_probability")],
)
def test_answers_are_those_of_the_model(version_2, span_score):
  """Other options are compared by files, in tflite_extractor_test.py."""
  extractor = with_decoder(
    tiny_extractor(version_2), span_score=span_score, n_best_size=5
  )
  graph = TextGraph(
    InferenceModel(extractor.model),
    extractor.preprocessor,
    extractor.decoder_options,
    dynamic_length=True,
  )
  spec = tf.TensorSpec([1], tf.string)
  traced = tf.function(graph.__call__, input_signature=[spec, spec])

  def answer(*texts):
    columns = traced(*(tf.constant([text]) for text in texts))
    return {name: values.numpy()[0] for name, values in columns.items()}

  examples = [
    SquadExample(str(i), QUESTION, passage)
    for i, passage in enumerate(_PASSAGES)
  ]
  for example, wanted in zip(
    examples, extractor.predict(examples), strict=True
  ):
    given = answer(example.question, example.context)
    encoded = example.context.encode("utf-8")
    text = encoded[given["byte_start"] : given["byte_end"]].decode("utf-8")
    assert text == wanted.text
    before = encoded[: given["byte_start"]].decode("utf-8")
    assert len(before) == wanted.char_start
    assert given["is_answerable"] == bool(wanted.text)
    for name in ("score", "probability", "null_odds"):
      assert given[name] == pytest.approx(getattr(wanted, name), abs=1e-4)
    assert given["n_best_count"] == len(wanted.n_best)
    for i, entry in enumerate(wanted.n_best):
      place = slice(given["n_best_byte_start"][i], given["n_best_byte_end"][i])
      assert encoded[place].decode("utf-8") == entry.text
      for name in ("score", "probability", "start_logit", "end_logit"):
        assert given[f"n_best_{name}"][i] == pytest.approx(
          getattr(entry, name), abs=1e-4
        )
  for question in ("", " ", "\u200b"):  # without a WordPiece
    given = answer(question, CONTEXT)
    assert (given["byte_start"], given["byte_end"]) == (0, 0)
    assert not given["is_answerable"]
    assert given["null_odds"] == NO_SPAN_NULL_ODDS
    assert given["probability"] == 1.0


def test_ranks_are_in_the_order_of_the_scores():
  windows = RankedWindows(WindowOptions(8, 4, 2), 1, 2)
  least = tf.constant([[0], [1], [-5]])
  ranks = windows.context_score(least, tf.constant([[1, 2]])).numpy()
  assert ranks[0, 0] < ranks[0, 1] < ranks[1, 0] < ranks[1, 1]
  assert ranks.dtype == np.int32


@pytest.mark.parametrize("options", [(16, 4, 4), (384, 128, 64), (330, 15, 8)])
def test_windows_without_float64_are_the_same(options):
  """Some last windows are shorter by whole hundreds, where scores tie."""
  options = WindowOptions(*options)
  ranked = RankedWindows(options, 1, 2, pad_to_max=True)
  plain = SlidingWindows(options, 1, 2, pad_to_max=True)
  rng = np.random.default_rng(0)
  for num_tokens in (0, 1, *rng.integers(2, 2000, 12)):
    tokens = Tokens(*(one_row(tf.range(int(num_tokens))) for _ in range(3)))
    question = one_row(tf.range(int(rng.integers(0, 9))))
    expected, given = plain(question, tokens), ranked(question, tokens)
    for name, values in expected.items():
      np.testing.assert_array_equal(values, given[name], err_msg=name)


def _candidates(spans):
  """Of rows (byte_start, byte_end, score)."""
  starts, ends, scores = zip(*spans, strict=True) if spans else ((), (), ())
  scores = tf.constant(scores, tf.float32)
  zeros = tf.zeros_like(scores, tf.int32)
  return Candidates(
    zeros,
    zeros,
    tf.constant(starts, tf.int32),
    tf.constant(ends, tf.int32),
    *(scores, 0 * scores, scores, 0 * scores),
  )


_EQUAL = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 5.0)]


@pytest.mark.parametrize(
  ("spans", "text", "n_best_size", "entries"),
  [
    # ab (3), cd (2), the other ab, "ab ab" (0.5), a (0)
    (
      [(0, 2, 1.0), (3, 5, 3.0), (6, 8, 2.0), (0, 5, 0.5), (0, 1, 0.0)],
      "ab ab cd",
      4,
      [(3, 5, 3.0), (6, 8, 2.0), (0, 5, 0.5), (0, 1, 0.0)],
    ),
    # Of equal scores the first one comes first.
    (_EQUAL, "abc", 2, [(2, 3, 5.0), (0, 1, 1.0)]),
    (_EQUAL, "abc", 5, [(2, 3, 5.0), (0, 1, 1.0), (1, 2, 1.0)]),
    ([], "", 3, []),
  ],
)
def test_the_best_texts_are_listed_once(spans, text, n_best_size, entries):
  text = tf.constant(list(text.encode("utf-8")), tf.int32)
  found = distinct_entries(_candidates(spans), text, n_best_size)
  assert found.count.numpy() == [len(entries)]
  padding = [(0, 0, 0.0)] * (n_best_size - len(entries))
  columns = (found.char_start, found.char_end, found.score)
  rows = zip(*(column[0].numpy().tolist() for column in columns), strict=True)
  assert list(rows) == entries + padding


def test_the_null_entry_is_of_the_lowest_window():
  start = tf.constant([[3.0, 9.0], [1.0, 9.0], [1.0, 9.0], [-9.0, 0.0]])
  end = tf.constant([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
  of_windows = NullEntry(*(x[:, 0] for x in (start, end, start, end)))
  null = null_entry(3, of_windows)
  assert null.score.numpy() == [2.0]
  assert null.start_logit.numpy() == [1.0]
  null = null_entry(0, of_windows)
  assert null.score.numpy() == [0.0]
