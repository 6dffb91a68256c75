r"""Serves a model on this machine, with a page to ask it.

  python -m bert_span.serve --model=minilm_squad
  python -m bert_span.serve --web --tflite=qa.tflite

The first command speaks TensorFlow Serving's REST (/v1/models/NAME:predict and
status) and shows the demo page at http://127.0.0.1:8501/. The second shows a
page that runs a .tflite file in the browser; the server only gives out the
files. Both are for trying out: production wants TensorFlow Serving.
"""

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import define_flags, read_flags
from bert_span.serving.options import ServerOptions

_MODEL = model_flags.define_model_flag()
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
define_flags(ServerOptions)
_DTYPE = model_flags.define_dtype_flag()
model_flags.define_extractor_flags()


@program.entry_point(log_level="3")
def run(argv):
  program.require_one(_MODEL, _WEB)
  program.check_extra("serve", "starlette", "uvicorn")
  server = read_flags(ServerOptions)
  if _WEB.value:
    program.require(_TFLITE)
  else:
    program.forbid([_TFLITE, _LITERT], "is for --web")
  program.import_tensorflow()
  from bert_span.jobs import serve

  if _WEB.value:
    serve.serve_file(_TFLITE.value, _LITERT.value, server)
    return
  options = model_flags.extractor_options(_MODEL.value)
  serve.serve_model(_MODEL.value, server, dtype=_DTYPE.value, **options)


if __name__ == "__main__":
  run()
