r"""Serves a model on this machine, with a page to ask it.

  python -m bert_span.serve --model=minilm_squad
  python -m bert_span.serve --web --tflite=qa.tflite

The first command speaks TensorFlow Serving's REST (/v1/models/NAME:predict,
metadata, status) and shows the demo page at http://127.0.0.1:8501/. The second
shows a page that runs a .tflite file in the browser; the server only gives out
the files. Both are for trying out: production wants TensorFlow Serving.
"""

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import OptionFlags
from bert_span.cli.tensorflow_import import import_tensorflow
from bert_span.serving.options import ServerOptions

_MODEL = model_flags.model_flag()
_WEB = flags.DEFINE_bool(
  "web", False, "Whether to run --tflite in the browser instead of --model."
)
_TFLITE = flags.DEFINE_string(
  "tflite", None, "File of export_tflite, of a fixed length, for --web."
)
_LITERT = flags.DEFINE_string(
  "litert",
  "node_modules/@litertjs",
  "Folder of LiteRT.js, which npm install @litertjs/core makes, for --web.",
)
_SERVER = OptionFlags(ServerOptions)
_VERIFY = model_flags.verify_flag()
model_flags.answer_flags()


def main(argv):
  """Loads the model and serves it until it is stopped."""
  program.require_one(_MODEL, _WEB)
  program.check_extra("serve", "starlette", "uvicorn")
  server = _SERVER.options()
  windows = decoder = None
  if _WEB.value:
    program.require(_TFLITE)
  else:
    program.forbid([_TFLITE, _LITERT], "is for --web")
  import_tensorflow()
  if not _WEB.value:
    options = model_flags.answer_options(model_flags.saved_config(_MODEL.value))
    model_flags.check_decoder_flags(options.head)
    windows, decoder = options.windows, options.decoder
  from bert_span.jobs import local_serving

  if _WEB.value:
    local_serving.serve_file(_TFLITE.value, _LITERT.value, server)
  else:
    local_serving.serve_model(
      _MODEL.value,
      server,
      window_options=windows,
      decoder_options=decoder,
      verify=_VERIFY.value,
    )


run = program.entry_point(main, log_level="3")

if __name__ == "__main__":
  run()
