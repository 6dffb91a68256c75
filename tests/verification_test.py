"""A fresh process answers as the extractor, or nothing is published."""

import dataclasses
import functools
import json
import math
import random

import keras
import numpy as np
import pytest
from exported_model import exported_model, server_of
from tiny_extractor import CONTEXT, QUESTION

from bert_span.answers.decoder import DecoderOptions
from bert_span.data.squad_example import SquadExample
from bert_span.data.squad_reader import read_squad
from bert_span.extractor import SpanExtractor
from bert_span.modeling.encoder import build_encoder
from bert_span.modeling.encoder_config import EncoderConfig
from bert_span.modeling.span_model import build_span_model
from bert_span.serving import verification
from bert_span.serving.saved_model import write_saved_model
from bert_span.text.vocabulary import load_vocabulary

_EXAMPLES = [
  SquadExample("mill", QUESTION, CONTEXT),
  SquadExample("many windows", "When?", "É 🙂 " + CONTEXT * 15),
  SquadExample("blank", "Who?", " "),
  SquadExample("surrogate", "Who?", "\ud83d the mill was built by Anna"),
]


@functools.cache
def _predictions():
  _, extractor = exported_model()
  return list(extractor.predict(_EXAMPLES))


@pytest.mark.large
def test_a_process_with_tensorflow_alone_gives_the_same_answers():
  directory, _ = exported_model()
  found = verification.verify(
    directory, [_EXAMPLES[:1], _EXAMPLES[1:]], _predictions(), 1e-4
  )
  assert found.num_questions == 4
  assert found.largest_difference < 1e-4
  assert found.text_ops == verification.TEXT_OPS
  assert {"TopKV2", "MatMul"} & set(found.ops)


@pytest.mark.large
def test_every_kind_of_difference_is_refused():
  directory, _ = exported_model()
  first, *rest = _predictions()
  wrong = [
    dataclasses.replace(first, text=first.text + "s"),
    dataclasses.replace(first, char_end=first.char_end + 1),
    dataclasses.replace(first, score=math.nan),
    dataclasses.replace(first, null_odds=first.null_odds - 0.01),
    dataclasses.replace(first, n_best=first.n_best[:-1]),
  ]
  with pytest.raises(ValueError, match="5 of 9 answers") as caught:
    verification.verify(
      directory,
      [[_EXAMPLES[0]] * 6, _EXAMPLES[1:]],
      [*wrong, first, *rest],
      1e-4,
    )
  assert "question mill" in str(caught.value)


@pytest.mark.large
def test_a_folder_without_a_model_is_an_error(tmp_path):
  with pytest.raises(RuntimeError, match="cannot be asked in a fresh process"):
    verification.verify(
      str(tmp_path), [_EXAMPLES[:1]], _predictions()[:1], 1e-4
    )


def test_ops_that_a_server_has_not_are_refused():
  allowed = list(verification.TEXT_OPS)
  verification.check_ops(["MatMul", *allowed], allowed)
  with pytest.raises(ValueError, match="FastBertNormalize, "):
    verification.check_ops(["FastBertNormalize"], ["FastBertNormalize"])
  with pytest.raises(ValueError, match="PyFunc"):
    verification.check_ops(["MatMul", "PyFunc"], [])


@pytest.mark.large
def test_two_hundred_real_questions_are_answered_alike(
  shared_data, uncased_vocab_file, tmp_path
):
  """SQuAD, whole articles of COVID-QA and other scripts, in mixed batches."""
  extractor = _random_extractor(uncased_vocab_file)
  directory = str(tmp_path / "1")
  write_saved_model(
    server_of(extractor), extractor.preprocessor.tokenizer.vocabulary, directory
  )
  examples = real_examples(shared_data)
  assert len(examples) == 200
  assert sum(len(example.context) > 20_000 for example in examples) >= 5
  predictions = list(extractor.predict(examples, batch_size=16))
  assert len({prediction.text for prediction in predictions}) > 150
  found = verification.verify(
    directory, mixed_batches(examples), predictions, 1e-4
  )
  assert found.num_questions == 200


def real_examples(folder):
  """200 questions in random order, ten of them on long articles."""
  rng = random.Random(0)
  chosen = []
  for name, count in (
    *(("squad1_dev_half", 80), ("squad2_part", 60), ("xquad_en", 20)),
    *(("xquad_ar", 15), ("xquad_zh", 15), ("covidqa_part", 10)),
  ):
    chosen += rng.sample(
      read_squad(str(folder / f"{name}.json")).examples, count
    )
  rng.shuffle(chosen)
  return chosen


def mixed_batches(examples):
  """Batches as they come: alone, a few, many."""
  batches, first = [], 0
  while first < len(examples):
    size = (1, 8, 3, 32)[len(batches) % 4]
    batches.append(examples[first : first + size])
    first += size
  return batches


def _random_extractor(vocab_file):
  """Two random layers with the vocabulary of the uncased models.

  Its logits differ clearly, so that answers stand in all places.
  """
  vocabulary = load_vocabulary(vocab_file)
  keras.utils.set_random_seed(3)
  sizes = EncoderConfig(
    vocabulary_size=len(vocabulary),
    num_layers=2,
    num_heads=2,
    hidden_dim=64,
    intermediate_dim=128,
    max_sequence_length=384,
    num_segments=2,
  )
  model = build_span_model(build_encoder(sizes))
  rng = np.random.default_rng(3)
  for weight in model.backbone.weights:
    if "embedding" in weight.path and len(weight.shape) == 2:
      weight.assign(rng.normal(size=weight.shape))
  model.head.kernel.assign(rng.normal(size=model.head.kernel.shape))
  return SpanExtractor(
    model,
    vocabulary,
    decoder_options=DecoderOptions(version_2_with_negative=True),
  )


def test_answers_are_compared_as_json_can_hold_them():
  """A lone surrogate is U+FFFD in the served text, at the same offsets."""
  texts = verification._inputs([_EXAMPLES[3]])
  assert json.loads(json.dumps(texts))["context"][0].startswith("\ufffd the")
