"""What a B/I/O head is, learns by, and answers."""

from bert_span import BioExtractor, FineTuningOptions
from tests.support.models import (
  CONTEXT,
  QUESTION,
  eagerly,
  shared_extractor,
)

_LONG = " ".join([CONTEXT, "Anna was in the river."] * 6)


def test_the_head_has_a_bias_and_the_loss_follows_its_options():
  head = BioExtractor.make_head(use_bias=False, has_transform=True)
  head.build((None, 5, 16))
  assert {weight.name: tuple(weight.shape) for weight in head.weights} == {
    "kernel": (3, 16),
    "bias": (3,),
  }
  weights = (3.0, 2.0, 1.0)
  options = FineTuningOptions(
    bio_loss_reduction="mean", bio_class_weights=weights
  )
  config = BioExtractor.make_loss(options).get_config()
  assert (config["tokens"], tuple(config["class_weights"])) == ("mean", weights)
  assert BioExtractor.make_loss().get_config()["tokens"] == "sum"


def test_the_answer_is_the_span_with_the_best_score():
  extractor = shared_extractor(kind=BioExtractor)
  with eagerly():
    spans = extractor.answers(QUESTION, _LONG)
    assert len(spans) > 1
    for span in spans:
      assert span.text == _LONG[span.char_start : span.char_end]
    ranked = sorted(spans, key=lambda span: -span.score)
    assert extractor.answer(QUESTION, _LONG) == ranked[0]
    assert extractor.answer(QUESTION, _LONG, n_best=2) == ranked[:2]
