r"""Fine-tunes BERT on SQuAD, answers its questions and scores the answers.

A command line of the original run_squad.py runs unchanged:

  python -m bert_span.run_squad \
    --vocab_file=$BERT/vocab.txt --bert_config_file=$BERT/bert_config.json \
    --init_checkpoint=$BERT/bert_model.ckpt --do_train=true \
    --train_file=train-v1.1.json --do_predict=true \
    --predict_file=dev-v1.1.json --output_dir=/tmp/squad

--preset replaces the three files of a checkpoint by a KerasHub preset, a
Hugging Face directory or a model of this package.
"""

import dataclasses
import os

from absl import flags

from bert_span.answers.decoding.options import FITTED
from bert_span.cli import model_flags, program, training_flags
from bert_span.cli.option_flags import define_flags, read_flags
from bert_span.jobs.options import SquadRunOptions
from bert_span.options.fields import INT32_MAX
from bert_span.text.options import WindowOptions
from bert_span.training.fine_tuning_options import FineTuningOptions

_BEST_METRIC = flags.DEFINE_enum(
  "best_metric",
  "f1",
  ["f1", "exact_match", "exact_match_f1", "overlap_f1"],
  "With --eval_steps: the metric on --predict_file of the best checkpoint; the "
  "last two, of all spans of an answer, are for --head=bio.",
)
_LENGTH_BUCKETS = flags.DEFINE_string(
  "length_buckets",
  "32",
  "Batches hold windows of similar length and are padded to a multiple of "
  "this, in WordPieces; none pads to --max_seq_length, as run_squad.",
)
define_flags(SquadRunOptions)
define_flags(FineTuningOptions)
_TRAIN_FILE, _DATASET, _ = training_flags.define_data_flags()
_OUTPUT_DIR, _PREDICT_FILE, _BATCH_SIZE, _NO_SPAN, _HEAD = (
  model_flags.define_shared_flags(
    "output_dir", "predict_file", "predict_batch_size", "no_span", "head"
  )
)
_DRY_RUN = training_flags.define_run_flags()
model_flags.define_answer_flags()
_ENCODER = training_flags.define_encoder_flags()


@program.entry_point
def run(argv):
  steps = read_flags(SquadRunOptions)
  window_options = read_flags(WindowOptions)
  fine_tuning_options = _checked_options(steps)
  program.import_tensorflow()
  saved = {}  # Of the model that predicts.
  trained = os.path.join(_OUTPUT_DIR.value, "model")
  if not steps.do_train:
    saved = model_flags.saved_config(trained, _ENCODER.preset.value)
  kind = model_flags.find_extractor_class({} if _HEAD.present else saved)
  model_flags.check_no_span(kind)
  unused = {
    holder.name: f"without --head={name}"
    for name, holders in model_flags.flags_of_other_heads(kind).items()
    for holder in holders
  }
  if not flags.FLAGS.version_2_with_negative:
    unused["null_score_diff_threshold"] = "without --version_2_with_negative"
  training_flags.report_unused_flags(unused)
  selection = training_flags.selection_options(_BEST_METRIC.value)
  metrics = ("f1", "exact_match", *kind.development_metrics)
  if selection and selection.best_metric not in metrics:
    raise ValueError(
      f"--best_metric={selection.best_metric} is not a metric of a "
      f"{kind.head_name} head: choose one of {', '.join(metrics)}."
    )
  # That of the model of a run that has ended.
  fitted = _calibration(model_flags.saved_config(trained))
  from bert_span.jobs import run_squad

  run_of_flags = run_squad.SquadRun(
    **dataclasses.asdict(steps),
    **training_flags.run_arguments(),
    output_dir=_OUTPUT_DIR.value,
    window_options=window_options,
    decoder_options=model_flags.decoder_options(_calibration(saved), kind),
    fitted_options=model_flags.decoder_options(fitted, kind),
    fine_tuning_options=fine_tuning_options,
    extractor_class=kind,
    train_file=_TRAIN_FILE.value,
    train_dataset=training_flags.dataset_split("train"),
    predict_file=_PREDICT_FILE.value,
    predict_dataset=training_flags.dataset_split("validation"),
    predict_batch_size=_BATCH_SIZE.value,
    no_span=_NO_SPAN.value,
    selection=selection,
  )
  if _DRY_RUN.value:
    run_squad.print_dry_run(run_of_flags)
  else:
    run_squad.run_squad(run_of_flags)


def _checked_options(steps):
  """Checks the flags, before TensorFlow; returns the `FineTuningOptions`."""
  options = read_flags(
    FineTuningOptions,
    length_bucket=_length_bucket(),
    execution=training_flags.execution_options(),
  )
  asks = steps.do_predict or steps.do_eval
  dataset, train_file = _DATASET.value, _TRAIN_FILE.value
  has_questions = _PREDICT_FILE.value or dataset
  if not (steps.do_train or asks):
    raise ValueError("Give --do_train, --do_predict or --do_eval.")
  program.require(_OUTPUT_DIR)
  if steps.do_train and not (train_file or dataset):
    raise ValueError("--do_train needs --train_file or --dataset.")
  if asks and not has_questions:
    raise ValueError(
      "--do_predict and --do_eval need --predict_file or --dataset."
    )
  if dataset and (train_file or _PREDICT_FILE.value):
    raise ValueError(
      "--dataset replaces --train_file and --predict_file: give either."
    )
  if steps.do_train or steps.do_predict:
    training_flags.check_encoder_flags(needs_model=steps.do_train)
  training_flags.check_run_flags(
    steps.do_train,
    options.train_batch_size,
    _BEST_METRIC.value,
    None if has_questions else "--predict_file or --dataset",
  )
  has_steps = options.learning_rate and options.num_train_epochs
  if steps.do_train and not has_steps:
    raise ValueError(
      "--do_train needs --learning_rate and --num_train_epochs above 0."
    )
  return options


def _length_bucket():
  """Returns --length_buckets in WordPieces, or None."""
  value = _LENGTH_BUCKETS.value
  is_tpu = training_flags.device_options().is_tpu
  if value.lower() == "none" or (is_tpu and not _LENGTH_BUCKETS.present):
    return None
  if is_tpu:
    raise ValueError(
      f"--length_buckets={value}: a TPU compiles every length anew. Use "
      "--length_buckets=none, or leave it out."
    )
  if not value.isdecimal() or not 0 < int(value) <= INT32_MAX:
    raise ValueError(
      "--length_buckets must be none or a positive number of WordPieces. "
      f"Received: {value!r}"
    )
  return int(value)


def _calibration(saved):
  """Returns the options that bert_span.calibrate fitted to the model."""
  decoder = saved.get("decoder", {})
  if decoder.get("temperature") is None:
    return {}
  # All other options follow the flags alone, as in run_squad.
  return {"decoder": {n: decoder[n] for n in FITTED if n in decoder}}


if __name__ == "__main__":
  run()
