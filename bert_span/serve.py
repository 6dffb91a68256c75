r"""Serves a model on this machine, with a page to ask it.

  python -m bert_span.serve --model=minilm_squad
  python -m bert_span.serve --web --tflite=qa.tflite

The first command speaks TensorFlow Serving's REST (/v1/models/NAME:predict and
status) and shows the demo page at http://127.0.0.1:8501/. The second shows a
page that runs a .tflite file in the browser; the server only sends the files.
Both are for trying a model; use TensorFlow Serving in production.
"""

import dataclasses

from bert_span.cli.program import program
from bert_span.extractors.options import ModelOptions, PrecisionOptions
from bert_span.options.extras import check_extra
from bert_span.options.fields import changed, option
from bert_span.serving.options import ServerOptions
from bert_span.storage.options import FileOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServeOptions(ModelOptions, PrecisionOptions, ServerOptions, FileOptions):
  """The options of `bert_span.jobs.serve.serve`."""

  model: str | None = changed(
    ModelOptions, "model", default=None, conflicts=("web",)
  )
  web: bool = option(
    False,
    "Whether to run `tflite` in the browser instead of `model`.",
    needs=("tflite",),
  )
  tflite: str | None = option(
    None,
    "File of export_tflite, of a fixed length, for `web`.",
    is_input=True,
    needs=("web",),
  )
  litert: str = option(
    "node_modules/@litertjs",
    "Folder that npm install @litertjs/core makes, with LiteRT.js, for `web`.",
    is_input=True,
    needs=("web",),
  )

  def __post_init__(self):
    super().__post_init__()
    if not self.model and not self.web:
      raise ValueError("Give either `model` or `web`.")
    check_extra("serve", "starlette", "uvicorn")


run = program(ServeOptions, "bert_span.jobs.serve:serve")

if __name__ == "__main__":
  run()
