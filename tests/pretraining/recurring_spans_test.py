"""Questions made of spans that a text repeats."""

import numpy as np
import pytest
from tiny_pretraining import tiny_model

from bert_span.pretraining.batches import PretrainingInput
from bert_span.pretraining.loss import (
  model_inputs,
  prediction_sums,
  pretraining_loss_fn,
  with_batch_weights,
)
from bert_span.pretraining.options import MaskingOptions
from bert_span.pretraining.recurring_spans import (
  RecurringSpanMasker,
  recurring_spans,
)

_TEXT = "the mill of anna reed fell ; anna reed wept at the mill"
_VOCABULARY = [
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]"),
  *dict.fromkeys(_TEXT.split()),
]


def ids_of(text):
  return np.array([_VOCABULARY.index(w) for w in text.split()], np.int32)


def making(objective):
  options = MaskingOptions(objective=objective, max_predictions=4)
  return PretrainingInput(_VOCABULARY, True, 16, options)


def test_the_longest_spans_that_recur_are_found_and_share_no_word():
  words = _TEXT.split()
  functions = [word in ("the", "of", "at", ";") for word in words]
  assert recurring_spans(words, functions) == [
    [(0, 2), (11, 13)],  # the mill
    [(3, 5), (7, 9)],  # anna reed
  ]
  # Function words alone make no span.
  assert recurring_spans(["of", "the", "of", "the"], [True] * 4) == []
  # A span does not overlap its own copy.
  assert recurring_spans(list("aaaa"), [False] * 4) == [[(0, 2), (2, 4)]]


def test_every_question_is_answered_by_the_span_that_it_replaced():
  masker = RecurringSpanMasker(_VOCABULARY, MaskingOptions(seed=1))
  inputs = set()
  for epoch in range(20):
    masked = masker(ids_of(_TEXT), epoch, 0)
    words = [_VOCABULARY[i] for i in masked.input_ids]
    ((position, first, last),) = masked.questions  # 13 tokens: one question
    answer = words[first : last + 1]
    assert answer in (["the", "mill"], ["anna", "reed"])
    assert words[position] == "[unused1]"
    whole = [*words[1:position], *answer, *words[position + 1 : -1]]
    assert " ".join(whole) == _TEXT
    inputs.add(tuple(words))
  assert len(inputs) == 4  # of two spans, each place in turn
  again = masker(ids_of(_TEXT), 19, 0)
  np.testing.assert_array_equal(again.input_ids, masked.input_ids)
  masked = masker(ids_of("anna reed fell"), 0, 0)  # Nothing recurs.
  assert masked.questions == () and len(masked.input_ids) == 5


def test_a_vocabulary_without_a_token_for_questions_is_refused():
  with pytest.raises(ValueError, match=r"\[unused1\].*--objective"):
    RecurringSpanMasker(["[CLS]", "[SEP]", "a"], MaskingOptions())


def test_both_objectives_take_turns_by_text_and_epoch():
  mask = making("both").mask
  kinds = [
    [bool(mask(ids_of(_TEXT), epoch, number).questions) for number in (0, 1)]
    for epoch in (0, 1)
  ]
  assert kinds == [[False, True], [True, False]]


def test_the_loss_is_that_of_start_and_end_over_all_questions():
  batch = making("rss").arrays(
    [making("rss").mask(ids_of(_TEXT), epoch, 0) for epoch in (0, 3)]
  )
  assert "masked_positions" not in batch
  model = tiny_model(dropout=0.0, objective="rss")
  losses, parts = pretraining_loss_fn(1.0)(model, with_batch_weights(batch))
  logits = model(model_inputs(batch))["rss_logits"].numpy()
  labels = np.stack([batch["answer_starts"], batch["answer_ends"]], -1)[:, 0]
  scores = np.take_along_axis(logits[:, 0], labels[:, np.newaxis], axis=1)
  expected = np.log(np.exp(logits[:, 0]).sum(axis=1)) - scores[:, 0]
  np.testing.assert_allclose(losses, expected.sum(axis=1), rtol=1e-5)
  assert set(parts) == {"rss_loss"}
  # Padding is no answer.
  assert (logits[0, 0, batch["input_mask"][0] == 0] < -1e8).all()
  sums = prediction_sums({"rss_logits": logits}, batch)
  assert float(sums["rss_targets"]) == 2
  is_right = np.all(logits[:, 0].argmax(1) == labels, axis=1)
  assert float(sums["rss_correct"]) == is_right.sum()
