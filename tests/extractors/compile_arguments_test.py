"""Which losses and metrics fit logits and their labels."""

import functools

import keras
import pytest

from bert_span import BioLoss, SpanLoss
from bert_span.data.bio_preprocessor import BioPreprocessor
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.extractors.compile_arguments import (
  check_losses,
  check_metrics,
  metrics_of_outputs,
)

_losses, _metrics = keras.losses, keras.metrics
# As a person would write it in a notebook: a function without a module.
_OWN_LOSS = eval("lambda y, logits: logits", {})


@pytest.mark.parametrize(
  ("labels", "loss"),
  [
    (SpanPreprocessor, "sparse_categorical_crossentropy"),
    (SpanPreprocessor, "crossentropy"),
    (SpanPreprocessor, _losses.SparseCategoricalCrossentropy()),
    (SpanPreprocessor, _losses.sparse_categorical_crossentropy),
    (SpanPreprocessor, {"start_logits": _losses.KLDivergence()}),
    (SpanPreprocessor, [SpanLoss(), "sparse_categorical_crossentropy"]),
    # It would broadcast positions to all logits.
    (SpanPreprocessor, _losses.CategoricalCrossentropy(from_logits=True)),
    (SpanPreprocessor, "mse"),
    (BioPreprocessor, "categorical_crossentropy"),
    (BioPreprocessor, _losses.SparseCategoricalCrossentropy(from_logits=True)),
    (BioPreprocessor, functools.partial(_losses.categorical_crossentropy)),
  ],
)
def test_a_loss_that_does_not_fit_is_refused_with_one_that_does(labels, loss):
  fitting = rf"{labels.keras_loss}\(from_logits=True\)"
  with pytest.raises(ValueError, match=fitting):
    check_losses(loss, labels)


@pytest.mark.parametrize(
  ("labels", "loss"),
  [
    (SpanPreprocessor, SpanLoss("sum")),
    (SpanPreprocessor, None),
    (SpanPreprocessor, _OWN_LOSS),
    (SpanPreprocessor, _losses.SparseCategoricalCrossentropy(from_logits=True)),
    (
      SpanPreprocessor,
      functools.partial(
        _losses.sparse_categorical_crossentropy, from_logits=True
      ),
    ),
    # The config of a loss, as Keras loads it.
    (SpanPreprocessor, _losses.serialize(SpanLoss())),
    (BioPreprocessor, BioLoss("mean")),
    (BioPreprocessor, _losses.CategoricalCrossentropy(from_logits=True)),
  ],
)
def test_a_loss_of_logits_is_accepted(labels, loss):
  check_losses(loss, labels)
  check_losses([loss, {"start_logits": loss}], labels)


def test_without_a_preprocessor_only_losses_of_probabilities_are_refused():
  for loss in ("sparse_categorical_crossentropy", "kl_divergence"):
    with pytest.raises(ValueError, match=loss):
      check_losses(loss)
  check_losses("mse")


@pytest.mark.parametrize(
  "metrics",
  [
    ["accuracy"],
    ["acc", "sparse_categorical_accuracy"],
    [_metrics.SparseCategoricalAccuracy()],
    {"start_logits": [_metrics.SparseTopKCategoricalAccuracy(2)]},
    [_OWN_LOSS],
    None,
  ],
)
def test_a_metric_of_positions_is_accepted_for_a_span_head(metrics):
  check_metrics(metrics, SpanPreprocessor)


@pytest.mark.parametrize(
  ("labels", "metrics", "name"),
  [
    (SpanPreprocessor, ["mse"], "mean_squared_error"),
    (SpanPreprocessor, [_metrics.AUC()], "AUC"),
    (SpanPreprocessor, {"end_logits": ["mae"]}, "mean_absolute_error"),
    # It would take logits for probabilities.
    (
      SpanPreprocessor,
      ["sparse_categorical_crossentropy"],
      "sparse_categorical_crossentropy",
    ),
    # Padding would count as B.
    (BioPreprocessor, ["accuracy"], "accuracy"),
  ],
)
def test_a_metric_that_does_not_fit_is_refused(labels, metrics, name):
  with pytest.raises(ValueError, match=rf"metrics: {name} .*keras\.md"):
    check_metrics(metrics, labels)


def test_one_metric_is_measured_for_each_output():
  outputs = "start_logits", "end_logits"
  named = metrics_of_outputs(["accuracy"], outputs)
  assert named == {name: ["accuracy"] for name in outputs}
  metric = _metrics.SparseTopKCategoricalAccuracy(3, name="top3")
  ((start,), (end,)) = metrics_of_outputs([metric], outputs).values()
  # An object has one sum.
  assert start is not end
  assert start.get_config() == end.get_config() == metric.get_config()
  for several in (None, ["a", "b"], {"start_logits": ["a"]}):
    assert metrics_of_outputs(several, outputs) is several


def test_a_metric_that_cannot_be_copied_is_refused_by_its_name():
  class Own(_metrics.Metric):
    def __init__(self, threshold):
      super().__init__(name="own")

  with pytest.raises(ValueError, match=r"own .*start_logits, end_logits"):
    metrics_of_outputs([Own(1)], ("start_logits", "end_logits"))
