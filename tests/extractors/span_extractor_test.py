"""What a span head is, learns by, and answers from several passages."""

import pytest

from bert_span import FineTuningOptions, SpanExtractor
from tests.support.models import CONTEXT, QUESTION, eagerly, shared_extractor

_PASSAGES = [
  "Anna was in the river.",
  CONTEXT,
  "",
  "The cafe was near the river in 1895.",
]


def test_the_head_and_the_loss_follow_their_options():
  assert SpanExtractor.make_head().use_bias
  head = SpanExtractor.make_head(use_bias=False, has_transform=True)
  assert (head.use_bias, head.has_transform) == (False, True)
  assert SpanExtractor.make_loss().ends == "mean"
  options = FineTuningOptions(loss_reduction="sum")
  assert SpanExtractor.make_loss(options).ends == "sum"


def test_passages_are_ordered_by_their_margin_over_no_answer():
  extractor = shared_extractor()
  with eagerly():
    found = extractor.answer_over(QUESTION, _PASSAGES)
    (only,) = extractor.answer_over(QUESTION, CONTEXT)
    single = extractor.answer(QUESTION, _PASSAGES[0])
  # A passage without words has no answer.
  assert sorted(item.passage for item in found) == [0, 1, 3]
  assert only._replace(passage=1) in found
  for item in found:
    assert item.margin == -item.answer.null_odds
  assert single in [item.answer for item in found]
  margins = [item.margin for item in found]
  assert margins == sorted(margins, reverse=True)


def test_only_the_passages_that_the_index_finds_are_read():
  extractor, index = shared_extractor(), _Index()
  with eagerly():
    found = extractor.answer_over("Who?", _PASSAGES, top_k=2, index=index)
    again = extractor.answer_over("Who?", _PASSAGES, top_k=4, index=index)
  assert sorted(item.passage for item in found) == [1, 3]
  # Asked for all, it is not searched.
  assert sorted(item.passage for item in again) == [0, 1, 3]
  assert index.searched == [("Who?", 2)]


class _Index:
  """Finds the second and the last passage."""

  def __init__(self):
    self.searched = []

  def search(self, question, top_k):
    self.searched.append((question, top_k))
    return [3, 1]


@pytest.mark.parametrize("contexts", [None, b"text", iter(_PASSAGES)])
def test_passages_that_are_no_list_are_refused(contexts):
  kind = type(contexts).__name__
  with pytest.raises(ValueError, match=f"contexts .*{kind}"):
    shared_extractor().answer_over(QUESTION, contexts)
