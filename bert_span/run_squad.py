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

import os

from bert_span.cli import model_flags, program, training_flags
from bert_span.cli.option_flags import OptionFlags
from bert_span.fine_tuning.options import FineTuningOptions
from bert_span.jobs.training_options import SquadRunOptions
from bert_span.options.fields import INT32_MAX, option


class _Options:
  best_metric: str = option(
    "f1",
    "With --eval_steps: the metric on --predict_file of the best checkpoint; "
    "the last two, of all spans of an answer, are for --head=bio.",
    choices=("f1", "exact_match", "exact_match_f1", "overlap_f1"),
  )
  length_buckets: str = option(
    "32",
    "Batches hold windows of similar length and are padded to a multiple of "
    "this, in WordPieces; none pads to --max_seq_length, as run_squad.",
  )


_BEST_METRIC, _LENGTH_BUCKETS = OptionFlags(_Options)
_STEPS = OptionFlags(SquadRunOptions)
_FINE_TUNING = OptionFlags(FineTuningOptions)
_DATA = training_flags.data_flags()
_SHARED = model_flags.shared_flags(
  "output_dir", "predict_file", "predict_batch_size", "no_span"
)
_HEAD = model_flags.shared_flags("head").head
_RUN = training_flags.run_flags()
model_flags.answer_flags()
training_flags.encoder_flags()


@program.entry_point
def run(argv):
  fine_tuning_options = _checked_options()
  training_flags.report_unused_flags()
  program.import_tensorflow()
  saved = {}  # Of the model that predicts.
  if not _STEPS.do_train.value:
    trained = os.path.join(_SHARED.output_dir.value, "model")
    preset = training_flags.encoder_flags().preset.value
    saved = model_flags.saved_config(trained, preset)
  kind = model_flags.find_extractor_class({} if _HEAD.present else saved)
  model_flags.check_no_span(kind)
  selection = training_flags.selection_options(_BEST_METRIC.value)
  metrics = ("f1", "exact_match", *kind.development_metrics)
  if selection and selection.best_metric not in metrics:
    raise ValueError(
      f"--best_metric={selection.best_metric} is not a metric of a "
      f"{kind.head_name} head: choose one of {', '.join(metrics)}."
    )
  from bert_span.jobs import run_squad

  run_of_flags = run_squad.SquadRun(
    **_STEPS.values(),
    **_SHARED.values(),
    **training_flags.run_arguments(),
    window_options=model_flags.window_options(),
    decoder_options=model_flags.decoder_options(_calibration(saved), kind),
    fine_tuning_options=fine_tuning_options,
    extractor_class=kind,
    train_file=_DATA.train_file.value,
    train_dataset=training_flags.dataset_split("train"),
    predict_dataset=training_flags.dataset_split("validation"),
    selection=selection,
  )
  if _RUN.dry_run.value:
    run_squad.print_dry_run(run_of_flags, _RUN.memory_gb.value)
  else:
    run_squad.run_squad(run_of_flags)


def _checked_options():
  """Checks the flags, before TensorFlow; returns the `FineTuningOptions`."""
  steps = _STEPS.options()
  asks = steps.do_predict or steps.do_eval
  dataset, train_file = _DATA.dataset.value, _DATA.train_file.value
  has_questions = _SHARED.predict_file.value or dataset
  if not (steps.do_train or asks):
    raise ValueError("Give --do_train, --do_predict or --do_eval.")
  program.require(_SHARED.output_dir)
  if steps.do_train and not (train_file or dataset or steps.train_records):
    raise ValueError(
      "--do_train needs --train_file, --dataset or --train_records."
    )
  if asks and not has_questions:
    raise ValueError(
      "--do_predict and --do_eval need --predict_file or --dataset."
    )
  if dataset and (train_file or _SHARED.predict_file.value):
    raise ValueError(
      "--dataset replaces --train_file and --predict_file: give either."
    )
  if steps.do_train or steps.do_predict:
    training_flags.check_encoder_flags(needs_model=steps.do_train)
  training_flags.check_run_flags(
    steps.do_train,
    _FINE_TUNING.train_batch_size.value,
    _BEST_METRIC.value,
    None if has_questions else "--predict_file or --dataset",
  )
  does_all = steps.do_train and steps.do_predict and steps.do_eval
  if steps.num_seeds > 1 and not does_all:
    raise ValueError("--num_seeds needs --do_train, --do_predict, --do_eval.")
  model_flags.window_options()  # Checks the lengths.
  options = _FINE_TUNING.options(
    length_bucket=_length_bucket(), execution=training_flags.execution_options()
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
  fitted = ("temperature", "log_odds_shift", "null_score_diff_threshold")
  decoder = saved.get("decoder", {})
  if decoder.get("temperature") is None:
    return {}
  # All other options follow the flags alone, as in run_squad.
  return {"decoder": {n: decoder[n] for n in fitted if n in decoder}}


if __name__ == "__main__":
  run()
