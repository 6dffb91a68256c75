"""Checks 3, 4 and 9: model function, loss, optimizer, fine-tuning runs."""

import dataclasses
import os
import zlib

import keras
import numpy as np
import tensorflow as tf

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.data.labelled_windows import label_windows
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.encoder import build_encoder
from bert_span.modeling.heads import SpanHead, assign_head
from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.modeling.losses import SpanLoss
from bert_span.presets import encoder_weights
from bert_span.training.fine_tuner import window_loss_fn
from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.optimizer import BertAdamW, is_decayed
from bert_span.training.options import TrainOptions
from bert_span.training.step import TrainStep
from bert_span.training.step_runner import StepRunner
from tests.conformance.comparison import Comparison, is_text_of

_INPUTS = {
  "token_ids": "input_ids",
  "segment_ids": "segment_ids",
  "padding_mask": "input_mask",
}
_LABELS = ("start_positions", "end_positions")
_LOGITS_LIMIT = 1e-4
_LOSS_LIMIT = 1e-5
_UPDATES_LIMIT = 1e-5
# float32 sums in another order, over 20 and 60 updates.
_TRAINING_LOSS_LIMIT = 1e-4
_WEIGHTS_LIMIT = 2e-4
_FINE_TUNED_WEIGHTS_LIMIT = 5e-4


def compare_model(goldens):
  yield from _compare_forward(goldens)
  yield _compare_loss(goldens)
  for after_step in (False, True):
    yield from _compare_training(goldens, after_step)


def _compare_loss(goldens):
  golden = _recorded(goldens, "loss")
  logits = _tiny_model(goldens)(_inputs(golden), training=False)
  num_windows = len(golden["input_ids"])
  comparison = Comparison(f"Loss of {num_windows} windows", _LOSS_LIMIT)
  for name, values in (("our logits", logits), ("its logits", golden)):
    loss = sum(
      SpanLoss()(golden[f"{end}_positions"], values[f"{end}_logits"])
      for end in ("start", "end")
    )
    comparison.add_numbers(float(loss), golden["total_loss"], name)
  return comparison


def compare_optimizer(goldens):
  tables = goldens.read("learning_rate_tables.json")["tables"]
  rates = Comparison(f"Learning rates: {len(tables)} tables", limit=0.0)
  for key, expected in tables.items():
    peak, steps, warmup = key.split("/")
    rate = tf.function(WarmupLinearDecay(float(peak), int(steps), int(warmup)))
    for step, original in enumerate(np.asarray(expected, np.float32)):
      ours = rate(tf.constant(step))
      rates.add_numbers(ours, original, f"{key} at step {step}")
  yield rates
  for name in ("dense", "with_embedding"):
    yield _compare_updates(goldens, name)


def compare_fine_tuning(goldens):
  plan = goldens.plan["fine_tuning"]
  golden = goldens.arrays("fine_tuning.npz")
  configuration = goldens.configurations[plan["training"]]
  windows = label_windows(
    goldens.examples(configuration), goldens.preprocessor(configuration)
  ).windows
  length = configuration.options.max_seq_length
  windows = windows.batch(np.arange(len(windows)), length)
  schedule = ("learning_rate", "num_train_steps", "num_warmup_steps")
  peak, steps, warmup = (plan[name] for name in schedule)
  # As recorded, with one thread: the warm-up reads the step count after its
  # increment and the decay reads it before, a race in the original.
  rates = [
    peak * (t + 1) / warmup if t + 1 < warmup else peak * (1 - t / steps)
    for t in range(steps)
  ]
  schedule = keras.optimizers.schedules.PiecewiseConstantDecay(
    list(range(steps - 1)), rates
  )
  model = _tiny_model(goldens)
  metrics = _train(model, schedule, windows, golden["batches"])
  yield _compare_losses("Losses of", metrics, golden["losses"])
  yield _compare_weights(
    "Final weights", _FINE_TUNED_WEIGHTS_LIMIT, model, golden, "final:bert/"
  )
  yield _compare_answers(goldens, plan, model)


