r"""Writes prediction files from saved logits, without running a model.

  python -m bert_span.run_squad ... --do_predict --write_logits
  python -m bert_span.decode --predict_file=dev.json --model=OUTPUT/model \
    --logits_file=OUTPUT/logits.npz --null_score_diff_threshold=-2.5 \
    --output_dir=/tmp/other_threshold

Several logits files, of models with the same windows, make an ensemble: the
logits of a window are averaged. The files written are run_squad's.
"""

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.tensorflow_import import import_tensorflow

_LOGITS_FILE = flags.DEFINE_multi_string(
  "logits_file",
  None,
  "The .npz that run_squad --write_logits saved; several, separated by commas "
  "or with the flag repeated, are averaged.",
)
_MODEL = flags.DEFINE_string(
  "model",
  None,
  "Model directory, or minilm_squad, that gives the vocabulary, and the window "
  "and decoding flags that the command line does not; instead of --vocab_file.",
)
_PREDICT_FILE = model_flags.predict_file_flag()
_OUTPUT_DIR = model_flags.output_dir_flag()
_VOCABULARY = model_flags.vocabulary_flags()
model_flags.head_flag()
_NO_SPAN = model_flags.no_span_flag()
model_flags.window_flags()
model_flags.decoder_flags()
model_flags.bio_decoder_flags()


def main(argv):
  """Checks the flags and decodes the logits."""
  program.refuse_arguments(argv)
  _check_flags()
  # Seconds: only once the flags are known to be right.
  import_tensorflow()
  saved = model_flags.saved_config(_MODEL.value)
  program.check(
    saved or not _MODEL.value,
    f"--model={_MODEL.value} is no model directory of bert_span: it has no "
    "span_config.json. Give --vocab_file instead, and the window flags that "
    "the logits were saved with.",
  )
  head = model_flags.head_of_model(saved)
  model_flags.check_no_span(head)
  lower_case = _VOCABULARY.do_lower_case.value
  from bert_span.jobs import logits_decoding

  logits_decoding.decode_logits(
    _PREDICT_FILE.value,
    _logits_files(),
    _OUTPUT_DIR.value,
    model_flags.decoder_options(saved, head),
    head,
    model=_MODEL.value,
    vocab_file=_VOCABULARY.vocab_file.value,
    do_lower_case=saved["do_lower_case"] if saved else lower_case,
    window_options=model_flags.window_options(saved),
    no_span=_NO_SPAN.value,
  )


def run():
  """Entry point of the installed command."""
  program.run_program(main)


def _check_flags():
  check = program.check
  check(_PREDICT_FILE.value, "--predict_file is required.")
  check(
    _logits_files(),
    "--logits_file is required: the logits.npz of run_squad --write_logits.",
  )
  check(_OUTPUT_DIR.value, "--output_dir is required.")
  check(
    bool(_MODEL.value) != bool(_VOCABULARY.vocab_file.value),
    "Give either --model or --vocab_file: the vocabulary of the windows.",
  )
  check(
    not (_MODEL.value and _VOCABULARY.do_lower_case.present),
    "--do_lower_case belongs to --vocab_file; --model knows it. Leave it out.",
  )


def _logits_files():
  return [
    path.strip()
    for value in _LOGITS_FILE.value or []
    for path in value.split(",")
    if path.strip()
  ]


if __name__ == "__main__":
  run()
