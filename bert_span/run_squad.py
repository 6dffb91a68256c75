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

import math
import os

from absl import flags

from bert_span import program_flags, training_flags

_TRAIN_FILE = flags.DEFINE_string(
  "train_file", None, "SQuAD JSON file to train on."
)
_DATASET = flags.DEFINE_enum(
  "dataset",
  None,
  ["squad/v1.1", "squad/v2.0"],
  "TensorFlow Datasets name, instead of --train_file and --predict_file.",
)
_DATA_DIR = flags.DEFINE_string(
  "data_dir", None, "Folder of TensorFlow Datasets, for --dataset."
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
_TRAIN_BATCH_SIZE = flags.DEFINE_integer(
  "train_batch_size", 32, "Windows in a training batch.", lower_bound=1
)
_PREDICT_BATCH_SIZE = flags.DEFINE_integer(
  "predict_batch_size", 8, "Windows the model reads at once.", lower_bound=1
)
_NUM_TRAIN_EPOCHS = flags.DEFINE_float(
  "num_train_epochs",
  3.0,
  "Passes over the training examples.",
  lower_bound=0.0,
)
_WARMUP_PROPORTION = flags.DEFINE_float(
  "warmup_proportion",
  0.1,
  "Share of the steps in which the learning rate rises.",
  lower_bound=0.0,
  upper_bound=1.0,
)
_VERBOSE_LOGGING = flags.DEFINE_bool(
  "verbose_logging",
  False,
  "Whether every place of a data problem is named, and not the first three.",
)
_LENGTH_BUCKETS = flags.DEFINE_string(
  "length_buckets",
  "32",
  "Batches hold windows of similar length and are padded to a multiple of "
  "this, in WordPieces; none pads to --max_seq_length, as the original.",
)
_DROP_ANSWERLESS_WINDOWS = flags.DEFINE_bool(
  "drop_answerless_windows",
  False,
  "Whether windows that do not hold an answerable question's answer are left "
  "out of training; the original trains them as null answers.",
)
_SPAN_HEAD_BIAS = flags.DEFINE_bool(
  "span_head_bias",
  True,
  "Whether start and end logits have a bias, as in the original's code; the "
  "paper has none.",
)
_LOSS_REDUCTION = flags.DEFINE_enum(
  "loss_reduction",
  "mean",
  ["mean", "sum"],
  "Whether the loss is the mean of start and end, as the original, or their "
  "sum.",
)
_CLIP_BY_UNSUMMED_EMBEDDINGS = flags.DEFINE_bool(
  "clip_by_unsummed_embeddings",
  False,
  "Whether gradients are clipped by the norm that the original takes, which "
  "does not sum the word embeddings' rows of a repeated token.",
)
_LEARNING_RATE_AFTER_STEP = flags.DEFINE_bool(
  "learning_rate_after_step",
  False,
  "Whether a step uses the learning rate of the step count after it, as the "
  "original often does by a race, and not of the count before it.",
)
_ANNOTATOR_LABELS = program_flags.annotator_labels_flag()
_BIO_LOSS_REDUCTION = flags.DEFINE_enum(
  "bio_loss_reduction",
  "sum",
  ["sum", "mean"],
  "With --head=bio: whether a window's loss is the sum over its passage tokens "
  "or their mean.",
)
_BIO_CLASS_WEIGHTS = flags.DEFINE_list(
  "bio_class_weights",
  None,
  "With --head=bio: weights of B, I and O in the loss, three positive numbers "
  "separated by commas; 1 each by default.",
)
_DISAGREEMENT_QUESTIONS = flags.DEFINE_integer(
  "disagreement_questions",
  20,
  "With --head=bio: questions that disagreement.json shows, those whose "
  "annotators differ most.",
  lower_bound=0,
)
_SEED = flags.DEFINE_integer(
  "seed",
  12345,
  "Seed of initial weights, dropout and the order of batches.",
  lower_bound=0,
)
_WRITE_LOGITS = flags.DEFINE_bool(
  "write_logits",
  False,
  "Whether start and end logits of all windows are written to logits.npz in "
  "--output_dir, for bert_span.decode.",
)
_LOOP = training_flags.loop_flags()
_OUTPUT_DIR = program_flags.output_dir_flag()
_PREDICT_FILE = program_flags.predict_file_flag()
program_flags.vocabulary_flags()
program_flags.window_flags()
_HEAD = program_flags.head_flag()
_NO_SPAN = program_flags.no_span_flag()
program_flags.decoder_flags()
program_flags.tag_decoder_flags()
training_flags.model_flags()
training_flags.execution_flags()
training_flags.device_flags()
# --help lists the flags of this module only, and those named here.
flags.adopt_module_key_flags(program_flags)
flags.adopt_module_key_flags(training_flags)


def main(argv):
  """Turns flags into options and runs the job."""
  program_flags.refuse_arguments(argv)
  _check_flags()
  # Seconds: only once the flags are known to be right.
  from bert_span import squad_job
  from bert_span.training.strategy import is_chief

  strategy = None
  if _DO_TRAIN.value:
    # First of all: TensorFlow joins workers before it has run anything.
    strategy = training_flags.make_strategy(
      _TRAIN_BATCH_SIZE.value, squad_job.log_line
    )
  if is_chief(strategy):
    squad_job.write_run_flags(_OUTPUT_DIR.value, flags.FLAGS)
  training_flags.report_unused_flags(squad_job.log_line)
  head = _head()
  program_flags.check_no_span(head)
  job = squad_job.SquadJob(
    output_dir=_OUTPUT_DIR.value,
    source=training_flags.encoder_source(),
    head_bias=_SPAN_HEAD_BIAS.value,
    window_options=program_flags.window_options(),
    decoder_options=program_flags.decoder_options(head=head),
    fine_tuning_options=_fine_tuning_options(),
    no_span=_NO_SPAN.value,
    verbose=_VERBOSE_LOGGING.value,
    head=head,
    disagreement_questions=_DISAGREEMENT_QUESTIONS.value,
    strategy=strategy,
  )
  if _DO_TRAIN.value:
    job.train(squad_job.read(_TRAIN_FILE.value, _dataset("train")))
  if not is_chief(strategy):
    return  # One worker predicts and scores.
  predict_source = (_PREDICT_FILE.value, _dataset("validation"))
  if _DO_PREDICT.value:
    job.predict(
      squad_job.read(*predict_source),
      _PREDICT_BATCH_SIZE.value,
      _WRITE_LOGITS.value,
    )
  if _DO_EVAL.value:
    job.evaluate(squad_job.read(*predict_source))


def run():
  """Entry point of the installed command."""
  program_flags.run_program(main)


def _fine_tuning_options():
  from bert_span.fine_tuning import FineTuningOptions

  return FineTuningOptions(
    train_batch_size=_TRAIN_BATCH_SIZE.value,
    **training_flags.loop_options(),
    num_train_epochs=_NUM_TRAIN_EPOCHS.value,
    warmup_proportion=_WARMUP_PROPORTION.value,
    length_bucket=_length_bucket(),
    drop_answerless_windows=_DROP_ANSWERLESS_WINDOWS.value,
    loss_reduction=_LOSS_REDUCTION.value,
    clip_by_unsummed_embeddings=_CLIP_BY_UNSUMMED_EMBEDDINGS.value,
    learning_rate_after_step=_LEARNING_RATE_AFTER_STEP.value,
    seed=_SEED.value,
    annotator_labels=_ANNOTATOR_LABELS.value,
    bio_loss_reduction=_BIO_LOSS_REDUCTION.value,
    bio_class_weights=_class_weights(),
  )


def _head():
  """--head, or that of the model that predicts where the flag is not given."""
  if _HEAD.present or _DO_TRAIN.value:
    return _HEAD.value
  from bert_span.span_config import read_span_config

  preset = training_flags.model_flags().preset.value
  for directory in (os.path.join(_OUTPUT_DIR.value, "model"), preset):
    saved = read_span_config(directory) if directory else None
    if saved:
      return saved["head"]
  return _HEAD.value


def _check_flags():
  """Refuses flags that do not fit together, before anything is loaded."""
  check = program_flags.check
  steps = [_DO_TRAIN.value, _DO_PREDICT.value, _DO_EVAL.value]
  check(
    any(steps),
    "At least one of --do_train, --do_predict and --do_eval must be true.",
  )
  check(_OUTPUT_DIR.value, "--output_dir is required.")
  if _DO_TRAIN.value:
    check(
      _TRAIN_FILE.value or _DATASET.value,
      "--do_train needs --train_file or --dataset.",
    )
    check(
      _LOOP.learning_rate.value > 0 and _NUM_TRAIN_EPOCHS.value > 0,
      "--do_train needs --learning_rate and --num_train_epochs above 0.",
    )
  if _DO_PREDICT.value or _DO_EVAL.value:
    check(
      _PREDICT_FILE.value or _DATASET.value,
      "--do_predict and --do_eval need --predict_file or --dataset.",
    )
  check(
    not (_DATASET.value and (_TRAIN_FILE.value or _PREDICT_FILE.value)),
    "--dataset stands for --train_file and --predict_file: give either.",
  )
  if _DO_TRAIN.value or _DO_PREDICT.value:
    training_flags.check_model_flags(needs_model=_DO_TRAIN.value)
  training_flags.check_device_flags(_TRAIN_BATCH_SIZE.value)
  max_query_length = program_flags.window_flags().max_query_length.value
  max_seq_length = program_flags.window_flags().max_seq_length.value
  check(
    max_seq_length > max_query_length + 3,
    f"--max_seq_length ({max_seq_length}) must be greater than "
    f"--max_query_length ({max_query_length}) + 3.",
  )
  _length_bucket()
  _class_weights()


def _length_bucket():
  """--length_buckets as WordPieces, or None."""
  value = _LENGTH_BUCKETS.value
  is_tpu = training_flags.device_options().is_tpu
  if value.lower() == "none" or (is_tpu and not _LENGTH_BUCKETS.present):
    return None
  program_flags.check(
    not is_tpu,
    f"--length_buckets={value}: a TPU compiles every length anew. Use "
    "--length_buckets=none, or leave it out.",
  )
  program_flags.check(
    value.isdecimal() and int(value) > 0,
    "--length_buckets must be none or a positive number of WordPieces. "
    f"Received: {value!r}",
  )
  return int(value)


def _class_weights():
  """--bio_class_weights as three floats, or None."""
  if not _BIO_CLASS_WEIGHTS.value:
    return None
  try:
    weights = tuple(map(float, _BIO_CLASS_WEIGHTS.value))
  except ValueError:
    weights = ()
  program_flags.check(
    len(weights) == 3 and all(0 < weight < math.inf for weight in weights),
    "--bio_class_weights must be three positive numbers, of B, I and O. "
    f"Received: {','.join(_BIO_CLASS_WEIGHTS.value)}",
  )
  return weights


def _dataset(split):
  """(name, split, folder) of --dataset; None without it."""
  if not _DATASET.value:
    return None
  return _DATASET.value, split, _DATA_DIR.value


if __name__ == "__main__":
  run()
