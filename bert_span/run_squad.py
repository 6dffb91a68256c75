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

from absl import flags

from bert_span.cli import (
  model_flags,
  program,
  training_flags,
)
from bert_span.cli.tensorflow_import import import_tensorflow

_TRAIN_RECORDS = flags.DEFINE_string(
  "train_records",
  None,
  "Folder of bert_span.create_squad_records to train on; with --train_file the "
  "records must be made from that file.",
)
_DO_TRAIN = flags.DEFINE_bool("do_train", False, "Whether to train.")
_DO_PREDICT = flags.DEFINE_bool(
  "do_predict", False, "Whether to answer the questions of --predict_file."
)
_DO_EVAL = flags.DEFINE_bool(
  "do_eval",
  False,
  "Whether to score predictions.json in --output_dir with the official "
  "metrics.",
)
_PREDICT_BATCH_SIZE = model_flags.predict_batch_size_flag()
_VERBOSE_LOGGING = flags.DEFINE_bool(
  "verbose_logging",
  False,
  "Whether to name every place of a data problem instead of the first three.",
)
_DISAGREEMENT_QUESTIONS = flags.DEFINE_integer(
  "disagreement_questions",
  20,
  "With --head=bio: number of questions in disagreement.json, those on which "
  "the annotators differ most.",
  lower_bound=0,
)
_BEST_METRIC = flags.DEFINE_enum(
  "best_metric",
  "f1",
  ["f1", "exact_match", "exact_match_f1", "overlap_f1"],
  "With --eval_steps: the metric on --predict_file of the best checkpoint; the "
  "last two, of all spans of an answer, are for --head=bio.",
)
_NUM_SEEDS = flags.DEFINE_integer(
  "num_seeds",
  1,
  "Number of trainings, with the seeds --seed, --seed + 1, ..., each in its "
  "own folder; mean and standard deviation of their scores are printed.",
  lower_bound=1,
)
_WRITE_LOGITS = flags.DEFINE_bool(
  "write_logits",
  False,
  "Whether to write the logits of all windows to logits.npz in --output_dir, "
  "for bert_span.decode.",
)
_SPAN_HEAD_BIAS = flags.DEFINE_bool(
  "span_head_bias",
  True,
  "Whether start and end logits have a bias, as in run_squad; the paper has "
  "none.",
)
_LENGTH_BUCKETS = flags.DEFINE_string(
  "length_buckets",
  "32",
  "Batches hold windows of similar length and are padded to a multiple of "
  "this, in WordPieces; none pads to --max_seq_length, as run_squad.",
)
_BIO_CLASS_WEIGHTS = flags.DEFINE_list(
  "bio_class_weights",
  None,
  "With --head=bio: weights of B, I and O in the loss, three positive numbers "
  "separated by commas; 1 each by default.",
)
_TEACHER = flags.DEFINE_list(
  "teacher",
  [],
  "Model directories, or names of models, separated by commas, whose outputs "
  "are learned in addition to the labels (distillation), averaged. "
  "They need the same vocabulary, case, windows and head. Questions without "
  "an answer or is_impossible are used too.",
)
_FINE_TUNING = training_flags.fine_tuning_flags()
_DATA = training_flags.train_data_flags()
_OUTPUT_DIR = model_flags.output_dir_flag()
_PREDICT_FILE = model_flags.predict_file_flag()
_HEAD = model_flags.head_flag()
_NO_SPAN = model_flags.no_span_flag()
model_flags.answer_flags()
training_flags.encoder_flags()
_RUN = training_flags.run_flags()


def main(argv):
  """Turns flags into options and runs the job."""
  fine_tuning_options = _checked_options()
  training_flags.report_unused_flags()
  import_tensorflow()
  saved = _saved_config()
  is_saved_head = saved and not _HEAD.present
  head = model_flags.answer_head(
    saved["head"] if is_saved_head else _HEAD.value
  )
  model_flags.check_no_span(head)
  metrics = ("f1", "exact_match", *head.development_metrics)
  program.check(
    not _RUN.selection.eval_steps.value or _BEST_METRIC.value in metrics,
    f"--best_metric={_BEST_METRIC.value} is not a metric of a {head.name} "
    f"head: choose one of {', '.join(metrics)}.",
  )
  from bert_span.jobs.training import squad_run

  run_of_flags = squad_run.SquadRun(
    job=squad_run.SquadJob(
      output_dir=_OUTPUT_DIR.value,
      source=training_flags.encoder_source(),
      head_bias=_SPAN_HEAD_BIAS.value,
      window_options=model_flags.window_options(),
      decoder_options=model_flags.decoder_options(_calibration(saved), head),
      fine_tuning_options=fine_tuning_options,
      no_span=_NO_SPAN.value,
      verbose=_VERBOSE_LOGGING.value,
      head=head,
      disagreement_questions=_DISAGREEMENT_QUESTIONS.value,
      teachers=tuple(_TEACHER.value),
    ),
    do_train=_DO_TRAIN.value,
    do_predict=_DO_PREDICT.value,
    do_eval=_DO_EVAL.value,
    train_file=_DATA.train_file.value,
    train_dataset=training_flags.dataset_split("train"),
    train_records=_TRAIN_RECORDS.value,
    predict_file=_PREDICT_FILE.value,
    predict_dataset=training_flags.dataset_split("validation"),
    predict_batch_size=_PREDICT_BATCH_SIZE.value,
    write_logits=_WRITE_LOGITS.value,
    selection=training_flags.selection_options(_BEST_METRIC.value),
    devices=training_flags.device_options(),
    num_seeds=_NUM_SEEDS.value,
    run_flags=flags.FLAGS.flags_into_string(),
    settings=_settings(),
  )
  if _RUN.dry_run.value:
    squad_run.print_dry_run(run_of_flags, _RUN.memory_gb.value)
  else:
    squad_run.run_squad(run_of_flags)


