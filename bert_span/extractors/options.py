"""What programs that answer with a model share; TensorFlow is not needed."""

import dataclasses

from bert_span.answers.decoding.options import BioDecoderOptions, DecoderOptions
from bert_span.options.fields import REQUIRED, CheckedOptions, changed, option
from bert_span.presets.encoder_source import EncoderSource
from bert_span.text.options import WindowOptions

# What names a trained model; programs that take more add it.
MODELS = (
  "Model directory that run_squad or save_to_preset wrote; minilm_squad, the "
  "model that comes with the package; a Hugging Face directory with a "
  "question-answering head; or a name of one of these on a hub, "
  "hf://owner/name or hf://owner/name@revision"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class HeadOptions(CheckedOptions):
  """Which head a model has."""

  head: str = option(
    "span",
    "Head of the model: span scores starts and ends; bio tags every token B, I "
    "or O, for answers of several spans. A model directory knows its head.",
    choices=("span", "bio"),
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnswerOptions(
  WindowOptions, DecoderOptions, BioDecoderOptions, HeadOptions
):
  """Windows, answers and head; those of a model, unless they are given."""

  def __post_init__(self):
    # The relations of windows concern what the model has saved, too: they are
    # checked when both are known.
    super(WindowOptions, self).__post_init__()


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelOptions(AnswerOptions):
  """A trained model, and in what its answers differ from what it has saved."""

  model: str = option(
    REQUIRED,
    f"{MODELS}.",
    is_input=True,
  )
  verify: bool = changed(EncoderSource, "verify")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrecisionOptions(CheckedOptions):
  """In which precision a model answers."""

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
  """How long the windows are that a model reads."""

  fixed_length: bool = option(
    False,
    "Whether every window is padded to max_seq_length, as in run_squad.",
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchOptions(CheckedOptions):
  """How many windows a model reads."""

  predict_batch_size: int = option(
    8,
    "Most windows that the model reads at once; a processor reads at most "
    "1,024 WordPieces at once, a GPU 16,384.",
    minimum=1,
  )
