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

from absl import flags

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.cli import model_flags, program, training_flags
from bert_span.cli.option_flags import define_flags, read_flags
from bert_span.fine_tuning.options import FineTuningOptions
from bert_span.text.options import WindowOptions

_PAD_RECORDS = flags.DEFINE_bool(
  "pad_records",
  False,
  "Whether every record is padded to --max_seq_length, as in run_squad.",
)
_TRAIN_FILE, _DATASET, _ = training_flags.define_data_flags()
_OUTPUT_DIR, _NUM_SHARDS, _ = model_flags.define_shared_flags(
  "output_dir", "num_shards", "head"
)
(_VERSION_2,) = define_flags(DecoderOptions, "version_2_with_negative")
_LABELS = define_flags(
  FineTuningOptions, "annotator_labels", "drop_answerless_windows"
)
_MODEL = training_flags.define_encoder_flags()
define_flags(WindowOptions)


@program.entry_point
def run(argv):
  program.require(_OUTPUT_DIR)
  program.require_one(_TRAIN_FILE, _DATASET)
  if not (_MODEL.preset.value or _MODEL.vocab_file.value):
    raise ValueError("Give --vocab_file, or --preset of the model to train.")
  training_flags.check_encoder_flags(needs_model=False)
  program.import_tensorflow()
  from bert_span.jobs import create_squad_records

  create_squad_records.write_squad_records(
    _TRAIN_FILE.value,
    training_flags.dataset_split("train"),
    output_dir=_OUTPUT_DIR.value,
    source=training_flags.encoder_source(),
    window_options=read_flags(WindowOptions),
    version_2_with_negative=_VERSION_2.value,
    preprocessor_class=model_flags.find_extractor_class().preprocessor_class,
    annotator_labels=_LABELS.annotator_labels.value,
    drop_answerless_windows=_LABELS.drop_answerless_windows.value,
    num_shards=_NUM_SHARDS.value,
    pad_records=_PAD_RECORDS.value,
  )


if __name__ == "__main__":
  run()
