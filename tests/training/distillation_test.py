"""Teachers: their soft labels, the loss, what is refused, and resuming."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_span import BioLoss, FineTuningOptions, SpanLoss
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.keras_internals import sublayers
from bert_span.squad.example import AnswerSpan, SquadExample
from bert_span.text.options import WindowOptions
from bert_span.training import distillation
from bert_span.training.fine_tuner import (
  fine_tune,
  label_training_windows,
  window_loss_fn,
)
from tests.support.models import (
  CONTEXT,
  eagerly,
  shared_extractor,
  tiny_extractor,
)
from tests.support.training import assert_same, copy_stopped

_OPTIONS = FineTuningOptions(
  train_batch_size=2, length_bucket=8, learning_rate=1e-2, num_train_epochs=30
)
_LOSSES = {SpanExtractor: SpanLoss(), BioExtractor: BioLoss()}


def _examples():
  return [
    SquadExample(
      "1", "Who built the mill?", CONTEXT, (AnswerSpan("Anna", 22),)
    ),
    SquadExample(
      "2", "When?", f"{CONTEXT} {CONTEXT}", (AnswerSpan("1895", 30),)
    ),
    SquadExample("3", "Who?", "Anna.", is_impossible=True),
    SquadExample("4", "When was the mill built?", CONTEXT),
  ]


@pytest.fixture(scope="module", params=_LOSSES, ids=lambda kind: kind.head_name)
def taught(request, tmp_path_factory):
  """A head, two teachers of it, windows, and these with soft labels."""
  kind = request.param
  teachers = [tiny_extractor(kind=kind, seed=seed) for seed in (1, 2)]
  windows = label_training_windows(
    teachers[0], _examples(), _OPTIONS, True
  ).windows
  path = str(tmp_path_factory.mktemp("soft") / "labels")
  taught = distillation.with_soft_labels(windows, teachers, 2.0, path)
  return kind, teachers, windows, taught


@pytest.mark.large
def test_soft_labels_are_the_mean_of_the_teachers(taught):
  kind, teachers, windows, taught = taught
  assert taught.digest() != windows.digest()
  for row in range(len(windows)):
    length = int(windows.lengths[row])
    batch = taught.batch(np.array([row]), length)
    first = int(windows.first_context_positions[row])
    inputs, _ = kind.preprocessor_class.inputs_and_labels(batch)
    for name, shape in kind.logits.items():
      logits = [keras.ops.softmax(t(inputs)[name] / 2) for t in teachers]
      expected = np.mean(logits, axis=0)[0]
      found = batch[f"soft_{name}"][0]
      if shape:
        expected[:first] = expected[-1] = 0
      np.testing.assert_allclose(
        found if shape else found[:, 0], expected, atol=1e-5
      )


def test_the_loss_is_that_of_labels_and_teachers(taught):
  kind, (student, _), _, windows = taught
  batch = {
    name: tf.constant(values)
    for name, values in windows.batch(np.arange(len(windows)), 32).items()
  }
  for dropout in sublayers(student, keras.layers.Dropout):
    dropout.rate = 0.0
  loss = _LOSSES[kind]
  hard = window_loss_fn(student.preprocessor, loss)(student, batch).numpy()
  total = distillation.distillation_loss_fn(student, loss, 2.0, 0.25)(
    student, batch
  ).numpy()
  inputs, _ = student.preprocessor.inputs_and_labels(batch)
  soft = 0
  for name, shape in kind.logits.items():
    log_p = keras.ops.log_softmax(student(inputs)[name] / 2).numpy()
    shares = batch[f"soft_{name}"].numpy()
    shares = shares if shape else shares[..., 0]
    soft = soft - np.sum(shares * log_p, axis=tuple(range(1, log_p.ndim)))
  if kind is SpanExtractor:
    soft = soft / 2  # the mean of both ends
  np.testing.assert_allclose(total, 0.75 * hard + 0.25 * 4 * soft, rtol=1e-5)
  # Nobody has labelled the last question, in one window.
  assert hard[-1] == 0 < total[-1]


@pytest.mark.large
def test_a_student_learns_what_its_teacher_says_also_if_it_was_stopped(
  tmp_path,
):
  """Of questions without labels."""
  texts = "Who?", "When?", "Who built the mill?"
  questions = [SquadExample(text, text, CONTEXT) for text in texts]
  options = dataclasses.replace(
    _OPTIONS,
    distillation_weight=1.0,
    num_train_epochs=60,
    save_checkpoints_steps=45,
  )
  teachers = {"it": tiny_extractor(seed=3)}

  def fit(student, folder):
    return fine_tune(student, questions, options, tmp_path / folder, teachers)

  def answers_of(extractor):
    with eagerly():
      return [p.answer.text for p in extractor.predictions(questions)]

  expected = answers_of(teachers["it"])
  student = tiny_extractor(seed=7)
  assert answers_of(student) != expected
  assert fit(student, "whole") == 90
  assert answers_of(student) == expected
  copy_stopped(tmp_path / "whole", tmp_path / "stopped", 45)
  resumed = tiny_extractor(seed=8)
  assert fit(resumed, "stopped") == 45
  assert_same(resumed.get_weights(), student.get_weights())


def test_a_teacher_of_other_tokens_or_windows_is_refused():
  for change, message in (
    ({"kind": BioExtractor}, "`head`: bio, not span"),
    ({"do_lower_case": False}, "case"),
    ({"window_options": WindowOptions(24, 8, 8)}, "window options"),
  ):
    teachers = {"output/model": tiny_extractor(**change)}
    with pytest.raises(ValueError, match=f"output/model .*{message}"):
      distillation.check_teachers(shared_extractor(), teachers)


def test_a_damaged_file_of_soft_labels_is_named(taught, tmp_path):
  _, teachers, windows, _ = taught
  path = tmp_path / "soft"
  path.write_bytes(b"damaged")
  with pytest.raises(ValueError, match=f"{path}"):
    distillation.with_soft_labels(windows, teachers, 1.0, str(path))
