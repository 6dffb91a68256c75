r"""Serves an exported model with KServe instead of TensorFlow Serving.

  pip install kserve tensorflow tensorflow-text
  python export/serving/kserve_server.py --saved_model=BASE/1 \
    --model_name=bert_span --http_port=8501

KServe's REST paths and row format are those of TensorFlow Serving, so the
client and the demo page ask it in the same way; it knows no /versions/ and no
/labels/. The SavedModel is self-contained: bert_span is not imported.
"""

import argparse
import asyncio
import re

import kserve
import tensorflow as tf
import tensorflow_text  # noqa: F401 -- the SavedModel holds its ops
from fastapi.middleware.cors import CORSMiddleware
from kserve import model_server
from kserve.errors import InvalidInput


class ServedSpanModel(kserve.Model):
  """A SavedModel's signature serving_default behind KServe's V1 protocol.

  Args:
    name: name of the model in REST paths.
    directory: a version that export_saved_model wrote.
  """

  def __init__(self, name, directory):
    super().__init__(name)
    # A signature does not keep alive the model that it is of.
    self._loaded = tf.saved_model.load(directory)
    self._answer = self._loaded.signatures["serving_default"]
    self.ready = True

  async def predict(self, payload, headers=None, response_headers=None):
    """Answers {"instances": [{"question": ..., "context": ...}]}."""
    columns = await asyncio.to_thread(self._columns, _inputs(payload))
    names = list(columns)
    rows = zip(*columns.values(), strict=True)
    return {"predictions": [dict(zip(names, r, strict=True)) for r in rows]}

  def _columns(self, inputs):
    outputs = self._answer(
      **{name: tf.constant(texts) for name, texts in inputs.items()}
    )
    return {
      name: _decoded(tensor.numpy().tolist())
      for name, tensor in outputs.items()
    }


def _inputs(payload):
  """Columns of the rows of a request."""
  rows = payload.get("instances") if isinstance(payload, dict) else None
  if not rows or not isinstance(rows, list):
    raise InvalidInput('expected {"instances": [..]} with at least one row')
  names = ("question", "context")
  for row in rows:
    if not isinstance(row, dict) or set(row) != set(names):
      raise InvalidInput("each row needs question and context, nothing else")
    if not all(isinstance(text, str) for text in row.values()):
      raise InvalidInput("question and context must be strings")
  # As the client does: UTF-8 cannot hold a lone surrogate.
  return {
    name: [re.sub("[\ud800-\udfff]", "\ufffd", row[name]) for row in rows]
    for name in names
  }


def _decoded(value):
  """Bytes to str, also within lists."""
  if isinstance(value, list):
    return [_decoded(item) for item in value]
  return value.decode("utf-8") if isinstance(value, bytes) else value


def main():
  """Loads the model and serves it until it is stopped."""
  parser = argparse.ArgumentParser(parents=[model_server.parser])
  parser.add_argument(
    "--saved_model", required=True, help="Folder of one exported version."
  )
  parser.add_argument(
    "--allow_origin",
    action="append",
    default=[],
    help="Site whose pages may ask, for the demo page; * allows all.",
  )
  arguments, _ = parser.parse_known_args()
  if arguments.allow_origin:
    model_server.app.add_middleware(
      CORSMiddleware,
      allow_origins=arguments.allow_origin,
      allow_methods=["GET", "POST"],
      allow_headers=["Content-Type"],
    )
  model = ServedSpanModel(arguments.model_name, arguments.saved_model)
  kserve.ModelServer().start([model])


if __name__ == "__main__":
  main()
