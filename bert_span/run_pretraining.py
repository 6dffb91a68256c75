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
from bert_span.cli.option_flags import OptionFlags
from bert_span.jobs.training.options import PretrainingRunOptions
from bert_span.pretraining.options import PretrainingOptions, TextLocation
from bert_span.storage.options import option


class _Options:
  eval_file: str | None = option(
    None,
    "Held-out text for --do_eval and --eval_steps, in the format of "
    "--input_file; without --do_train the default is --input_file.",
  )
  best_metric: str | None = option(
    None,
    "With --eval_steps: the metric on --eval_file of the best checkpoint; by "
    "default the last checkpoint is kept.",
    choices=(
      *("mlm_loss", "mlm_accuracy", "sbo_loss", "sbo_accuracy"),
      *("rss_loss", "rss_accuracy"),
    ),
  )


_EVAL_FILE, _BEST_METRIC = OptionFlags(_Options)
_STEPS = OptionFlags(PretrainingRunOptions)
_TRAINING = OptionFlags(PretrainingOptions)
_SEQUENCES = pretraining_flags.sequence_flags()
_TEXT = OptionFlags(TextLocation)
_OUTPUT_DIR = model_flags.shared_flags("output_dir").output_dir
_RUN = training_flags.run_flags()
training_flags.encoder_flags()
_MASKING = pretraining_flags.masking_flags()


def main(argv):
  _check_flags()
  training_flags.report_unused_flags()
  program.import_tensorflow()
  from bert_span.jobs.training import pretraining_run

  source = training_flags.encoder_source()
  if not _STEPS.do_train.value:
    trained = pretraining_run.trained_source(_OUTPUT_DIR.value)
    if not trained:
      training_flags.check_encoder_flags(needs_model=True)
    source = trained or source
  eval_file = _EVAL_FILE.value
  run_of_flags = pretraining_run.PretrainingRun(
    **_STEPS.values(),
    output_dir=_OUTPUT_DIR.value,
    source=source,
    **_SEQUENCES.values(),
    masking=pretraining_flags.masking_options(),
    options=_TRAINING.options(execution=training_flags.execution_options()),
    text=_TEXT.options(),
    eval_text=_TEXT.options(
      **({"files": eval_file, "dataset": None} if eval_file else {})
    ),
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
  check, steps = program.check, _STEPS.options()
  check(
    steps.do_train or steps.do_eval,
    "At least one of --do_train and --do_eval must be true.",
  )
  program.require(_OUTPUT_DIR)
  if steps.do_train:
    pretraining_flags.check_text_flags()
    training_flags.check_encoder_flags(needs_model=True)
    check(
      _TRAINING.learning_rate.value > 0,
      "--do_train needs --learning_rate above 0.",
    )
    check(
      _EVAL_FILE.value or not steps.do_eval,
      "--do_eval with --do_train needs held-out text: give --eval_file.",
    )
  elif not _EVAL_FILE.value:
    pretraining_flags.check_text_flags()
  best_metric = _BEST_METRIC.value
  training_flags.check_run_flags(
    steps.do_train,
    _TRAINING.train_batch_size.value,
    best_metric,
    None if _EVAL_FILE.value else "--eval_file",
  )
  objective = _MASKING.objective.value
  trained = {"masking": ["mlm"], "rss": ["rss"], "both": ["mlm", "rss"]}
  trained = trained[objective]
  if _TRAINING.span_boundary.value and objective != "rss":
    trained.append("sbo")
  check(
    best_metric is None or best_metric.startswith(tuple(trained)),
    f"--best_metric={best_metric} is not trained with --objective={objective}"
    f" and --sbo={_TRAINING.span_boundary.value}.",
  )


run = program.entry_point(main)

if __name__ == "__main__":
  run()
