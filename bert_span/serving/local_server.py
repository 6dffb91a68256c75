"""A server on one's own machine, with a page to ask from.

It speaks TensorFlow Serving's REST and is for trying a model out. Production
wants TensorFlow Serving itself, with its batches, versions and metrics.
"""

import asyncio
import contextlib
import json
import pathlib
import urllib.parse
from concurrent import futures

import tensorflow as tf
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, RedirectResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from bert_span.serving import rest_rows
from bert_span.serving.signatures import CLASSIFY

_PACKAGE = pathlib.Path(__file__).parent.parent
_PAGES = _PACKAGE / "web"
_PASSAGES = _PACKAGE / "sample" / "passages"
_VERSION = "1"
# Requests that wait for the model; those beyond get status 503.
_MOST_REQUESTS = 64
_SHUTDOWN_SECONDS = 5
# Of file.html: what it loads comes from this server, and it sends nothing else
# anywhere. LiteRT.js is WebAssembly, imported from a blob.
_FILE_POLICY = (
  "default-src 'none'; script-src 'self' blob: 'wasm-unsafe-eval'; "
  "worker-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
  "base-uri 'none'; form-action 'none'"
)


def serve(app, options, on_start):
  """Runs an application until SIGINT or SIGTERM.

  Args:
    app: of `model_app` or `file_app`.
    options: `ServerOptions`.
    on_start: called with the port once the server listens.
  """
  config = uvicorn.Config(
    app,
    host=options.host,
    port=options.port,
    log_level="warning",
    limit_concurrency=_MOST_REQUESTS,
    timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
  )
  with contextlib.suppress(KeyboardInterrupt):
    _Server(config, on_start).run()


class _Server(uvicorn.Server):
  def __init__(self, config, on_start):
    super().__init__(config)
    self._on_start = on_start

  async def startup(self, sockets=None):
    await super().startup(sockets)
    (server,) = self.servers
    self._on_start(server.sockets[0].getsockname()[1])


def model_app(served, preprocessor, options):
  """The REST API of a model, and the page that asks it.

  Args:
    served: `ServedModel`.
    preprocessor: `SpanPreprocessor` of the same model.
    options: `ServerOptions`.
  """
  # One question after the other: TensorFlow uses all cores for each.
  thread = futures.ThreadPoolExecutor(max_workers=1)

  async def answer(request, function):
    """The reply to the JSON of a request, within the limits."""

    async def run():
      content = await _body(request, options.max_request_bytes)
      return await asyncio.get_running_loop().run_in_executor(
        thread, lambda: function(json.loads(content))
      )

    try:
      reply = await asyncio.wait_for(run(), options.request_seconds)
    except asyncio.TimeoutError:
      raise HTTPException(
        504, f"No answer within {options.request_seconds:g} s."
      ) from None
    except (ValueError, RecursionError, tf.errors.InvalidArgumentError) as e:
      raise HTTPException(400, getattr(e, "message", str(e))) from None
    return JSONResponse(reply)

  async def predict(request):
    _check_model(request, options.model_name)
    return await answer(
      request, lambda body: rest_rows.predict(served.functions, body)
    )

  async def windows(request):
    return await answer(request, lambda body: _windows(preprocessor, body))

  async def status(request):
    _check_model(request, options.model_name)
    state = {"error_code": "OK", "error_message": ""}
    version = {"version": _VERSION, "state": "AVAILABLE", "status": state}
    return JSONResponse({"model_version_status": [version]})

  async def metadata(request):
    _check_model(request, options.model_name)
    signatures = {
      name: rest_rows.signature_def(
        function, tf.saved_model.PREDICT_METHOD_NAME
      )
      for name, function in served.functions.items()
      if name != CLASSIFY  # There is no :classify here.
    }
    return JSONResponse(
      {
        "model_spec": {
          "name": options.model_name,
          "signature_name": "",
          "version": _VERSION,
        },
        "metadata": {"signature_def": {"signature_def": signatures}},
      }
    )

  async def page(request):
    query = urllib.parse.urlencode({"model": options.model_name})
    return RedirectResponse(f"demo.html?{query}")

  routes = [Route("/windows", windows, methods=["POST"])]
  for path in ("/v1/models/{model}", "/v1/models/{model}/versions/{version}"):
    routes += [
      Route(f"{path}:predict", predict, methods=["POST"]),
      Route(f"{path}/metadata", metadata),
      Route(path, status),
    ]
  return _app([*routes, Route("/", page), *_page_routes()])


def file_app(tflite, packages):
  """The page that runs a .tflite file in the browser, and its files.

  Args:
    tflite: path of the file.
    packages: path of the folder node_modules/@litertjs.
  """

  async def page(request):
    return RedirectResponse("file.html")

  async def model(request):
    return FileResponse(tflite)

  routes = [
    Route("/", page),
    Route("/model.tflite", model),
    Mount("/litertjs", StaticFiles(directory=packages)),
    *_page_routes(),
  ]
  return _app(routes, {"Content-Security-Policy": _FILE_POLICY})


def _app(routes, headers=()):
  """An application whose errors are JSON, as those of TensorFlow Serving."""

  async def refuse(request, error):
    return JSONResponse({"error": error.detail}, error.status_code)

  return _WithHeaders(
    Starlette(routes=routes, exception_handlers={HTTPException: refuse}),
    {"X-Content-Type-Options": "nosniff", **dict(headers)},
  )


class _WithHeaders:
  """Adds headers to every reply of an application."""

  def __init__(self, app, headers):
    self._app = app
    self._headers = [
      (name.lower().encode(), value.encode()) for name, value in headers.items()
    ]

  async def __call__(self, scope, receive, send):
    async def send_with_headers(message):
      if message["type"] == "http.response.start":
        message = {
          **message,
          "headers": [*message["headers"], *self._headers],
        }
      await send(message)

    await self._app(scope, receive, send_with_headers)


def _page_routes():
  async def examples(request):
    return JSONResponse(_examples())

  return [
    Route("/examples.json", examples),
    Mount("/", StaticFiles(directory=_PAGES)),
  ]


def _examples():
  """The passages of the sample, with their questions."""
  return [
    {
      "title": path.stem.capitalize(),
      # Its lines are short; a page breaks them itself.
      "passage": " ".join(path.read_text("utf-8").split()),
      "questions": path.with_name(f"{path.stem}_questions.txt")
      .read_text("utf-8")
      .splitlines(),
    }
    for path in sorted(_PASSAGES.glob("*.txt"))
    if not path.stem.endswith("_questions")
  ]


def _check_model(request, name):
  """Raises status 404 unless a path names the model and its version."""
  model = request.path_params["model"]
  version = request.path_params.get("version", _VERSION)
  if (model, version) != (name, _VERSION):
    raise HTTPException(
      404,
      f"There is no model {model!r} with version {version!r}, only {name!r} "
      f"with version {_VERSION}.",
    )


async def _body(request, most):
  """The body of a request, of at most so many bytes."""
  parts, size = [], 0
  async for part in request.stream():
    parts.append(part)
    size += len(part)
    if size > most:
      raise HTTPException(413, f"The body has more than {most:,} bytes.")
  return b"".join(parts)


def _windows(preprocessor, row):
  """The characters of the passage that each window holds."""
  inputs = rest_rows.text_tensors(row)
  windows = preprocessor(inputs)
  starts, ends = (
    windows[f"token_char_{name}"].numpy() for name in ("starts", "ends")
  )
  return [
    {"charStart": int(start[start >= 0].min()), "charEnd": int(end.max())}
    for start, end in zip(starts, ends, strict=True)
  ]