def _recorded(goldens, kind):
  plan = goldens.plan["model"]
  configuration = plan["forward" if kind == "forward" else "training"]
  name = f"model_{kind}_{configuration}{plan['num_features']}.npz"
  return goldens.arrays(name)


def _inputs(arrays):
  return {ours: arrays[x].astype(np.int32) for ours, x in _INPUTS.items()}


def _compare_forward(goldens):
  """Compares both encoders: Keras' trains, the inference encoder answers."""
  golden = _recorded(goldens, "forward")
  model, inputs = _tiny_model(goldens), _inputs(golden)
  encoded = model.backbone(inputs, training=False)
  states = {
    "sequence_output_every16": encoded["sequence_output"][:, ::16],
    "pooled_output": encoded["pooled_output"],
  }
  for title, outputs in (
    ("Model", states | model(inputs, training=False)),
    ("Answering", tf.function(InferenceModel(model), autograph=False)(inputs)),
  ):
    for name, values in outputs.items():
      comparison = Comparison(f"{title}: {name}", _LOGITS_LIMIT)
      for i, pair in enumerate(zip(values, golden[name], strict=True)):
        comparison.add_numbers(*pair, f"window {i}")
      yield comparison


def _compare_training(goldens, after_step):
  """Trains as the original does, also clipping by its norm."""
  steps = goldens.read("model_train_trace.json")["steps"]
  golden = goldens.arrays("model_train_trace.npz")
  model = _tiny_model(goldens)
  windows = _inputs(_recorded(goldens, "loss"))
  windows |= {name: golden[name] for name in _LABELS}
  schedule = WarmupLinearDecay(1e-3, len(steps), 4, steps_ahead=int(after_step))
  metrics = _train(model, schedule, windows, golden["batches"])
  title, prefix = "Training: weights after 20 steps", "final:bert/"
  if after_step:
    title += ", --learning_rate_after_step"
    prefix = "final_unsequenced:bert/"
  else:
    originals = [step["loss"] for step in steps]
    losses = _compare_losses("Training: loss of each of", metrics, originals)
    largest = max(
      abs(float(ours["global_norm"]) / step["global_norm"] - 1)
      for ours, step in zip(metrics, steps, strict=True)
    )
    losses.notes.append(
      "Training: with --clip_by_unsummed_embeddings, the global norms differ "
      f"by a factor of 1 +/- {largest:.1g} at most."
    )
    yield losses
  yield _compare_weights(title, _WEIGHTS_LIMIT, model, golden, prefix)


def _compare_losses(title, metrics, golden):
  comparison = Comparison(f"{title} {len(golden)} steps", _TRAINING_LOSS_LIMIT)
  for i, (ours, original) in enumerate(zip(metrics, golden, strict=True)):
    comparison.add_numbers(float(ours["loss"]), original, f"step {i}")
  return comparison


def _compare_weights(title, limit, model, golden, prefix):
  """Compares the encoder's weights that were saved whole, under a prefix."""
  comparison = Comparison(title, limit)
  tensors = encoder_weights.original_tensors(model.backbone)
  for name, tensor in tensors.items():
    if prefix + name in golden:
      comparison.add_numbers(tensor, golden[prefix + name], name)
  return comparison


def _train(model, schedule, windows, batches):
  """Trains on `batches`, rows of the windows; returns each step's metrics."""
  optimizer = BertAdamW(schedule)
  optimizer.build(model.trainable_variables)
  step = TrainStep(
    model,
    model.trainable_variables,
    window_loss_fn(SpanPreprocessor, SpanLoss()),
    optimizer,
    TrainOptions(train_batch_size=batches.shape[1]),
    unsummed_embeddings=(model.backbone.token_embedding.embeddings.path,),
  )
  names = (*_INPUTS, *_LABELS)
  dataset = tf.data.Dataset.from_tensor_slices(
    {name: windows[name][batches].astype(np.int32) for name in names}
  )
  counter = tf.Variable(0, dtype=tf.int64)
  runner = StepRunner(tf.distribute.get_strategy(), step, counter, dataset)
  return [metrics for _ in batches for metrics in runner.run(1)]


