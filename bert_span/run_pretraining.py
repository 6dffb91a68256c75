r"""Pre-trains BERT on text with span masking and the span boundary objective.

  python -m bert_span.run_pretraining --do_train --input_file='wiki/*.txt.gz' \
    --bert_config_file=$BERT/bert_config.json --vocab_file=$BERT/vocab.txt \
    [--init_checkpoint=$BERT/bert_model.ckpt] --max_seq_length=512 \
    --do_eval --eval_file=held_out.txt --output_dir=/tmp/pretrained

The model in output_dir/model is a --preset of bert_span.run_squad. Files that
end in .tfrecord are read as records of bert_span.create_pretraining_data.
"""

import dataclasses

from absl import flags

from bert_span.cli import (
  model_flags,
  pretraining_flags,
  program,
  training_flags,
)
from bert_span.cli.option_flags import define_flags, read_flags
from bert_span.jobs.options import PretrainingRunOptions
from bert_span.pretraining.options import PretrainingOptions, TextLocation

_EVAL_FILE = flags.DEFINE_string(
  "eval_file",
  None,
  "Held-out text for --do_eval and --eval_steps, in the format of "
  "--input_file; without --do_train the default is --input_file.",
)
_BEST_METRIC = flags.DEFINE_enum(
  "best_metric",
  None,
  ["mlm_loss", "mlm_accuracy", "sbo_loss", "sbo_accuracy"],
  "With --eval_steps: the metric on --eval_file of the best checkpoint; by "
  "default the last checkpoint is kept.",
)
define_flags(PretrainingRunOptions)
_TRAINING = define_flags(PretrainingOptions)
(_OUTPUT_DIR,) = model_flags.define_shared_flags("output_dir")
_DRY_RUN = training_flags.define_run_flags()
training_flags.define_encoder_flags()
(_MAX_SEQ_LENGTH,) = pretraining_flags.define_masked_text_flags()


@program.entry_point
def run(argv):
  steps = read_flags(PretrainingRunOptions)
  _check_flags(steps)
  training_flags.report_unused_flags()
  program.import_tensorflow()
  from bert_span.jobs import run_pretraining

  arguments = training_flags.run_arguments()
  if not steps.do_train:
    trained = run_pretraining.trained_source(_OUTPUT_DIR.value)
    if not trained:
      training_flags.check_encoder_flags(needs_model=True)
    arguments["source"] = trained or arguments["source"]
  eval_file, eval_text = _EVAL_FILE.value, {}
  if eval_file:
    eval_text = {"files": eval_file, "dataset": None}
  run_of_flags = run_pretraining.PretrainingRun(
    **dataclasses.asdict(steps),
    **arguments,
    max_seq_length=_MAX_SEQ_LENGTH.value,
    output_dir=_OUTPUT_DIR.value,
    masking=pretraining_flags.masking_options(),
    options=read_flags(
      PretrainingOptions, execution=training_flags.execution_options()
    ),
    text=read_flags(TextLocation),
    eval_text=read_flags(TextLocation, **eval_text),
    selection=training_flags.selection_options(_BEST_METRIC.value),
  )
  if _DRY_RUN.value:
    run_pretraining.print_dry_run(run_of_flags)
  else:
    run_pretraining.run_pretraining(run_of_flags)


def _check_flags(steps):
  """Checks the relations of the flags, before anything is loaded."""
  eval_file = _EVAL_FILE.value
  if not (steps.do_train or steps.do_eval):
    raise ValueError("Give --do_train or --do_eval.")
  program.require(_OUTPUT_DIR)
  if steps.do_train or not eval_file:
    pretraining_flags.check_text_flags()
  if steps.do_train:
    training_flags.check_encoder_flags(needs_model=True)
    if not _TRAINING.learning_rate.value:
      raise ValueError("--do_train needs --learning_rate above 0.")
    if steps.do_eval and not eval_file:
      raise ValueError("--do_eval with --do_train needs --eval_file.")
  best_metric = _BEST_METRIC.value
  training_flags.check_run_flags(
    steps.do_train,
    _TRAINING.train_batch_size.value,
    best_metric,
    None if eval_file else "--eval_file",
  )
  scores_sbo = (best_metric or "").startswith("sbo")
  if scores_sbo and not _TRAINING.span_boundary.value:
    raise ValueError(
      f"--best_metric={best_metric} is not trained with --nosbo. Leave one out."
    )


if __name__ == "__main__":
  run()
