"""Check 9: a fine-tuning run of the original program, repeated here.

The original does not order the reading of the step count and its increment, a
race. It was recorded with one thread, in which the warm-up reads the count
after the increment and the decay reads it before: for a warm-up of 6 steps the
sixth update has the decay's rate of step 5.
"""

import keras
import numpy as np
import tensorflow as tf

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.answers.window_logits import WindowDecoder, WindowLogits
from bert_span.certificate.comparison import Comparison
from bert_span.certificate.model_checks import compare_weights, train
from bert_span.certificate.original_texts import is_text_of, one_blank
from bert_span.certificate.tiny_model import tiny_model
from bert_span.data.window_batches import window_batches
from bert_span.data.window_labels import SPAN_LABELS
from bert_span.data.window_rows import window_rows
from bert_span.heads.span import SPAN_HEAD
from bert_span.modeling.inference_encoder import InferenceModel

# float32 sums in another order, over 60 updates.
_LOSS_LIMIT = 1e-4
_WEIGHTS_LIMIT = 5e-4


def compare_fine_tuning(goldens):
  """Compares losses, final weights and predictions."""
  plan = goldens.plan["fine_tuning"]
  golden = goldens.arrays("fine_tuning.npz")
  model = tiny_model(goldens, dropout=False)
  schedule = _RecordedSchedule(
    plan["learning_rate"], plan["num_train_steps"], plan["num_warmup_steps"]
  )
  windows = _training_windows(goldens, plan["training"])
  metrics = train(model, schedule, windows, golden["batches"])
  losses = Comparison(f"Losses of {len(metrics)} steps", _LOSS_LIMIT)
  for i, ours in enumerate(metrics):
    losses.add_numbers(float(ours["loss"]), golden["losses"][i], f"step {i}")
  weights = Comparison("Final weights", _WEIGHTS_LIMIT)
  compare_weights(weights, model, golden, "final:bert/")
  return [losses, weights, _compare_answers(goldens, plan, model)]


class _RecordedSchedule(keras.optimizers.schedules.LearningRateSchedule):
  """The learning rates that the recorded run used."""

  def __init__(self, peak, num_train_steps, num_warmup_steps):
    super().__init__()
    self._peak = peak
    self._num_train_steps = num_train_steps
    self._num_warmup_steps = num_warmup_steps

  def __call__(self, step):
    step = tf.cast(step, tf.float32)
    warmup = self._peak * (step + 1) / self._num_warmup_steps
    decay = self._peak * (1 - step / self._num_train_steps)
    return tf.where(step + 1 < self._num_warmup_steps, warmup, decay)


def _training_windows(goldens, name):
  """Our windows as arrays, in the order of the original's features."""
  configuration = goldens.configurations[name]
  rows = window_rows(
    goldens.examples(configuration),
    goldens.preprocessor(configuration),
    SPAN_LABELS,
  )
  rows = list(rows)
  length = configuration.options.max_seq_length
  columns = {
    name: [row[name] + [0] * (length - len(row[name])) for row in rows]
    for name in ("input_ids", "segment_ids")
  }
  columns["input_mask"] = [
    [1] * n + [0] * (length - n)
    for n in (len(row["input_ids"]) for row in rows)
  ]
  for end in ("start", "end"):
    columns[f"{end}_positions"] = [row[f"{end}_position"] for row in rows]
  return {name: np.array(values) for name, values in columns.items()}


def _compare_answers(goldens, plan, model):
  configuration = goldens.configurations[plan["prediction"]]
  examples = goldens.examples(configuration)
  contexts = {example.qas_id: example.context for example in examples}
  decode = WindowDecoder(
    SPAN_HEAD, DecoderOptions(version_2_with_negative=plan["version_2"])
  )
  preprocessor = goldens.preprocessor(configuration, pad_to_max=True)
  golden = goldens.read("fine_tuning_predictions.json.gz")
  comparison = Comparison("Answers after training")
  answering = tf.function(
    InferenceModel(model), autograph=False, reduce_retracing=True
  )
  for batch, windows in window_batches(examples, preprocessor):
    outputs = answering(
      {
        "token_ids": windows["input_ids"],
        "segment_ids": windows["segment_ids"],
        "padding_mask": windows["input_mask"],
      }
    )
    logits = {name: values.numpy() for name, values in outputs.items()}
    for ours in decode(WindowLogits(batch, windows, logits)):
      text, context = golden[ours.qas_id], contexts[ours.qas_id]
      same = one_blank(text) == one_blank(ours.text) or (
        ours.text != "" and is_text_of(text, context, ours)
      )
      comparison.add(same, f"{ours.qas_id}: {text!r}, here {ours.text!r}")
  return comparison
