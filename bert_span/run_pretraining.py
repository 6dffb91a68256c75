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
_TEXT = pretraining_flags.text_flags()
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
  # Seconds: only once the flags are known to be right.
  from bert_span.cli.run_flags import write_run_flags
  from bert_span.jobs import pretraining_job
  from bert_span.training.devices.strategy import is_chief

  strategy = None
  if _DO_TRAIN.value and not _DRY_RUN.dry_run.value:
    # First of all: TensorFlow joins workers before it has run anything.
    strategy = device_flags.make_strategy(
      _TRAIN_BATCH_SIZE.value, pretraining_job.log_line
    )
  if is_chief(strategy) and not _DRY_RUN.dry_run.value:
    write_run_flags(_OUTPUT_DIR.value, flags.FLAGS)
  device_flags.report_unused_flags(pretraining_job.log_line)
  # Found before the model is loaded: a wrong path is told at once.
  train_text = _text() if _DO_TRAIN.value else None
  selection = training_flags.selection_options(_BEST_METRIC.value)
  needs_eval_text = _DO_EVAL.value or selection
  eval_text = _text(_EVAL_FILE.value) if needs_eval_text else None
  eval_limits = (_EVAL_BATCH_SIZE.value, _MAX_EVAL_STEPS.value)
  job = pretraining_job.PretrainingJob(
    _OUTPUT_DIR.value,
    _source(),
    _MASKING.max_seq_length.value,
    pretraining_flags.masking_options(),
    _pretraining_options(),
    strategy,
  )
  if _DRY_RUN.dry_run.value:
    _print_dry_run(job, train_text)
    return
  if train_text:
    held_out = None
    if selection:
      held_out = job.held_out(eval_text, *eval_limits, selection)
    job.train(train_text, held_out)
  if not is_chief(strategy):
    return  # One worker exports and scores.
  if train_text and _DO_EXPORT.value:
    job.export()
  if _DO_EVAL.value:
    job.evaluate(eval_text, *eval_limits)


def run():
  """Entry point of the installed command."""
  program.run_program(main)


def _print_dry_run(job, train_text):
  """Prints what the flags ask for, instead of doing it."""
  from bert_span.jobs import dry_run

  print("Dry run: nothing is trained, nothing is written.")
  if train_text:
    options = device_flags.dry_run_options()
    for line in dry_run.pretraining_lines(job, train_text, options):
      print(line)
  if _DO_EVAL.value:
    print(
      f"Then up to {_MAX_EVAL_STEPS.value:,} batches of "
      f"{_EVAL_BATCH_SIZE.value} sequences of held-out text would be scored."
    )


def _text(patterns=None):
  """What is read: text, or records that hold masked text."""
  from bert_span.pretraining.input import TextInput
  from bert_span.storage.record_files import is_record_file

  sources = pretraining_flags.text_sources(patterns)
  are_records = [is_record_file(source.path) for source in sources]
  program.check(
    all(are_records) or not any(are_records),
    "Text files and record files (.tfrecord) cannot be mixed: give either.",
  )
  if are_records[0]:
    return TextInput([source.path for source in sources], are_records=True)
  return TextInput(sources)


def _source():
  """Where the model comes from: the flags, or what was trained before."""
  from bert_span.jobs import pretraining_job
  from bert_span.presets.encoder_source import EncoderSource

  if not _DO_TRAIN.value:
    trained = pretraining_job.trained_model(_OUTPUT_DIR.value)
    if trained:
      return EncoderSource(preset=trained)
    training_flags.check_model_flags(needs_model=True)
  return training_flags.encoder_source()


def _pretraining_options():
  from bert_span.pretraining.pretrainer import PretrainingOptions

  return PretrainingOptions(
    train_batch_size=_TRAIN_BATCH_SIZE.value,
    **training_flags.loop_options(),
    num_train_steps=_NUM_TRAIN_STEPS.value,
    num_warmup_steps=_NUM_WARMUP_STEPS.value,
    span_boundary=_SBO.value,
    sbo_weight=_SBO_WEIGHT.value,
    weight_decay=_WEIGHT_DECAY.value,
    adam_epsilon=_ADAM_EPSILON.value,
    seed=_MASKING.seed.value,
  )


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
    training_flags.check_model_flags(needs_model=True)
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
