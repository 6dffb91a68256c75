r"""Fine-tunes BERT on SQuAD, answers its questions and scores the answers.

A command line of the original run_squad.py runs unchanged:

  python -m bert_span.run_squad \
    --vocab_file=$BERT/vocab.txt --bert_config_file=$BERT/bert_config.json \
    --init_checkpoint=$BERT/bert_model.ckpt --do_train=true \
    --train_file=train-v1.1.json --do_predict=true \
    --predict_file=dev-v1.1.json --output_dir=/tmp/squad

With --preset instead of the three files of a checkpoint it starts from a
KerasHub preset, a Hugging Face directory or a model of this package.
"""

import os

from absl import flags

from bert_span.cli import (
  device_flags,
  fine_tuning_flags,
  model_flags,
  program,
  run_flags,
  training_flags,
)
from bert_span.cli.tensorflow_import import import_tensorflow

_TRAIN_RECORDS = flags.DEFINE_string(
  "train_records",
  None,
  "Folder that bert_span.create_squad_records wrote, to train on; with "
  "--train_file it is checked that they were made of that file.",
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
_PREDICT_BATCH_SIZE = flags.DEFINE_integer(
  "predict_batch_size",
  8,
  "Windows the model reads at once at most; a processor reads no more than "
  "1,024 WordPieces at once, a GPU 16,384.",
  lower_bound=1,
)
_VERBOSE_LOGGING = flags.DEFINE_bool(
  "verbose_logging",
  False,
  "Whether every place of a data problem is named, and not the first three.",
)
_DISAGREEMENT_QUESTIONS = flags.DEFINE_integer(
  "disagreement_questions",
  20,
  "With --head=bio: questions that disagreement.json shows, those whose "
  "annotators differ most.",
  lower_bound=0,
)
_BEST_METRIC = flags.DEFINE_enum(
  "best_metric",
  "f1",
  ["f1", "exact_match", "exact_match_f1", "overlap_f1"],
  "With --eval_steps: the score on --predict_file by which the best model is "
  "kept; the last two, of all spans of an answer, are for --head=bio.",
)
_NUM_SEEDS = flags.DEFINE_integer(
  "num_seeds",
  1,
  "Trainings by seeds --seed, --seed + 1, ..., each in a folder of its own, "
  "with mean and deviation of their scores.",
  lower_bound=1,
)
_WRITE_LOGITS = flags.DEFINE_bool(
  "write_logits",
  False,
  "Whether start and end logits of all windows are written to logits.npz in "
  "--output_dir, for bert_span.decode.",
)
_FINE_TUNING = fine_tuning_flags.fine_tuning_flags()
_DATA = training_flags.train_data_flags()
training_flags.loop_flags()
_SELECTION = training_flags.selection_flags()
_OUTPUT_DIR = model_flags.output_dir_flag()
_PREDICT_FILE = model_flags.predict_file_flag()
model_flags.vocabulary_flags()
model_flags.window_flags()
_HEAD = model_flags.head_flag()
_NO_SPAN = model_flags.no_span_flag()
model_flags.decoder_flags()
model_flags.bio_decoder_flags()
training_flags.encoder_flags()
device_flags.execution_flags()
device_flags.device_flags()
_DRY_RUN = device_flags.dry_run_flags()
# --help lists the flags of this module only, and those named here.
for _module in (model_flags, device_flags, training_flags, fine_tuning_flags):
  flags.adopt_module_key_flags(_module)


def main(argv):
  """Turns flags into options and runs the job."""
  program.refuse_arguments(argv)
  _check_flags()
  device_flags.report_unused_flags()
  # Seconds: only once the flags are known to be right.
  import_tensorflow()
  saved = _saved_config()
  is_saved_head = saved and not _HEAD.present
  head = model_flags.answer_head(
    saved["head"] if is_saved_head else _HEAD.value
  )
  model_flags.check_no_span(head)
  _check_best_metric(head)
  from bert_span.jobs.training import squad_run

  run_of_flags = squad_run.SquadRun(
    job=squad_run.SquadJob(
      output_dir=_OUTPUT_DIR.value,
      source=training_flags.encoder_source(),
      head_bias=_FINE_TUNING.span_head_bias.value,
      window_options=model_flags.window_options(),
      decoder_options=model_flags.decoder_options(_calibration(saved), head),
      fine_tuning_options=fine_tuning_flags.fine_tuning_options(),
      no_span=_NO_SPAN.value,
      verbose=_VERBOSE_LOGGING.value,
      head=head,
      disagreement_questions=_DISAGREEMENT_QUESTIONS.value,
      teachers=tuple(_FINE_TUNING.teacher.value),
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
    devices=device_flags.device_options(),
    num_seeds=_NUM_SEEDS.value,
    run_flags=flags.FLAGS.flags_into_string(),
    settings=run_flags.flag_lines(flags.FLAGS, without=("num_seeds", "seed")),
  )
  if _DRY_RUN.dry_run.value:
    squad_run.print_dry_run(run_of_flags, _DRY_RUN.memory_gb.value)
  else:
    squad_run.run_squad(run_of_flags)


def run():
  """Entry point of the installed command."""
  program.run_program(main)


def _saved_config():
  """The dict of span_config.json of the model that predicts, or None."""
  if _DO_TRAIN.value:
    return None
  trained = os.path.join(_OUTPUT_DIR.value, "model")
  return model_flags.saved_config(
    trained, training_flags.encoder_flags().preset.value
  )


def _calibration(saved):
  """What bert_span.calibrate has fitted to the model that predicts, or None.

  All else follows the flags alone, as in the original.
  """
  decoder = saved["decoder"] if saved else {}
  if decoder.get("temperature") is None:
    return None
  names = ("temperature", "null_score_diff_threshold")
  return {"decoder": {name: decoder[name] for name in names}}


def _check_flags():
  """Refuses flags that do not fit together, before anything is loaded."""
  check = program.check
  steps = [_DO_TRAIN.value, _DO_PREDICT.value, _DO_EVAL.value]
  check(
    any(steps),
    "At least one of --do_train, --do_predict and --do_eval must be true.",
  )
  check(_OUTPUT_DIR.value, "--output_dir is required.")
  if _DO_TRAIN.value:
    check(
      _DATA.train_file.value or _DATA.dataset.value or _TRAIN_RECORDS.value,
      "--do_train needs --train_file or --dataset, or --train_records.",
    )
  if _DO_PREDICT.value or _DO_EVAL.value:
    check(
      _PREDICT_FILE.value or _DATA.dataset.value,
      "--do_predict and --do_eval need --predict_file or --dataset.",
    )
  check(
    not (
      _DATA.dataset.value and (_DATA.train_file.value or _PREDICT_FILE.value)
    ),
    "--dataset stands for --train_file and --predict_file: give either.",
  )
  if _DO_TRAIN.value or _DO_PREDICT.value:
    training_flags.check_encoder_flags(needs_model=_DO_TRAIN.value)
  device_flags.check_device_flags(_FINE_TUNING.train_batch_size.value)
  device_flags.check_dry_run_flags()
  max_query_length = model_flags.window_flags().max_query_length.value
  max_seq_length = model_flags.window_flags().max_seq_length.value
  check(
    max_seq_length > max_query_length + 3,
    f"--max_seq_length ({max_seq_length}) must be greater than "
    f"--max_query_length ({max_query_length}) + 3.",
  )
  _check_selection_flags()
  fine_tuning_flags.check_fine_tuning_flags(_DO_TRAIN.value)


def _check_best_metric(head):
  """Refuses a metric that is not measured of the answers of this head."""
  metrics = ("f1", "exact_match", *head.development_metrics)
  program.check(
    not _SELECTION.eval_steps.value or _BEST_METRIC.value in metrics,
    f"--best_metric={_BEST_METRIC.value} is not a metric of a {head.name} "
    f"head: choose one of {', '.join(metrics)}.",
  )


def _check_selection_flags():
  """Refuses evaluation during training and seeds without what they need."""
  check = program.check
  training_flags.check_selection_flags(_BEST_METRIC.value)
  if _SELECTION.eval_steps.value:
    check(_DO_TRAIN.value, "--eval_steps needs --do_train.")
    check(
      _PREDICT_FILE.value or _DATA.dataset.value,
      "--eval_steps needs --predict_file or --dataset, to score the model on.",
    )
  check(
    _NUM_SEEDS.value == 1
    or (_DO_TRAIN.value and _DO_PREDICT.value and _DO_EVAL.value),
    "--num_seeds needs --do_train, --do_predict and --do_eval: it compares "
    "scores.",
  )


if __name__ == "__main__":
  run()
