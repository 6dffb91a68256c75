r"""Pre-trains BERT on text with span masking and the span boundary objective.

  python -m bert_span.run_pretraining --do_train --input_file='wiki/*.txt.gz' \
    --bert_config_file=$BERT/bert_config.json --vocab_file=$BERT/vocab.txt \
    [--init_checkpoint=$BERT/bert_model.ckpt] --max_seq_length=512 \
    --do_eval --eval_file=held_out.txt --output_dir=/tmp/pretrained

The model in output_dir/model is a --preset of bert_span.run_squad. Files that
end in .tfrecord are read as records of bert_span.create_pretraining_data.
"""

import dataclasses

from bert_span.cli.program import program
from bert_span.options.fields import changed, option
from bert_span.pretraining.options import (
  PretrainingOptions,
  SequenceOptions,
  TextLocation,
  check_text_location,
)
from bert_span.storage.options import FileOptions, OutputFolder
from bert_span.training.options import TRAINING_FILES, RunOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunPretrainingOptions(
  RunOptions, SequenceOptions, PretrainingOptions, TextLocation, FileOptions
):
  """The options of `bert_span.jobs.run_pretraining.run_pretraining`."""

  do_eval: bool = option(False, "Whether to score the model on held-out text.")
  do_export: bool = option(
    True,
    "Whether to write a trained model also as a TensorFlow 1 checkpoint and as "
    "a Hugging Face directory.",
  )
  eval_steps: int | None = changed(
    RunOptions, "eval_steps", needs=("do_train", "eval_file")
  )
  eval_file: str | None = option(
    None,
    "Held-out text for do_eval and eval_steps, in the format of input_file; "
    "without do_train the default is input_file.",
    is_input=True,
  )
  eval_batch_size: int = option(
    8, "Sequences that are scored at once.", minimum=1
  )
  max_eval_steps: int = option(
    100, "Most batches of held-out text to score.", minimum=1
  )
  best_metric: str | None = option(
    None,
    "With eval_steps: the metric on eval_file that chooses the checkpoint to "
    "keep; by default the last one is kept.",
    choices=("mlm_loss", "mlm_accuracy", "sbo_loss", "sbo_accuracy"),
  )
  output_dir: str = changed(
    OutputFolder,
    "output_dir",
    writes={
      "do_train": (
        *TRAINING_FILES,
        *("data_places.jsonl", "tf1/", "huggingface/"),
      ),
      "do_eval": ("eval_results.json",),
    },
  )

  def __post_init__(self):
    super().__post_init__()
    if not (self.do_train or self.do_eval):
      raise ValueError("Give do_train or do_eval.")
    if self.do_train or not self.eval_file:
      check_text_location(self)
    if self.do_train:
      self.check_model()
      if not self.learning_rate:
        raise ValueError("do_train needs learning_rate above 0.")
      if self.do_eval and not self.eval_file:
        raise ValueError("do_eval with do_train needs eval_file.")
    if (self.best_metric or "").startswith("sbo") and not self.span_boundary:
      raise ValueError(
        f"best_metric={self.best_metric} is not trained with "
        "span_boundary=False. Leave one out."
      )


run = program(
  RunPretrainingOptions, "bert_span.jobs.run_pretraining:run_pretraining"
)

if __name__ == "__main__":
  run()
