"""SpanExtractor with a B/I/O head: saving, answers and training."""

import json
import os

import numpy as np
import pytest
from tiny_extractor import CONTEXT, QUESTION, tiny_extractor

from bert_span import FineTuningOptions, SpanExtractor, SquadExample
from bert_span.answers.decoding.options import BioDecoderOptions, DecoderOptions
from bert_span.heads.bio import BIO_HEAD
from bert_span.presets.model_directory import save_span_model
from bert_span.squad.example import Answer

_LONG = " ".join([CONTEXT, "Anna was in the river."] * 6)
_UNICODE = (
  "🙂 Le Café, 日, was built by Ãnna in 1895\u00a0near\u200b the river."
)


@pytest.fixture(scope="module")
def extractor():
  return tiny_extractor(head=BIO_HEAD)


def _examples():
  contexts = [CONTEXT, _LONG, _UNICODE, "", "Anna"]
  return [SquadExample(f"q{i}", QUESTION, c) for i, c in enumerate(contexts)]


def test_saved_model_gives_the_same_answers(tmp_path, extractor):
  path = tmp_path / "model"
  extractor.save_to_preset(path)
  loaded = SpanExtractor.from_preset(path)
  assert loaded.head == BIO_HEAD
  assert loaded.window_options == extractor.window_options
  assert loaded.decoder_options == extractor.decoder_options
  expected = list(extractor.predict(_examples()))
  assert list(loaded.predict(_examples())) == expected
  assert any(len(prediction.spans) > 1 for prediction in expected)


def test_saved_directory_says_its_head(tmp_path, extractor):
  tiny_extractor().save_to_preset(tmp_path / "model")
  extractor.save_to_preset(tmp_path / "model")  # over a span head
  names = os.listdir(tmp_path / "model")
  assert "tag_head.safetensors" in names
  assert "span_head.safetensors" not in names
  config = json.loads((tmp_path / "model" / "span_config.json").read_text())
  assert config["head"] == "bio"
  assert config["decoder"] == {
    "decoding": "viterbi",
    "threshold": 0.0,
    "version_2_with_negative": False,
    "null_score_diff_threshold": 0.0,
  }


def test_a_head_of_the_other_kind_is_removed(tmp_path, extractor):
  """Where files are replaced one by one, as on remote file systems."""
  save_span_model(extractor.model, tmp_path)
  assert (tmp_path / "tag_head.safetensors").exists()
  save_span_model(tiny_extractor().model, tmp_path)
  assert (tmp_path / "span_head.safetensors").exists()
  assert not (tmp_path / "tag_head.safetensors").exists()


def test_answers_are_exact_characters_in_order(extractor):
  for example in _examples():
    answers = extractor.answers(example.question, example.context)
    assert bool(answers) == bool(example.context)
    reached = 0
    for answer in answers:
      assert answer.text == example.context[answer.char_start : answer.char_end]
      assert reached <= answer.char_start < answer.char_end
      reached = answer.char_end
    assert len({answer.text for answer in answers}) == len(answers)


def test_several_questions_give_a_list_each(extractor):
  examples = _examples()
  questions = [e.question for e in examples]
  contexts = [e.context for e in examples]
  expected = [extractor.answers(QUESTION, context) for context in contexts]
  for got, one in zip(
    extractor.answers(questions, contexts), expected, strict=True
  ):
    assert [answer[:3] for answer in got] == [answer[:3] for answer in one]


def test_the_answer_is_the_best_scored_span(extractor):
  spans = extractor.answers(QUESTION, _LONG)
  best = max(spans, key=lambda span: span.score)
  assert extractor.answer(QUESTION, _LONG) == best
  ranked = sorted(spans, key=lambda span: -span.score)
  assert extractor.answer(QUESTION, _LONG, n_best=2) == ranked[:2]


def test_a_span_head_gives_one_span_at_most():
  extractor = tiny_extractor()
  assert extractor.answers(QUESTION, CONTEXT) == [
    extractor.answer(QUESTION, CONTEXT)
  ]
  assert extractor.answers([QUESTION], [""]) == [[]]


def test_options_of_the_other_head_are_refused(extractor):
  with pytest.raises(ValueError, match="BioDecoderOptions"):
    SpanExtractor(
      extractor.model,
      extractor.preprocessor.tokenizer.vocabulary,
      window_options=extractor.window_options,
      decoder_options=DecoderOptions(),
    )


def test_every_token_is_scored_whatever_shares_its_batch(extractor):
  (one,) = extractor.window_logits(_examples(), batch_size=1)
  (many,) = extractor.window_logits(_examples(), batch_size=100)
  np.testing.assert_allclose(
    one.logits["tag_logits"], many.logits["tag_logits"], atol=1e-4
  )


@pytest.mark.large
def test_two_spans_are_learned(tmp_path):
  """Two questions learned by heart, one of them with two spans."""
  # From some starts so small a model never looks at the question.
  extractor = tiny_extractor(head=BIO_HEAD, seed=6)
  spans = (Answer("Anna", 22), Answer("the river", 41))
  assert all(CONTEXT.startswith(s.text, s.char_start) for s in spans)
  examples = [
    SquadExample("1", "who", CONTEXT, annotations=(spans,)),
    SquadExample("2", "when", CONTEXT, (Answer("1895", 30),)),
  ]
  steps = extractor.fit(
    examples * 4,
    FineTuningOptions(
      train_batch_size=4,
      learning_rate=5e-3,
      num_train_epochs=160,
      bio_loss_reduction="mean",
    ),
    tmp_path,
  )
  assert steps == 320
  answers = extractor.answers("who", CONTEXT)
  assert [answer[:3] for answer in answers] == [
    ("Anna", 22, 26),
    ("the river", 41, 50),
  ]
  assert [a.text for a in extractor.answers("when", CONTEXT)] == ["1895"]
  options = json.loads((tmp_path / "training_options.json").read_text())
  assert options["head"] == "bio"
  assert options["bio_loss_reduction"] == "mean"


def test_threshold_and_decoding_are_options_of_the_model(tmp_path, extractor):
  extractor.save_to_preset(tmp_path / "model")
  options = BioDecoderOptions("greedy", 1.0, True)
  loaded = SpanExtractor.from_preset(
    tmp_path / "model", decoder_options=options
  )
  assert loaded.answers(QUESTION, CONTEXT) == []  # no span is that sure
