r"""Writes prediction files from saved logits, without running a model.

  python -m bert_span.run_squad ... --do_predict --write_logits
  python -m bert_span.decode --predict_file=dev.json --model=OUTPUT/model \
    --logits_file=OUTPUT/logits.npz --null_score_diff_threshold=-2.5 \
    --output_dir=/tmp/other_threshold

Several logits files, of models with the same windows, make an ensemble: the
logits of a window are averaged. The files written are those of run_squad.
"""

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import read_flags
from bert_span.text.options import WindowOptions

_LOGITS_FILE = flags.DEFINE_multi_string(
  "logits_file",
  None,
  "File logits.npz of run_squad --write_logits; several, separated by commas "
  "or with the flag repeated, are averaged.",
)
_MODEL = flags.DEFINE_string(
  "model",
  None,
  "Model directory, or minilm_squad, with the vocabulary and with the options "
  "that are not on the command line; instead of --vocab_file.",
)
_PREDICT_FILE, _OUTPUT_DIR, _NO_SPAN = model_flags.define_shared_flags(
  "predict_file", "output_dir", "no_span"
)
_VOCAB_FILE, _DO_LOWER_CASE = model_flags.define_vocabulary_flags()
model_flags.define_answer_flags()


@program.entry_point
def run(argv):
  paths = ",".join(_LOGITS_FILE.value or []).split(",")
  logits_files = [path.strip() for path in paths if path.strip()]
  program.require(_PREDICT_FILE, _OUTPUT_DIR)
  program.check(logits_files, "--logits_file is required.")
  program.require_one(_MODEL, _VOCAB_FILE)
  if _MODEL.value:
    program.forbid([_DO_LOWER_CASE], "belongs to --vocab_file")
  program.import_tensorflow()
  saved = model_flags.saved_config(_MODEL.value)
  if _MODEL.value and not saved:
    raise ValueError(
      f"--model={_MODEL.value} has no task.json. Give --vocab_file "
      "instead, and the window flags with which the logits were saved."
    )
  kind = model_flags.find_extractor_class(saved)
  model_flags.check_no_span(kind)
  model_flags.forbid_flags_of_other_heads(kind)
  from bert_span.jobs import decode

  decode.decode_logits(
    _PREDICT_FILE.value,
    logits_files,
    _OUTPUT_DIR.value,
    decoder_options=model_flags.decoder_options(saved, kind),
    extractor_class=kind,
    model=_MODEL.value,
    vocab_file=_VOCAB_FILE.value,
    do_lower_case=saved.get("do_lower_case", _DO_LOWER_CASE.value),
    window_options=read_flags(WindowOptions, saved.get("window")),
    no_span=_NO_SPAN.value,
  )


if __name__ == "__main__":
  run()
