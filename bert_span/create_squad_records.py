r"""Writes the labelled windows of a SQuAD file as TFRecords.

  python -m bert_span.create_squad_records --train_file=train-v1.1.json \
    --vocab_file=$BERT/vocab.txt --output_dir=gs://bucket/squad-384
  python -m bert_span.run_squad --do_train \
    --train_records=gs://bucket/squad-384 ...

Training on records gives the same batches and the same weights as training on
the file, without the time for tokens and windows. The flags on windows are
those of run_squad, which refuses records made with other flags, another
vocabulary or another file.

With --pad_records, programs that read the original's train.tf_record read them.
"""

from bert_span.cli import model_flags, program, training_flags
from bert_span.cli.option_flags import OptionFlags
from bert_span.fine_tuning.options import FineTuningOptions
from bert_span.options.fields import option
from bert_span.text.options import WindowOptions


class _Options:
  pad_records: bool = option(
    False,
    "Whether every record is padded to --max_seq_length, as in run_squad.",
  )


_OPTIONS = OptionFlags(_Options)
_DATA = training_flags.data_flags()
_SHARED = model_flags.shared_flags(
  "output_dir", "num_shards", "version_2_with_negative"
)
_LABELS = OptionFlags(
  FineTuningOptions, ["annotator_labels", "drop_answerless_windows"]
)
_MODEL = training_flags.encoder_flags()
model_flags.shared_flags("head")
OptionFlags(WindowOptions)


@program.entry_point
def run(argv):
  program.require(_SHARED.output_dir)
  program.require_one(_DATA.train_file, _DATA.dataset)
  if not (_MODEL.preset.value or _MODEL.vocab_file.value):
    raise ValueError("Give --vocab_file, or --preset of the model to train.")
  training_flags.check_encoder_flags(needs_model=False)
  program.import_tensorflow()
  from bert_span.jobs import create_squad_records

  create_squad_records.write_squad_records(
    _DATA.train_file.value,
    training_flags.dataset_split("train"),
    source=training_flags.encoder_source(),
    window_options=model_flags.window_options(),
    preprocessor_class=model_flags.find_extractor_class().preprocessor_class,
    **_SHARED.values(),
    **_LABELS.values(),
    **_OPTIONS.values(),
  )


if __name__ == "__main__":
  run()
