r"""Pre-trains BERT on text with span masking and the span boundary objective.

  python -m bert_span.run_pretraining --do_train --input_file='wiki/*.txt.gz' \
    --bert_config_file=$BERT/bert_config.json --vocab_file=$BERT/vocab.txt \
    [--init_checkpoint=$BERT/bert_model.ckpt] --max_seq_length=512 \
    --do_eval --eval_file=held_out.txt --output_dir=/tmp/pretrained

The model in output_dir/model is a --preset of bert_span.run_squad. Files that
end in .tfrecord are read as records of bert_span.create_pretraining_data.
"""

from absl import flags

from bert_span.cli import (
  model_flags,
  pretraining_flags,
  program,
  training_flags,
)
from bert_span.cli.tensorflow_import import import_tensorflow

_EVAL_FILE = flags.DEFINE_string(
  "eval_file",
  None,
  "Held-out text for --do_eval and --eval_steps, in the format of "
  "--input_file; without --do_train the default is --input_file.",
)
_DO_TRAIN = flags.DEFINE_bool("do_train", False, "Whether to train.")
_DO_EVAL = flags.DEFINE_bool(
  "do_eval", False, "Whether to score the model on held-out text."
)
_DO_EXPORT = flags.DEFINE_bool(
  "do_export",
  True,
  "Whether to write a trained model also as a TensorFlow 1 checkpoint and as a "
  "Hugging Face directory.",
)
_EVAL_BATCH_SIZE = flags.DEFINE_integer(
  "eval_batch_size", 8, "Sequences that are scored at once.", lower_bound=1
)
_MAX_EVAL_STEPS = flags.DEFINE_integer(
  "max_eval_steps", 100, "Most batches of held-out text.", lower_bound=1
)
_BEST_METRIC = flags.DEFINE_enum(
  "best_metric",
  None,
  ["mlm_loss", "mlm_accuracy", "sbo_loss", "sbo_accuracy"],
  "With --eval_steps: the metric on --eval_file of the best checkpoint; by "
  "default the last checkpoint is kept.",
)
_TRAINING = pretraining_flags.training_flags()
_MASKING = pretraining_flags.masking_flags()
_TEXT = pretraining_flags.text_flags()
_OUTPUT_DIR = model_flags.output_dir_flag()
training_flags.encoder_flags()
_RUN = training_flags.run_flags()


def main(argv):
  """Turns flags into options and runs the job."""
  _check_flags()
  training_flags.report_unused_flags()
  import_tensorflow()
  from bert_span.jobs.training import pretraining_run

  source = training_flags.encoder_source()
  if not _DO_TRAIN.value:
    trained = pretraining_run.trained_source(_OUTPUT_DIR.value)
    if not trained:
      training_flags.check_encoder_flags(needs_model=True)
    source = trained or source
  run_of_flags = pretraining_run.PretrainingRun(
    output_dir=_OUTPUT_DIR.value,
    source=source,
    max_seq_length=_MASKING.max_seq_length.value,
    masking=pretraining_flags.masking_options(),
    options=_TRAINING.options(execution=training_flags.execution_options()),
    do_train=_DO_TRAIN.value,
    do_export=_DO_EXPORT.value,
    do_eval=_DO_EVAL.value,
    text=_TEXT.options(),
    eval_text=_eval_text(),
    eval_batch_size=_EVAL_BATCH_SIZE.value,
    max_eval_steps=_MAX_EVAL_STEPS.value,
    selection=training_flags.selection_options(_BEST_METRIC.value),
    devices=training_flags.device_options(),
    run_flags=flags.FLAGS.flags_into_string(),
  )
  if _RUN.dry_run.value:
    pretraining_run.print_dry_run(run_of_flags, _RUN.memory_gb.value)
  else:
    pretraining_run.run_pretraining(run_of_flags)


def _check_flags():
  """Checks the relations of the flags, before anything is loaded."""
  check = program.check
  check(
    _DO_TRAIN.value or _DO_EVAL.value,
    "At least one of --do_train and --do_eval must be true.",
  )
  program.require(_OUTPUT_DIR)
  if _DO_TRAIN.value:
    pretraining_flags.check_text_flags()
    training_flags.check_encoder_flags(needs_model=True)
    check(
      _TRAINING.learning_rate.value > 0,
      "--do_train needs --learning_rate above 0.",
    )
    check(
      _EVAL_FILE.value or not _DO_EVAL.value,
      "--do_eval with --do_train needs held-out text: give --eval_file.",
    )
  elif not _EVAL_FILE.value:
    pretraining_flags.check_text_flags()
  training_flags.check_run_flags(
    _DO_TRAIN.value, _TRAINING.train_batch_size.value, _BEST_METRIC.value
  )
  check(
    _EVAL_FILE.value or not _RUN.selection.eval_steps.value,
    "--eval_steps needs held-out text: --eval_file.",
  )
  check(
    _TRAINING.span_boundary.value
    or not (_BEST_METRIC.value or "").startswith("sbo"),
    f"--best_metric={_BEST_METRIC.value} needs --sbo.",
  )


def _eval_text():
  """Returns the `TextLocation` of the held-out text."""
  files = _EVAL_FILE.value
  return _TEXT.options(files=files, dataset=None) if files else _TEXT.options()


run = program.entry_point(main)

if __name__ == "__main__":
  run()
