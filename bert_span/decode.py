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
from bert_span.cli.tensorflow_import import import_tensorflow

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
_PREDICT_FILE = model_flags.shared_flag("predict_file")
_OUTPUT_DIR = model_flags.shared_flag("output_dir")
_VOCABULARY = model_flags.vocabulary_flags()
_NO_SPAN = model_flags.shared_flag("no_span")
model_flags.answer_flags()


def main(argv):
  """Checks the flags and decodes the logits."""
  logits_files = [
    path.strip()
    for value in _LOGITS_FILE.value or []
    for path in value.split(",")
    if path.strip()
  ]
  program.require(_PREDICT_FILE, _OUTPUT_DIR)
  program.check(logits_files, "--logits_file is required.")
  program.require_one(_MODEL, _VOCABULARY.vocab_file)
  if _MODEL.value:
    program.forbid([_VOCABULARY.do_lower_case], "belongs to --vocab_file")
  import_tensorflow()
  saved = model_flags.saved_config(_MODEL.value)
  program.check(
    saved or not _MODEL.value,
    f"--model={_MODEL.value} is not a model directory of bert_span: it has no "
    "span_config.json. Give --vocab_file instead, and the window flags with "
    "which the logits were saved.",
  )
  options = model_flags.answer_options(saved)
  model_flags.check_no_span(options.head)
  lower_case = _VOCABULARY.do_lower_case.value
  from bert_span.jobs import logits_decoding

  logits_decoding.decode_logits(
    _PREDICT_FILE.value,
    logits_files,
    _OUTPUT_DIR.value,
    options.decoder,
    options.head,
    model=_MODEL.value,
    vocab_file=_VOCABULARY.vocab_file.value,
    do_lower_case=saved["do_lower_case"] if saved else lower_case,
    window_options=options.windows,
    no_span=_NO_SPAN.value,
  )


run = program.entry_point(main)

if __name__ == "__main__":
  run()
