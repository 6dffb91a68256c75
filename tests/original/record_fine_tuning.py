"""Records a fine-tuning run of the original program's own training loop."""

import os
import tempfile

import numpy as np
import tensorflow as tf

from record_model import stored_weights, tiny_config, write_checkpoint


def record_fine_tuning(run_squad, writer, plan, recorded):
  """Writes fine_tuning.*, by TPUEstimator and all else as in the main()."""
  config = tiny_config(run_squad.modeling, plan["bert_config"])
  _, features = recorded[plan["training"]]
  folder, checkpoint = write_checkpoint(run_squad, config)
  with folder:
    schedule = ("learning_rate", "num_train_steps", "num_warmup_steps")
    original = run_squad.model_fn_builder(
      config, checkpoint, *(plan[name] for name in schedule), False, False
    )
    seen = {}

    def model_fn(features, labels, mode, params):
      spec = original(features, labels, mode, params)
      seen.update(ids=features["unique_ids"], loss=spec.loss)
      return spec

    estimator = tf.contrib.tpu.TPUEstimator(
      use_tpu=False,
      model_fn=model_fn,
      config=tf.contrib.tpu.RunConfig(
        model_dir=os.path.join(folder.name, "run"),
        tf_random_seed=12345,
        # In one thread the race for the step count ends the same every time.
        session_config=tf.ConfigProto(
          inter_op_parallelism_threads=1, intra_op_parallelism_threads=1
        ),
      ),
      train_batch_size=plan["train_batch_size"],
      predict_batch_size=plan["train_batch_size"],
    )
    hook = _BatchHook(seen)
    estimator.train(
      input_fn=_input_fn(run_squad, folder.name, features, is_training=True),
      max_steps=plan["num_train_steps"],
      hooks=[hook],
    )
    values = {
      name: estimator.get_variable_value(name)
      for name in estimator.get_variable_names()
      if name.startswith(("bert/", "cls/"))
    }
    _record_predictions(run_squad, writer, plan, recorded, estimator, folder)
  row_of = {feature.unique_id: row for row, feature in enumerate(features)}
  input_ids = np.array([feature.input_ids for feature in features])
  np.savez_compressed(
    writer.path("fine_tuning.npz"),
    batches=np.array([[row_of[i] for i in ids] for ids in hook.ids]),
    losses=np.array(hook.losses, np.float32),
    **stored_weights("final", values, input_ids),
  )
  writer.write_json("fine_tuning.json", plan, indent=1)


class _BatchHook(tf.train.SessionRunHook):
  """Keeps the ids and the loss of each batch that was trained on."""

  def __init__(self, seen):
    self._seen = seen
    self.ids, self.losses = [], []

  def before_run(self, run_context):
    return tf.train.SessionRunArgs(dict(self._seen))

  def after_run(self, run_context, run_values):
    self.ids.append(run_values.results["ids"].tolist())
    self.losses.append(float(run_values.results["loss"]))


def _input_fn(run_squad, folder, features, is_training):
  """The original's input function, of records that its writer wrote."""
  path = os.path.join(folder, f"training_{is_training}.tf_record")
  writer = run_squad.FeatureWriter(path, is_training)
  for feature in features:
    writer.process_feature(feature)
  writer.close()
  return run_squad.input_fn_builder(
    path,
    seq_length=len(features[0].input_ids),
    is_training=is_training,
    drop_remainder=is_training,
  )


def _record_predictions(run_squad, writer, plan, recorded, estimator, folder):
  examples, features = recorded[plan["prediction"]]
  results = [
    run_squad.RawResult(
      unique_id=int(row["unique_ids"]),
      start_logits=[float(x) for x in row["start_logits"].flat],
      end_logits=[float(x) for x in row["end_logits"].flat],
    )
    for row in estimator.predict(
      _input_fn(run_squad, folder.name, features, is_training=False),
      yield_single_examples=True,
    )
  ]
  with tempfile.TemporaryDirectory() as outputs:
    paths = [os.path.join(outputs, name) for name in ("p", "n", "o")]
    run_squad.FLAGS.version_2_with_negative = plan["version_2"]
    run_squad.FLAGS.null_score_diff_threshold = 0.0
    run_squad.write_predictions(
      examples, features, results, 20, 30, True, *paths
    )
    for name, path in (("predictions", paths[0]), ("null_odds", paths[2])):
      if os.path.exists(path):
        with open(path, "rb") as source:
          writer.write_bytes(f"fine_tuning_{name}.json.gz", source.read())
