"""Checks the losses and metrics of a compiled extractor.

Keras' own would take logits for probabilities, or numbers of positions for
values, and report wrong numbers without an error.
"""

import functools
import inspect

import keras

# Keras' losses of probabilities that have no argument from_logits.
_OF_PROBABILITIES = (
  *("categorical_generalized_cross_entropy", "dice", "kl_divergence"),
  *("poisson", "tversky"),
)


def check_losses(losses, preprocessor_class=None):
  """Raises ValueError for losses that do not fit logits and their labels.

  Args:
    losses: as keras.Model.compile takes them.
    preprocessor_class: a `SpanPreprocessor` class, which knows Keras' loss for
      its labels; None for labels of any format.
  """
  for loss in _leaves(losses):
    name, is_keras_own, from_logits = _describe(loss, keras.losses.get)
    if from_logits is False or (is_keras_own and name in _OF_PROBABILITIES):
      fault = "takes probabilities, and the outputs are logits"
    elif (
      preprocessor_class
      and is_keras_own
      and name != _describe(preprocessor_class.keras_loss, keras.losses.get)[0]
    ):
      fault = "does not fit the labels"
    else:
      continue
    remedy = "Give a loss of logits."
    if preprocessor_class:
      remedy = (
        f"The labels are {preprocessor_class.label_format}. Leave loss out, or "
        f"give keras.losses.{preprocessor_class.keras_loss}(from_logits=True)."
      )
    raise ValueError(f"loss: {name} {fault}. {remedy}")


def check_metrics(metrics, preprocessor_class):
  """Raises ValueError for metrics of Keras that do not fit the labels."""
  for metric in _leaves(metrics):
    name, is_keras_own, from_logits = _describe(metric, keras.metrics.get)
    fits = not is_keras_own or name in preprocessor_class.keras_metrics
    if from_logits is False or not fits:
      known = [*preprocessor_class.keras_metrics, "a function of your own"]
      raise ValueError(
        f"metrics: {name} does not fit: the outputs are logits, and the labels "
        f"{preprocessor_class.label_format}. Give {' or '.join(known)}, see "
        "docs/keras.md."
      )


def metrics_of_outputs(metrics, outputs):
  """Returns a list of one metric as a dict of one for each output."""
  if not isinstance(metrics, list | tuple) or len(metrics) != 1:
    return metrics
  (metric,) = metrics
  copies = [metric] * len(outputs)
  if isinstance(metric, keras.metrics.Metric):  # An object has one sum.
    try:
      copies = [metric.from_config(metric.get_config()) for _ in copies]
    except TypeError:
      raise ValueError(
        f"metrics: {metric.name} cannot be copied for each output. Give its "
        f"function, or a dict of an object for each of {', '.join(outputs)}."
      ) from None
  return {name: [copy] for name, copy in zip(outputs, copies, strict=True)}


def _leaves(values):
  """Returns the losses or metrics in lists and dicts.

  A dict with a class_name is the config of a single one.
  """
  if isinstance(values, dict) and "class_name" not in values:
    values = list(values.values())
  if isinstance(values, list | tuple):
    return [leaf for value in values for leaf in _leaves(value)]
  return [] if values is None else [values]


def _describe(value, get):
  """Returns the name of a loss or metric, whether it is Keras', from_logits.

  `get` is keras.losses.get or keras.metrics.get. from_logits is None if there
  is no such argument.
  """
  # Keras chooses these by the shapes of labels and outputs.
  if str(value).lower() in ("crossentropy", "ce"):
    return value, True, False
  if str(value).lower() in ("accuracy", "acc"):
    return "accuracy", True, None
  value = get(value)
  from_logits = getattr(value, "from_logits", None)
  options = getattr(value, "_fn_kwargs", {})
  # Keras' classes wrap functions.
  value = getattr(value, "fn", getattr(value, "_fn", value))
  while isinstance(value, functools.partial):
    value, options = value.func, {**value.keywords, **options}
  if inspect.isfunction(value):
    argument = inspect.signature(value).parameters.get("from_logits")
    from_logits = from_logits if argument is None else argument.default
  else:
    value = type(value)
  from_logits = options.get("from_logits", from_logits)
  module = value.__module__ or ""  # None for a function that exec defined
  return value.__name__, module.startswith("keras.src."), from_logits
