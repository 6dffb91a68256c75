r"""Fine-tunes BERT on SQuAD, answers its questions and scores the answers.

A command line of the original run_squad.py runs unchanged:

  python -m bert_span.run_squad \
    --vocab_file=$BERT/vocab.txt --bert_config_file=$BERT/bert_config.json \
    --init_checkpoint=$BERT/bert_model.ckpt --do_train=true \
    --train_file=train-v1.1.json --do_predict=true \
    --predict_file=dev-v1.1.json --output_dir=/tmp/squad

--preset replaces the three files of a checkpoint by a KerasHub preset, a
Hugging Face directory or a model of this package.
"""

import dataclasses

from bert_span.answers.decoding.options import BioDecoderOptions, DecoderOptions
from bert_span.answers.options import PREDICTION_FILES, PredictionOptions
from bert_span.cli.program import program
from bert_span.extractors.options import BatchOptions, HeadOptions
from bert_span.options.fields import changed, option
from bert_span.squad.options import QuestionsOptions
from bert_span.storage.options import FileOptions, OutputFolder
from bert_span.text.options import WindowOptions
from bert_span.training.fine_tuning_options import FineTuningOptions
from bert_span.training.options import TRAINING_FILES, RunOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunSquadOptions(
  RunOptions,
  FineTuningOptions,
  WindowOptions,
  DecoderOptions,
  BioDecoderOptions,
  HeadOptions,
  BatchOptions,
  PredictionOptions,
  FileOptions,
):
  """The options of `bert_span.jobs.run_squad.run_squad`."""

  do_predict: bool = option(
    False, "Whether to answer the questions of predict_file."
  )
  do_eval: bool = option(
    False,
    "Whether to score predictions.json of output_dir by the official metrics.",
  )
  train_file: str | None = option(
    None,
    "SQuAD file (JSON, Parquet) to train on.",
    is_input=True,
    conflicts=("dataset",),
  )
  predict_file: str | None = changed(
    QuestionsOptions, "predict_file", default=None, conflicts=("dataset",)
  )
  dataset: str | None = option(
    None,
    "TensorFlow Datasets name, instead of files of questions.",
    choices=("squad/v1.1", "squad/v2.0"),
  )
  data_dir: str | None = option(
    None, "Folder of TensorFlow Datasets, for `dataset`."
  )
  output_dir: str = changed(
    OutputFolder,
    "output_dir",
    writes={
      "do_train": (*TRAINING_FILES, "soft_labels.safetensors"),
      "do_predict": (*PREDICTION_FILES, "logits.npz"),
      "do_eval": ("eval_results.json",),
    },
  )
  best_metric: str = option(
    "f1",
    "With eval_steps: the metric on predict_file that chooses the checkpoint "
    "to keep; the last two, of all spans of an answer, are for head=bio.",
    choices=("f1", "exact_match", "exact_match_f1", "overlap_f1"),
  )
  teacher: tuple[str, ...] = option(
    (),
    "Model directories, or names of models, separated by commas, whose outputs "
    "are learned in addition to the labels (distillation), averaged. "
    "They need the same vocabulary, case, windows and head. Questions with "
    "neither an answer nor is_impossible are used, too.",
    is_input=True,
  )
  span_head_bias: bool = option(
    True, "Whether logits have a bias, as in run_squad; the paper has none."
  )
  verbose_logging: bool = option(
    False,
    "Whether to name every place of a data problem instead of the first three.",
  )
  disagreement_questions: int = option(
    20,
    "With head=bio: number of questions in disagreement.json, those on which "
    "the annotators differ most.",
    minimum=0,
  )
  write_logits: bool = option(
    False, "Whether to write logits.npz to output_dir, for bert_span.decode."
  )

  def __post_init__(self):
    if self.is_tpu and not self.is_given("length_bucket"):
      object.__setattr__(self, "length_bucket", None)
    super().__post_init__()
    if self.is_tpu and self.length_bucket:
      raise ValueError(
        f"length_bucket={self.length_bucket}: a TPU compiles every length "
        "anew. Give none, or leave it out."
      )
    needs_questions = self.do_predict or self.do_eval
    if not (self.do_train or needs_questions):
      raise ValueError("Give do_train, do_predict or do_eval.")
    if self.do_train and not (self.train_file or self.dataset):
      raise ValueError("do_train needs train_file or `dataset`.")
    has_questions = self.predict_file or self.dataset
    if needs_questions and not has_questions:
      raise ValueError("do_predict and do_eval need predict_file or `dataset`.")
    if self.eval_steps and not has_questions:
      raise ValueError("eval_steps needs predict_file or `dataset`.")
    if self.do_train:
      self.check_model()
      if not (self.learning_rate and self.num_train_epochs):
        raise ValueError(
          "do_train needs learning_rate and num_train_epochs above 0."
        )


run = program(RunSquadOptions, "bert_span.jobs.run_squad:run_squad")

if __name__ == "__main__":
  run()