def _checked_options():
  """Checks the flags, before TensorFlow; returns the `FineTuningOptions`."""
  check, does_train = program.check, _DO_TRAIN.value
  steps = [does_train, _DO_PREDICT.value, _DO_EVAL.value]
  has_questions = _PREDICT_FILE.value or _DATA.dataset.value
  check(
    any(steps),
    "At least one of --do_train, --do_predict and --do_eval must be true.",
  )
  program.require(_OUTPUT_DIR)
  check(
    not does_train
    or _DATA.train_file.value
    or _DATA.dataset.value
    or _TRAIN_RECORDS.value,
    "--do_train needs --train_file or --dataset, or --train_records.",
  )
  check(
    has_questions or not any(steps[1:]),
    "--do_predict and --do_eval need --predict_file or --dataset.",
  )
  check(
    has_questions or not _RUN.selection.eval_steps.value,
    "--eval_steps needs --predict_file or --dataset, to score the model on.",
  )
  if _DATA.dataset.value:
    check(
      not (_DATA.train_file.value or _PREDICT_FILE.value),
      "--dataset replaces --train_file and --predict_file: give either.",
    )
  if does_train or _DO_PREDICT.value:
    training_flags.check_encoder_flags(needs_model=does_train)
  training_flags.check_run_flags(
    does_train, _FINE_TUNING.train_batch_size.value, _BEST_METRIC.value
  )
  check(
    _NUM_SEEDS.value == 1 or all(steps),
    "--num_seeds needs --do_train, --do_predict and --do_eval: it compares "
    "scores.",
  )
  model_flags.window_options()  # Checks the lengths.
  options = _FINE_TUNING.options(
    length_bucket=_length_bucket(),
    bio_class_weights=_class_weights(),
    execution=training_flags.execution_options(),
  )
  check(
    not does_train or (options.learning_rate and options.num_train_epochs),
    "--do_train needs --learning_rate and --num_train_epochs above 0.",
  )
  return options


def _length_bucket():
  """Returns --length_buckets in WordPieces, or None."""
  value = _LENGTH_BUCKETS.value
  is_tpu = training_flags.device_options().is_tpu
  if value.lower() == "none" or (is_tpu and not _LENGTH_BUCKETS.present):
    return None
  program.check(
    not is_tpu,
    f"--length_buckets={value}: a TPU compiles every length anew. Use "
    "--length_buckets=none, or leave it out.",
  )
  program.check(
    value.isdecimal() and int(value) > 0,
    "--length_buckets must be none or a positive number of WordPieces. "
    f"Received: {value!r}",
  )
  return int(value)


def _class_weights():
  """Returns --bio_class_weights as floats, or None."""
  given = _BIO_CLASS_WEIGHTS.value
  try:
    return tuple(map(float, given)) if given else None
  except ValueError as error:
    raise ValueError(
      f"--bio_class_weights={','.join(given)}: {error}. Give three positive "
      "numbers, of B, I and O."
    ) from error


def _saved_config():
  """Returns the span_config.json of the model that predicts, or None."""
  if _DO_TRAIN.value:
    return None
  trained = os.path.join(_OUTPUT_DIR.value, "model")
  return model_flags.saved_config(
    trained, training_flags.encoder_flags().preset.value
  )


def _calibration(saved):
  """Returns what bert_span.calibrate fitted to the model, or None.

  All other options follow the flags alone, as in run_squad.
  """
  decoder = saved["decoder"] if saved else {}
  if decoder.get("temperature") is None:
    return None
  names = ("temperature", "null_score_diff_threshold")
  return {"decoder": {name: decoder[name] for name in names}}


def _settings():
  """Returns the flags that all seeds share, as lines of a flag file."""
  differing = ("--num_seeds=", "--seed=")
  lines = flags.FLAGS.flags_into_string().splitlines()
  return [line for line in lines if not line.startswith(differing)]


run = program.entry_point(main)

if __name__ == "__main__":
  run()