def _compare_updates(goldens, name):
  """Updates with the original's clipped gradients, step by step."""
  info = goldens.read("optimizer_info.json")[name]
  golden = goldens.arrays(f"optimizer_{name}.npz")
  # Keras' names have no slash, and weight decay looks for parts of names.
  variables = {
    path: keras.Variable(golden[f"init:{path}"], name=path.replace("/", "."))
    for path in info["variable_order"]
  }
  schedule = WarmupLinearDecay(info["init_lr"], info["steps"], info["warmup"])
  optimizer = BertAdamW(schedule)
  optimizer.build(list(variables.values()))
  comparison = Comparison(
    f"Updates, {name}: {len(variables)} variables, {info['steps']} steps",
    _UPDATES_LIMIT,
  )
  for path, decays in info["weight_decay_applied"].items():
    if is_decayed(path) != decays:
      comparison.add(False, f"{path}: weight decay")
  with_gradient = [p for p in variables if f"clipped_grad:{p}" in golden]
  for step in range(info["steps"]):
    optimizer.apply(
      [tf.constant(golden[f"clipped_grad:{p}"][step]) for p in with_gradient],
      [variables[p] for p in with_gradient],
    )
    for path, variable in variables.items():
      original = golden[f"value:{path}"][step]
      case = f"{path} after step {step}"
      comparison.add_numbers(variable.numpy(), original, case)
  return comparison


def _compare_answers(goldens, plan, model):
  configuration = goldens.configurations[plan["prediction"]]
  extractor = SpanExtractor(
    model.backbone,
    goldens.preprocessor(configuration, pad_to_max=True),
    DecoderOptions(version_2_with_negative=plan["version_2"]),
    head=model.head,
  )
  golden = goldens.read("fine_tuning_predictions.json.gz")
  comparison = Comparison("Answers after training")
  examples = goldens.examples(configuration)
  predictions = extractor.predictions(examples)
  for example, ours in zip(examples, predictions, strict=True):
    text = golden[ours.qas_id]
    same = is_text_of(text, example.context, ours.answer)
    comparison.add(same, f"{ours.qas_id}: {text!r}, here {ours.answer.text!r}")
  return comparison


def _tiny_model(goldens):
  """The `SpanExtractor` of the original's tiny checkpoint, without dropout."""
  config = encoder_weights.read_bert_config(
    goldens.path("tiny_ckpt/bert_config.json")
  )
  config = dataclasses.replace(config, dropout=0.0, attention_dropout=0.0)
  prefix = os.path.join(goldens.folder, "tiny_ckpt/bert_model.ckpt")
  if os.path.exists(f"{prefix}.index"):
    loaded = encoder_weights.load_tf1_checkpoint(config, prefix)
    backbone, head = loaded.backbone, loaded.head_weights["span_head"]
  else:
    # Its weights were a function of their names.
    backbone = build_encoder(config)
    names = encoder_weights.original_weights(config)
    for variable in backbone.weights:
      name, shape = names[variable.path]
      variable.assign(_weight(f"bert/{name}", shape).reshape(variable.shape))
    kernel = _weight("cls/squad/output_weights", (2, config.hidden_dim))
    head = {"kernel": kernel.T, "bias": _weight("cls/squad/output_bias", (2,))}
  model = SpanExtractor(backbone, head=SpanHead())
  assign_head(model.head, head)
  return model


def _weight(name, shape):
  """Normal with deviation 0.2, around 1 for gamma, as tests/original draws."""
  generator = np.random.RandomState(zlib.crc32(name.encode("utf-8")))
  values = generator.standard_normal(shape) * 0.2
  return (values + (1 if name.endswith("gamma") else 0)).astype(np.float32)
