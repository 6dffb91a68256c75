r"""Pre-trains BERT on text with span masking and the span boundary objective.

  python -m bert_span.run_pretraining --do_train --input_file='wiki/*.txt.gz' \
    --bert_config_file=$BERT/bert_config.json --vocab_file=$BERT/vocab.txt \
    [--init_checkpoint=$BERT/bert_model.ckpt] --max_seq_length=512 \
    --do_eval --eval_file=held_out.txt --output_dir=/tmp/pretrained

The model in output_dir/model is a --preset of bert_span.run_squad. Files that
end in .tfrecord are read as what bert_span.create_pretraining_data has written.
"""

from absl import flags

from bert_span.cli import (
  device_flags,
  model_flags,
  pretraining_flags,
  program,
  training_flags,
)
from bert_span.cli.tensorflow_import import import_tensorflow

_EVAL_FILE = flags.DEFINE_string(
  "eval_file",
  None,
  "Held-out text for --do_eval and --eval_steps, in the form of --input_file; "
  "without --do_train --input_file stands for it.",
)
_DO_TRAIN = flags.DEFINE_bool("do_train", False, "Whether to train.")
_DO_EVAL = flags.DEFINE_bool(
  "do_eval", False, "Whether to score the model on held-out text."
)
_DO_EXPORT = flags.DEFINE_bool(
  "do_export",
  True,
  "Whether a trained model is also written as a TensorFlow 1 checkpoint of "
  "the original and as a Hugging Face directory.",
)
_TRAIN_BATCH_SIZE = flags.DEFINE_integer(
  "train_batch_size", 32, "Sequences in a training batch.", lower_bound=1
)
_EVAL_BATCH_SIZE = flags.DEFINE_integer(
  "eval_batch_size", 8, "Sequences the model scores at once.", lower_bound=1
)
_MAX_EVAL_STEPS = flags.DEFINE_integer(
  "max_eval_steps", 100, "Batches of held-out text, at most.", lower_bound=1
)
_BEST_METRIC = flags.DEFINE_enum(
  "best_metric",
  None,
  ["mlm_loss", "mlm_accuracy", "sbo_loss", "sbo_accuracy"],
  "With --eval_steps: the score on --eval_file by which the best model is "
  "kept; none keeps that of the last step.",
)
_NUM_TRAIN_STEPS = flags.DEFINE_integer(
  "num_train_steps", 100_000, "Updates of the weights.", lower_bound=1
)
_NUM_WARMUP_STEPS = flags.DEFINE_integer(
  "num_warmup_steps",
  10_000,
  "Steps in which the learning rate rises.",
  lower_bound=0,
)
_SBO = flags.DEFINE_bool(
  "sbo", True, "Whether the span boundary objective is trained."
)
_SBO_WEIGHT = flags.DEFINE_float(
  "sbo_weight",
  1.0,
  "Weight of the span boundary objective's loss beside the masked language "
  "model's.",
  lower_bound=0.0,
)
_WEIGHT_DECAY = flags.DEFINE_float(
  "weight_decay",
  0.01,
  "Share of a weight taken off at learning rate 1.",
  lower_bound=0.0,
  upper_bound=1.0,
)
_ADAM_EPSILON = flags.DEFINE_float(
  "adam_epsilon",
  1e-6,
  "What Adam adds to the root of its second average.",
  lower_bound=0.0,
)
_LOOP = training_flags.loop_flags()
_SELECTION = training_flags.selection_flags()
_OUTPUT_DIR = model_flags.output_dir_flag()
model_flags.vocabulary_flags()
pretraining_flags.text_flags()
_MASKING = pretraining_flags.masking_flags()
training_flags.encoder_flags()
device_flags.execution_flags()
device_flags.device_flags()
_DRY_RUN = device_flags.dry_run_flags()
# --help lists the flags of this module only, and those named here.
for _module in (model_flags, device_flags, training_flags, pretraining_flags):
  flags.adopt_module_key_flags(_module)


def main(argv):
  """Turns flags into options and runs the job."""
  program.refuse_arguments(argv)
  _check_flags()
  device_flags.report_unused_flags()
  # Seconds: only once the flags are known to be right.
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
    options=pretraining_run.PretrainingOptions(
      train_batch_size=_TRAIN_BATCH_SIZE.value,
      **training_flags.loop_options(),
      num_train_steps=_NUM_TRAIN_STEPS.value,
      num_warmup_steps=_NUM_WARMUP_STEPS.value,
      span_boundary=_SBO.value,
      sbo_weight=_SBO_WEIGHT.value,
      weight_decay=_WEIGHT_DECAY.value,
      adam_epsilon=_ADAM_EPSILON.value,
      seed=_MASKING.seed.value,
    ),
    do_train=_DO_TRAIN.value,
    do_export=_DO_EXPORT.value,
    do_eval=_DO_EVAL.value,
    text=pretraining_flags.text_location(),
    eval_text=pretraining_flags.text_location(_EVAL_FILE.value),
    eval_batch_size=_EVAL_BATCH_SIZE.value,
    max_eval_steps=_MAX_EVAL_STEPS.value,
    selection=training_flags.selection_options(_BEST_METRIC.value),
    devices=device_flags.device_options(),
    run_flags=flags.FLAGS.flags_into_string(),
  )
  if _DRY_RUN.dry_run.value:
    pretraining_run.print_dry_run(run_of_flags, _DRY_RUN.memory_gb.value)
  else:
    pretraining_run.run_pretraining(run_of_flags)


def run():
  """Entry point of the installed command."""
  program.run_program(main)


def _check_flags():
  """Refuses flags that do not fit together, before anything is loaded."""
  check = program.check
  check(
    _DO_TRAIN.value or _DO_EVAL.value,
    "At least one of --do_train and --do_eval must be true.",
  )
  check(_OUTPUT_DIR.value, "--output_dir is required.")
  if _DO_TRAIN.value:
    pretraining_flags.check_text_flags()
    training_flags.check_encoder_flags(needs_model=True)
    check(
      _LOOP.learning_rate.value > 0, "--do_train needs --learning_rate above 0."
    )
    check(
      _EVAL_FILE.value or not _DO_EVAL.value,
      "--do_eval beside --do_train needs held-out text: give --eval_file.",
    )
  elif not _EVAL_FILE.value:
    pretraining_flags.check_text_flags()
  _check_selection_flags()
  check(_ADAM_EPSILON.value > 0, "--adam_epsilon must be above 0.")
  check(_WEIGHT_DECAY.value < 1, "--weight_decay must be below 1.")
  device_flags.check_device_flags(_TRAIN_BATCH_SIZE.value)
  device_flags.check_dry_run_flags()


def _check_selection_flags():
  """Refuses evaluation during training without what it needs."""
  check = program.check
  training_flags.check_selection_flags(_BEST_METRIC.value)
  if _SELECTION.eval_steps.value:
    check(_DO_TRAIN.value, "--eval_steps needs --do_train.")
    check(_EVAL_FILE.value, "--eval_steps needs held-out text: --eval_file.")
  is_of_sbo = (_BEST_METRIC.value or "").startswith("sbo")
  check(
    _SBO.value or not is_of_sbo,
    f"--best_metric={_BEST_METRIC.value} needs --sbo.",
  )


if __name__ == "__main__":
  run()
