"""Flags that several programs share.

A group of flags is defined when a program asks for it, and only once when
several programs are imported in one process.
"""

import functools
import types

from absl import flags

from bert_span.answers.decoding.options import (
  BioDecoderOptions,
  DecoderOptions,
  StepOptions,
)
from bert_span.cli.option_flags import OptionFlags
from bert_span.cli.program import check
from bert_span.text.options import WindowOptions
from bert_span.tflite.options import ModelInfo, TFLiteOptions

# --help lists them as flags of the program, not of this module.
flags.disclaim_key_flags()


@functools.cache
def window_flags():
  """--max_seq_length, --doc_stride, --max_query_length."""
  return OptionFlags(WindowOptions)


def window_options(saved=None):
  """The WindowOptions that the flags ask for.

  Args:
    saved: dict of a model's span_config.json, which gives what the command
      line does not; None takes the flags' defaults.

  Returns:
    `WindowOptions`.
  """
  return window_flags().options((saved or {}).get("window"))


@functools.cache
def decoder_flags():
  """run_squad's flags on how answers are chosen, and --span_score."""
  return OptionFlags(DecoderOptions)


def decoder_options(saved, head):
  """The decoding options that the flags ask for.

  Args:
    saved: see `window_options`.
    head: `AnswerHead`.

  Returns:
    The options of the head.
  """
  return _decoder_group(head).options((saved or {}).get("decoder"))


def check_decoder_flags(head):
  """Refuses flags on how answers are chosen that are of another head.

  Args:
    head: `AnswerHead`.

  Raises:
    flags.IllegalFlagValueError: one is given; it would do nothing.
  """
  # Loads TensorFlow, as all that knows a head.
  from bert_span.heads.known import HEADS

  own = {holder.name for holder in _decoder_group(head)}
  for other in HEADS:
    for holder in _decoder_group(other):
      check(
        holder.name in own or not holder.present,
        f"--{holder.name} is for a {other.name} head, and the model has a "
        f"{head.name} head. Leave the flag out.",
      )


def check_n_best(holder, options):
  """Refuses more answers than the decoder keeps, where it keeps so many.

  Args:
    holder: the flag.
    options: decoding options of a head.

  Raises:
    flags.IllegalFlagValueError: more are asked for.
  """
  kept = getattr(options, "n_best_size", None)
  check(
    kept is None or not holder.present or holder.value <= kept,
    f"--{holder.name}={holder.value} is more than the {kept} answers that are "
    "kept. Raise --n_best_size.",
  )


def _decoder_group(head):
  """The flags of a head's decoding options."""
  groups = {
    DecoderOptions: decoder_flags,
    BioDecoderOptions: bio_decoder_flags,
  }
  return groups[head.options_type]()


@functools.cache
def no_span_flag():
  """--no_span."""
  return flags.DEFINE_enum(
    "no_span",
    "no_answer",
    ["no_answer", "original"],
    "What becomes of a question for which no span is possible: no answer, or "
    "as in the original the text 'empty', and with --version_2_with_negative "
    "an error.",
  )


def check_no_span(head):
  """Refuses --no_span=original with a head that has no original.

  Args:
    head: `AnswerHead`.

  Raises:
    flags.IllegalFlagValueError: both are given.
  """
  check(
    head.scores_ends or no_span_flag().value == "no_answer",
    "--no_span=original is for --head=span only. Leave it out.",
  )


@functools.cache
def head_flag():
  """--head."""
  return flags.DEFINE_enum(
    "head",
    "span",
    ["span", "bio"],
    "span scores one start and one end; bio tags every token B, I or O, for "
    "answers of several spans. A model directory knows its head.",
  )


@functools.cache
def bio_decoder_flags():
  """The flags on how answers of several spans are chosen."""
  decoder_flags()
  return OptionFlags(BioDecoderOptions)


def saved_config(*models):
  """What a model directory says about its head, text and answers.

  Args:
    *models: directories or names of models, and None for what is not given;
      the first that says something counts.

  Returns:
    Dict of its span_config.json; None where there is none.

  Raises:
    ValueError: the file is damaged, or of a later version.
  """
  from bert_span.presets.span_config import read_span_config

  found = (read_span_config(model) for model in models if model)
  return next(filter(None, found), None)


def saved_config_or_tflite(model):
  """What `saved_config` gives, for a .tflite file as well."""
  from bert_span.tflite import file as tflite_file

  if tflite_file.is_tflite(model):
    return tflite_file.read_span_config(model)
  return saved_config(model)


def head_of_model(saved):
  """The head of a model directory, which --head must not contradict.

  Args:
    saved: dict of its span_config.json, or None.

  Returns:
    `AnswerHead`; that of --head where there is no such file.

  Raises:
    flags.IllegalFlagValueError: --head is given and is another one.
  """
  holder = head_flag()
  if saved is None:
    return answer_head(holder.value)
  check(
    not holder.present or holder.value == saved["head"],
    f"--head={holder.value}: the model has a {saved['head']} head. Leave the "
    "flag out.",
  )
  return answer_head(saved["head"])


def answer_head(name):
  """The `AnswerHead` of a name.

  Raises:
    ValueError: there is none of this name.
  """
  # Loads TensorFlow, as all that knows a head.
  from bert_span.heads.known import find_head

  return find_head(name)


@functools.cache
def version_2_flag():
  """--version_2_with_negative."""
  options = OptionFlags(DecoderOptions, ["version_2_with_negative"])
  return options.version_2_with_negative


@functools.cache
def vocabulary_flags():
  """--vocab_file and --do_lower_case."""
  return types.SimpleNamespace(
    vocab_file=flags.DEFINE_string(
      "vocab_file",
      None,
      "Vocabulary of the model: a text file with one WordPiece a line.",
    ),
    do_lower_case=flags.DEFINE_bool(
      "do_lower_case",
      True,
      "Whether to lower-case the text and strip accents; true for uncased "
      "models.",
    ),
  )


@functools.cache
def predict_file_flag():
  """--predict_file."""
  return flags.DEFINE_string(
    "predict_file",
    None,
    "SQuAD JSON file with the questions to answer or to score.",
  )


@functools.cache
def output_dir_flag():
  """--output_dir."""
  return flags.DEFINE_string(
    "output_dir", None, "Folder that the outputs are written to."
  )


@functools.cache
def tflite_flags():
  """The flags of `TFLiteOptions` and of `ModelInfo`."""
  return OptionFlags(TFLiteOptions), OptionFlags(ModelInfo)


@functools.cache
def step_flags():
  """--max_windows_per_step, --max_wordpieces_per_step, --jit_compile."""
  return OptionFlags(StepOptions, max_wordpieces_per_step=1024)
