r"""Writes prediction files from saved logits, without running a model.

  python -m bert_span.run_squad ... --do_predict --write_logits
  python -m bert_span.decode --predict_file=dev.json --model=OUTPUT/model \
    --logits_file=OUTPUT/logits.npz --null_score_diff_threshold=-2.5 \
    --output_dir=/tmp/other_threshold

Several logits files, of models with the same windows, make an ensemble: the
logits of a window are averaged. The files written are those of run_squad.
"""

import dataclasses
import os

from bert_span.answers.options import PREDICTION_FILES, PredictionOptions
from bert_span.cli.program import program
from bert_span.extractors.options import AnswerOptions
from bert_span.options.fields import REQUIRED, changed, option
from bert_span.presets.encoder_source import EncoderSource
from bert_span.squad.options import QuestionsOptions
from bert_span.storage.options import FileOptions, OutputFolder


@dataclasses.dataclass(frozen=True, kw_only=True)
class DecodeOptions(
  QuestionsOptions, AnswerOptions, PredictionOptions, FileOptions
):
  """The options of `bert_span.jobs.decode.decode`."""

  logits_file: tuple[str, ...] = option(
    REQUIRED,
    "File logits.npz of run_squad --write_logits; several, separated by commas "
    "or with the flag repeated, are averaged.",
    is_input=True,
    repeated=True,
  )
  output_dir: str = changed(
    OutputFolder, "output_dir", writes={None: PREDICTION_FILES}
  )
  model: str | None = option(
    None,
    "Model directory, or minilm_squad, which has the vocabulary and the "
    "options that are not given; instead of vocab_file.",
    is_input=True,
    conflicts=("vocab_file", "do_lower_case"),
  )
  vocab_file: str | None = changed(EncoderSource, "vocab_file")
  do_lower_case: bool | None = changed(EncoderSource, "do_lower_case")

  def __post_init__(self):
    paths = ",".join(map(os.fspath, self.logits_file or ())).split(",")
    paths = tuple(path.strip() for path in paths if path.strip())
    object.__setattr__(self, "logits_file", paths)
    super().__post_init__()
    if not self.model and not self.vocab_file:
      raise ValueError("Give either `model` or `vocab_file`.")


run = program(DecodeOptions, "bert_span.jobs.decode:decode")

if __name__ == "__main__":
  run()
