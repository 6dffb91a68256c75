"""Options of programs that answer with a model; they need no TensorFlow."""

import dataclasses

from bert_span.answers.decoding.options import BioDecoderOptions, DecoderOptions
from bert_span.options.fields import REQUIRED, CheckedOptions, changed, option
from bert_span.presets.encoder_source import EncoderSource
from bert_span.text.options import WindowOptions

# The names of a trained model; programs that take other models, too, add them.
MODELS = (
  "Model directory that run_squad or save_to_preset wrote; minilm_squad, the "
  "model that comes with the package; a Hugging Face directory with a "
  "question-answering head; or a name of one of these on a hub, "
  "hf://owner/name or hf://owner/name@revision"
)

# The heads of this package; the class of each is in HEAD_extractor.py.
HEADS = "span", "bio"


@dataclasses.dataclass(frozen=True, kw_only=True)
class HeadOptions(CheckedOptions):
  """The head of a model."""

  head: str = option(
    "span",
    "Head of the model: span scores starts and ends; bio tags every token B, I "
    "or O, for answers of several spans. A model directory knows its head.",
    choices=HEADS,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnswerOptions(
  WindowOptions, DecoderOptions, BioDecoderOptions, HeadOptions
):
  """Options of windows, decoding and head; by default those of the model."""

  def __post_init__(self):
    # Not the checks of `WindowOptions`: they need the saved options, too, and
    # come later.
    super(WindowOptions, self).__post_init__()


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelOptions(AnswerOptions):
  """A trained model, and options that replace its saved ones."""

  model: str = option(
    REQUIRED,
    f"{MODELS}.",
    is_input=True,
  )
  verify: bool = changed(EncoderSource, "verify")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrecisionOptions(CheckedOptions):
  """The precision in which a model answers."""

  dtype: str = option(
    "float32",
    "Precision of the encoder's weights and matrix products; softmax and head "
    "stay float32. auto is bfloat16 where this machine is faster with it: a "
    "processor that takes less than 0.8 of float32's time for a product, "
    "NVIDIA's GPUs since A100, TPUs; otherwise float32.",
    choices=("float32", "bfloat16", "float16", "auto"),
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class LengthOptions(CheckedOptions):
  """The length of the windows that a model reads."""

  fixed_length: bool = option(
    False,
    "Whether every window is padded to max_seq_length, as in run_squad.",
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchOptions(CheckedOptions):
  """The number of windows that a model reads at once."""

  predict_batch_size: int = option(
    8,
    "Most windows that the model reads at once; a processor reads at most "
    "1,024 WordPieces at once, a GPU 16,384.",
    minimum=1,
  )
