"""Flags of models and their answers that several programs share.

A flag is defined when a program asks for it. The functions that load TensorFlow
are for programs that have checked their flags.
"""

import dataclasses
from typing import Any, NamedTuple

from absl import flags

from bert_span.answers.decoding.options import (
  BioDecoderOptions,
  DecoderOptions,
  StepOptions,
)
from bert_span.cli.option_flags import OptionFlags
from bert_span.cli.program import check
from bert_span.presets.encoder_source import EncoderSource
from bert_span.storage.options import option
from bert_span.text.options import WindowOptions

flags.disclaim_key_flags()


@dataclasses.dataclass(frozen=True)
class _SharedOptions:
  predict_file: str | None = option(
    None, "SQuAD JSON file with the questions to answer or to score."
  )
  predict_batch_size: int = option(
    8,
    "Most windows that the model reads at once; a processor reads at most "
    "1,024 WordPieces at once, a GPU 16,384.",
    minimum=1,
  )
  output_dir: str | None = option(
    None, "Folder to which the output files are written."
  )
  fixed_length: bool = option(
    False,
    "Whether every window is padded to --max_seq_length, as in run_squad with "
    "--length_buckets=none.",
  )
  head: str = option(
    "span",
    "Head of the model: span scores starts and ends; bio tags every token B, I "
    "or O, for answers of several spans. A model directory knows its head.",
    choices=("span", "bio"),
  )
  no_span: str = option(
    "no_answer",
    "Answer to a question without any possible span: no answer, or as in "
    "run_squad the text 'empty' and with --version_2_with_negative an error.",
    choices=("no_answer", "original"),
  )


def shared_flag(name):
  """Returns the flag of a field of `_SharedOptions`."""
  (holder,) = OptionFlags(_SharedOptions, [name])
  return holder


def model_flag(note=""):
  """Returns --model; `note` ends its help."""
  return flags.DEFINE_string(
    "model",
    None,
    "Model directory that run_squad or save_to_preset wrote; minilm_squad, the "
    "model that comes with the package; or a Hugging Face directory of a BERT "
    f"with a question-answering head{note}.",
  )


def vocabulary_flags():
  """Returns --vocab_file and --do_lower_case."""
  names = ("vocab_file", "do_lower_case")
  return OptionFlags(EncoderSource, names, do_lower_case=True)


def verify_flag():
  """Returns --verify."""
  (holder,) = OptionFlags(EncoderSource, ["verify"])
  return holder


def version_2_flag():
  """Returns --version_2_with_negative."""
  (holder,) = OptionFlags(DecoderOptions, ["version_2_with_negative"])
  return holder


def check_no_span(head):
  """Checks that --no_span=original is for a head that run_squad has."""
  check(
    head.scores_ends or shared_flag("no_span").value == "no_answer",
    "--no_span=original is for --head=span only. Leave it out.",
  )


def step_flags():
  """Returns the flags of `StepOptions`."""
  return OptionFlags(StepOptions, max_wordpieces_per_step=1024)


def answer_flags():
  """Returns all flags that an exported model fixes: windows, decoding, head."""
  return [
    *OptionFlags(WindowOptions),
    *OptionFlags(DecoderOptions),
    *OptionFlags(BioDecoderOptions),
    shared_flag("head"),
  ]


class AnswerOptions(NamedTuple):
  """What a model and the flags say about its answers."""

  head: Any  # AnswerHead
  windows: WindowOptions
  decoder: Any  # options of the head


def answer_options(saved):
  """Returns `AnswerOptions`.

  Args:
    saved: dict of the model's span_config.json, which has the options that are
      not on the command line; None takes the defaults of the flags.
  """
  head = _head_of_model(saved)
  decoder = decoder_options(saved, head)
  return AnswerOptions(head, window_options(saved), decoder)


def window_options(saved=None):
  """Returns `WindowOptions`; for `saved` see `answer_options`."""
  return OptionFlags(WindowOptions).options((saved or {}).get("window"))


def decoder_options(saved, head):
  """Returns the decoding options of a head, see `answer_options`."""
  saved_options = (saved or {}).get("decoder")
  return OptionFlags(head.options_type).options(saved_options)


def _head_of_model(saved):
  """Returns the head of a model, which --head must not contradict."""
  holder = shared_flag("head")
  if saved is None:
    return answer_head(holder.value)
  check(
    not holder.present or holder.value == saved["head"],
    f"--head={holder.value}: the model has a {saved['head']} head. Leave the "
    "flag out.",
  )
  return answer_head(saved["head"])


def saved_config(*models):
  """Returns the dict of the span_config.json of a model, or None.

  Args:
    *models: directories or names of models, or None; the first that has the
      file counts.
  """
  from bert_span.presets.span_config import read_span_config

  configs = (read_span_config(model) for model in models if model)
  return next(filter(None, configs), None)


def saved_config_or_tflite(model):
  """Returns the same for a model or a .tflite file."""
  from bert_span.tflite import file as tflite_file

  if tflite_file.is_tflite(model):
    return tflite_file.read_span_config(model)
  return saved_config(model)


def answer_head(name):
  """Returns the `AnswerHead` of a name."""
  from bert_span.heads import find_head

  return find_head(name)


def check_decoder_flags(head):
  """Checks that no decoding flag of another head is given."""
  from bert_span.heads import HEADS

  own = {holder.name for holder in OptionFlags(head.options_type)}
  for other in HEADS:
    for holder in OptionFlags(other.options_type):
      check(
        holder.name in own or not holder.present,
        f"--{holder.name} is for a {other.name} head, and the model has a "
        f"{head.name} head. Leave the flag out.",
      )


def check_n_best(holder, decoder_options):
  """Checks that a flag asks for no more answers than the decoder keeps."""
  kept = getattr(decoder_options, "n_best_size", None)
  check(
    kept is None or not holder.present or holder.value <= kept,
    f"--{holder.name}={holder.value} is more than the {kept} answers that are "
    "kept. Raise --n_best_size.",
  )
