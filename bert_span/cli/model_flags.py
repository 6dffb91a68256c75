"""Flags of models and their answers that several programs share.

A flag is defined when a program asks for it.
"""

import dataclasses
import os

from absl import flags

from bert_span.answers.decoding.options import BioDecoderOptions, DecoderOptions
from bert_span.cli.option_flags import define_flags, flags_of, read_flags
from bert_span.cli.program import forbid, import_tensorflow
from bert_span.options.fields import option, options_from_json
from bert_span.presets.encoder_source import EncoderSource
from bert_span.text.options import WindowOptions

flags.disclaim_key_flags()


@dataclasses.dataclass(frozen=True)
class _SharedOptions:
  predict_file: str | None = option(
    None, "SQuAD file (JSON, Parquet) of the questions to answer or to score."
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
  num_shards: int = option(
    8,
    "Number of record files; a worker of Beam writes one at a time.",
    minimum=1,
    maximum=99_999,
  )
  fixed_length: bool = option(
    False,
    "Whether every window is padded to --max_seq_length, as in run_squad.",
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


def define_shared_flags(*names):
  """Defines some of the flags above; returns their FlagHolders in order."""
  return define_flags(_SharedOptions, *names)


def define_model_flag(note=""):
  """Defines --model; `note` ends its help."""
  return flags.DEFINE_string(
    "model",
    None,
    "Model directory that run_squad or save_to_preset wrote; minilm_squad, the "
    "model that comes with the package; a Hugging Face directory with a "
    "question-answering head; or a name of one of these on a hub, "
    f"hf://owner/name or hf://owner/name@revision{note}.",
  )


def define_verify_flag():
  """Defines --verify."""
  return define_flags(EncoderSource, "verify")[0]


def define_dtype_flag():
  """Defines --dtype."""
  return flags.DEFINE_enum(
    "dtype",
    "float32",
    ["float32", "bfloat16", "float16", "auto"],
    "Precision of the encoder's weights and matrix products; softmax and head "
    "stay float32. auto is bfloat16 where this machine is faster with it: a "
    "processor that takes less than 0.8 of float32's time for a product, "
    "NVIDIA's GPUs since A100, TPUs; otherwise float32.",
  )


def define_vocabulary_flags():
  """Defines --vocab_file and --do_lower_case."""
  names = "vocab_file", "do_lower_case"
  return define_flags(EncoderSource, *names, do_lower_case=True)


def define_answer_flags():
  """Defines what an exported model fixes: windows, decoding and head."""
  kinds = (WindowOptions, DecoderOptions, BioDecoderOptions)
  return [
    *(holder for kind in kinds for holder in define_flags(kind)),
    *define_shared_flags("head"),
  ]


def define_extractor_flags():
  """Defines the flags of `extractor_options`."""
  return [*define_answer_flags(), define_verify_flag()]


def extractor_options(model):
  """Returns arguments of `SpanExtractor.from_preset`; imports TensorFlow."""
  import_tensorflow()
  from bert_span.tflite import file as tflite_file

  if tflite_file.is_tflite(model):
    saved = tflite_file.read_span_config(model)
    _check_decoder(saved, f"{model}, span_config.json")
  else:
    saved = saved_config(model)
  kind = find_extractor_class(saved)
  forbid_flags_of_other_heads(kind)
  return {
    "window_options": read_flags(WindowOptions, saved.get("window")),
    "decoder_options": decoder_options(saved, kind),
    "verify": flags.FLAGS.verify,
  }


def forbid_flags_of_other_heads(kind):
  """Checks that no flag is given that only another head's decoder has."""
  for name, holders in flags_of_other_heads(kind).items():
    which = f"is for a {name} head, and the model has a {kind.head_name} head"
    forbid(holders, which)


def flags_of_other_heads(kind):
  """Dict of the names of heads to the flags of their decoders alone."""
  from bert_span.extractors.extractor import extractor_classes

  allowed = {flag.name for flag in flags_of(kind.decoder_class.options_type)}
  return {
    name: [
      flag
      for flag in flags_of(other.decoder_class.options_type)
      if flag.name not in allowed
    ]
    for name, other in extractor_classes().items()
  }


def decoder_options(saved, kind):
  """Returns the options of an `Extractor` class; `saved` replaces defaults."""
  return read_flags(kind.decoder_class.options_type, saved.get("decoder"))


def find_extractor_class(saved=None):
  """Returns the `Extractor` class of a model, of --head for a new one."""
  from bert_span.extractors.extractor import extractor_class

  flag = flags.FLAGS["head"]
  name = saved["head"] if saved else flag.value
  if flag.present and flag.value != name:
    raise ValueError(
      f"--head={flag.value}: the model has a {name} head. Omit the flag."
    )
  return extractor_class(name)


def saved_config(*models):
  """Returns the dict of the first `read_span_config` of some models, or {}."""
  from bert_span.presets.span_config import TASK_FILE, read_span_config

  for model in filter(None, models):
    if config := read_span_config(model):
      _check_decoder(config, os.path.join(model, TASK_FILE))
      return config
  return {}


def _check_decoder(config, path):
  """Refuses a model whose decoder options are not those of its head."""
  from bert_span.extractors.extractor import extractor_class

  kind = extractor_class(config["head"], path).decoder_class.options_type
  options_from_json(kind, config["decoder"], f"{path}, decoder")


def check_no_span(kind):
  """Checks that --no_span=original is for a head that run_squad has."""
  value = flags.FLAGS.no_span
  if value == "original" and kind.columns.entries == "spans":
    raise ValueError(f"--no_span={value} is for --head=span. Omit the flag.")


def check_n_best(holder, decoder_options):
  """Checks that a flag asks for no more answers than the decoder keeps."""
  kept = getattr(decoder_options, "n_best_size", holder.value)
  if holder.present and holder.value > kept:
    raise ValueError(
      f"--{holder.name}={holder.value} is above --n_best_size={kept}: raise it."
    )
