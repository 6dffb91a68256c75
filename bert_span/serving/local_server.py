"""A server with a web page for trying a model on the local machine.

It has TensorFlow Serving's REST API. In production, use TensorFlow Serving with
its batches, versions and metrics.
"""

import asyncio
import contextlib
import gzip
import http
import io
import json
import pathlib
import threading
import urllib.parse
import zlib
from concurrent import futures

import tensorflow as tf
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, JSONResponse, RedirectResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from uvicorn.protocols.http.h11_impl import H11Protocol

from bert_span.client.predict_api import (
  SERVING_DEFAULT,
  decode_bytes,
  rows_of_columns,
)
from bert_span.data.preprocessor import cut_question_line
from bert_span.options.messages import shortened
from bert_span.storage.files import encodable
from bert_span.storage.log import log_line

_PACKAGE = pathlib.Path(__file__).parent.parent
# Requests that may wait for the model; later ones get status 503.
_MOST_REQUESTS = 64
# A connection must send the head of a request within this time.
_HEAD_SECONDS = 10
# Numbers in an input of `logits`: 64 windows of 512 WordPieces.
_MOST_IDS = 64 * 512
# Local hosts, as options and the header Host write them.
_LOCAL_NAMES = ("localhost", "127.0.0.1", "::1", "[::1]")
# The policy of file.html: it loads from this server only, and sends nothing to
# others. LiteRT.js is WebAssembly, imported from a blob.
_FILE_POLICY = (
  "default-src 'none'; script-src 'self' blob: 'wasm-unsafe-eval'; "
  "worker-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
  "base-uri 'none'; form-action 'none'"
)


def serve(load, options, on_start):
  """Runs a `model_app` or `file_app` until SIGINT or SIGTERM.

  On a signal, the current request may end, and new ones are refused.

  Args:
    load: function that returns the app. Until then all paths have status 503.
    options: `ServerOptions`.
    on_start: called with the port when the app is loaded.

  Raises:
    Exception: what `load` raises; the server ends.
  """
  app = LoadingApp()
  config = uvicorn.Config(
    guarded(app, options.host),
    http=PromptProtocol,
    host=options.host,
    port=options.port,
    log_level="warning",
    lifespan="off",
    limit_concurrency=_MOST_REQUESTS,
    timeout_graceful_shutdown=options.request_seconds,
  )
  server = uvicorn.Server(config)

  def start(port):
    try:
      app.loaded = load()
      on_start(port)
    except BaseException:
      server.should_exit = True
      raise

  with (
    contextlib.suppress(KeyboardInterrupt),
    config.bind_socket() as socket,
    futures.ThreadPoolExecutor(max_workers=1) as thread,
  ):
    socket.listen()
    starting = thread.submit(start, socket.getsockname()[1])
    server.run([socket])
    starting.result()


class LoadingApp:
  """An app that has status 503 until the one to serve is `loaded`."""

  loaded = None

  async def __call__(self, scope, receive, send):
    app = self.loaded or JSONResponse(
      {"error": "The model is loading."}, 503, {"Retry-After": "1"}
    )
    await app(scope, receive, send)


class PromptProtocol(H11Protocol):
  """HTTP that closes a connection if the head of a request does not come.

  Such connections count for uvicorn's limit.
  """

  head_seconds = _HEAD_SECONDS

  def connection_made(self, transport):
    super().connection_made(transport)
    self.loop.call_later(self.head_seconds, self._close_if_silent)

  def _close_if_silent(self):
    if self.cycle is None:
      self.transport.close()


def guarded(app, host):
  """Refuses requests by pages of other sites to an app at a host.

  A page of another site sends its Origin. A site whose DNS entry was changed to
  this address sends its name as Host.
  """

  async def check_origin(request, call_next):
    address = request.headers.get("host")
    origin = request.headers.get("origin")
    if origin and origin.partition("://")[2] != address:
      fault = f"Origin must be http://{address}; pages elsewhere cannot ask."
      return JSONResponse({"error": fault}, 403)
    return await call_next(request)

  names = _LOCAL_NAMES if host in _LOCAL_NAMES else ["*"]
  return TrustedHostMiddleware(BaseHTTPMiddleware(app, check_origin), names)


class StoppableSteps:
  """An `on_windows` that ends an answer between two steps of windows."""

  def __init__(self):
    self.is_stopped = threading.Event()  # of the current request

  def __call__(self, done, total):
    if self.is_stopped.is_set():
      raise TimeoutError("Nobody waits for this answer.")


def model_app(served, preprocessor, options, steps):
  """Returns the app of a `ServedModel`: the REST API and the demo page.

  `steps` are the model's `StoppableSteps`. The functions are traced here, so
  that no request waits for it.
  """
  specs = {name: _input_specs(f) for name, f in served.functions.items()}
  # One request at a time: TensorFlow uses all cores for it.
  thread = futures.ThreadPoolExecutor(max_workers=1)

  async def answer(request, function):
    """Replies to the JSON of a request, within the limits."""
    seconds, is_stopped = options.request_seconds, threading.Event()

    def run(content):
      steps.is_stopped = is_stopped
      return None if is_stopped.is_set() else function(json.loads(content))

    try:
      async with asyncio.timeout(seconds):
        content = await _body(request, options.max_request_bytes)
        reply = await asyncio.get_running_loop().run_in_executor(
          thread, run, content
        )
    except TimeoutError:
      raise HTTPException(504, f"No answer within {seconds:g} s.") from None
    except ClientDisconnect:
      log_line("A client left before its request was whole.")
      raise HTTPException(400, "The body is not whole.") from None
    except (ValueError, RecursionError, tf.errors.InvalidArgumentError) as e:
      raise HTTPException(400, _error_line(e)) from None
    finally:  # The client does not wait any longer.
      is_stopped.set()
    return JSONResponse(reply)

  async def predict(request):
    _check_model(request, options.model_name)
    functions, windows = served.functions, preprocessor.options
    return await answer(
      request, lambda x: _predictions(functions, specs, windows, x)
    )

  async def windows(request):
    return await answer(request, lambda body: _windows(preprocessor, body))

  async def status(request):
    _check_model(request, options.model_name)
    state = {"error_code": "OK", "error_message": ""}
    version = {"version": "1", "state": "AVAILABLE", "status": state}
    return JSONResponse({"model_version_status": [version]})

  query = urllib.parse.urlencode({"model": options.model_name})
  routes = [
    Route("/", lambda request: RedirectResponse(f"demo.html?{query}")),
    Route("/windows", windows, methods=["POST"]),
    Route("/healthz", lambda request: JSONResponse({"status": "ok"})),
    Route("/v1/models/{model}:predict", predict, methods=["POST"]),
    Route("/v1/models/{model}", status),
  ]
  return _app(routes, {})


def file_app(tflite, packages):
  """Returns the app of the page that runs a .tflite file in the browser.

  `packages` is the path of the folder node_modules/@litertjs.
  """
  routes = [
    Route("/", lambda request: RedirectResponse("file.html")),
    Route("/model.tflite", lambda request: FileResponse(tflite)),
    Mount("/litertjs", StaticFiles(directory=packages)),
  ]
  return _app(routes, {"Content-Security-Policy": _FILE_POLICY})


def _app(routes, headers):
  """Makes an app with the pages, TensorFlow Serving's errors, and headers."""

  async def refuse(request, error):
    fault, status = error.detail, error.status_code
    if fault == http.HTTPStatus(status).phrase:  # No route, or no such method.
      path = request.scope["raw_path"].decode("latin-1")
      fault = f"Malformed request: {request.method} {path}"
      status = 400 if path.lower().startswith("/v1/") else status
    return JSONResponse({"error": fault}, status, error.headers)

  async def with_headers(request, call_next):
    response = await call_next(request)
    response.headers.update({"X-Content-Type-Options": "nosniff", **headers})
    return response

  app = Starlette(
    routes=[
      *routes,
      Route("/examples.json", _examples),
      Mount("/", StaticFiles(directory=_PACKAGE / "web")),
    ],
    exception_handlers={HTTPException: refuse},
  )
  return BaseHTTPMiddleware(app, with_headers)


async def _examples(request):
  """Replies with the passages of the sample and their questions."""
  examples = []
  for path in sorted(_PACKAGE.glob("sample/passages/*_questions.txt")):
    title = path.stem.removesuffix("_questions")
    passage = path.with_name(f"{title}.txt").read_text("utf-8")
    examples.append(
      {
        "title": title.capitalize(),
        # The page breaks the lines.
        "passage": " ".join(passage.split()),
        "questions": path.read_text("utf-8").splitlines(),
      }
    )
  return JSONResponse(examples)


def _error_line(error):
  """Returns the line of an error that states the fault.

  TensorFlow's errors have lines about the code before it and after it:

      Graph execution error:
      ...
      indices[0,0] = 99999 is not in [0, 24)
           [[{{node Gather}}]] [Op:__inference_logits_608]
  """
  if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):
    return f"The body is not JSON: {error}."
  message = getattr(error, "message", str(error))
  before, _, place = message.partition("\n\t [[")
  return before.split("\n")[-1 if place else 0]


def _check_model(request, name):
  """Raises status 404 unless a path names the model."""
  model = request.path_params["model"]
  if model == name:
    return
  if ":" in model:  # another API, such as :classify
    raise HTTPException(400)
  raise HTTPException(404, f"There is only {name!r}. Received: {model!r}.")


async def _body(request, most):
  """Returns the unpacked body of a request, `most` bytes at most."""
  encoding = request.headers.get("content-encoding") or "identity"
  if encoding.lower() not in ("identity", "gzip"):
    raise HTTPException(
      415, f"Content-Encoding must be gzip or identity. Received: {encoding}."
    )
  content = bytearray()
  async for piece in request.stream():
    content += piece
    _check_size(content, most)
  if encoding.lower() == "gzip":
    try:
      with gzip.open(io.BytesIO(content)) as file:
        content = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
      raise ValueError(f"The body is not complete gzip: {error}.") from error
    _check_size(content, most)
  return content


def _check_size(content, most):
  if len(content) > most:
    raise HTTPException(413, f"The body has more than {most:,} bytes.")


def _predictions(functions, input_specs, window_options, request):
  """Answers the JSON of a :predict request in TensorFlow Serving's format.

  Rows, {"instances": [{"question": .., "context": ..}]}, give
  {"predictions": [..]}; columns, {"inputs": {..}}, give {"outputs": ..}.
  """
  if not isinstance(request, dict):
    raise ValueError("The body must be a JSON object.")
  name = request.get("signature_name", SERVING_DEFAULT)
  name = SERVING_DEFAULT if name == "" else name
  if not isinstance(name, str) or name not in functions:
    raise ValueError(
      f"signature_name must be one of {sorted(functions)}. Received: {name!r}."
    )
  has_rows = "instances" in request
  if has_rows == ("inputs" in request):
    raise ValueError('Give either "instances" (rows) or "inputs" (columns).')
  specs = input_specs[name]
  columns = request.get("inputs")
  if has_rows:
    columns = _columns_of_rows(request["instances"], specs)
  if not isinstance(columns, dict) or set(columns) != set(specs):
    raise ValueError(f"The inputs of {name} are {', '.join(specs)}.")
  tensors = {key: _tensor(key, columns[key], specs[key]) for key in specs}
  if len({len(tensor) for tensor in tensors.values()}) != 1:
    raise ValueError("The columns must have one length.")
  outputs = {
    key: decode_bytes(tensor.numpy().tolist())
    for key, tensor in functions[name](**tensors).items()
  }
  for i, is_cut in enumerate(outputs.get("question_truncated", ())):
    if is_cut:
      log_line(
        cut_question_line(window_options, shortened(columns["question"][i]))
      )
  if has_rows:
    return {"predictions": list(rows_of_columns(outputs))}
  return {"outputs": outputs}


def _windows(preprocessor, row):
  """Returns the span of the passage in each window, in characters."""
  text = tf.TensorSpec([None], tf.string)
  columns = _columns_of_rows([row], {"question": text, "context": text})
  windows = preprocessor.windows(
    {name: _tensor(name, values, text) for name, values in columns.items()}
  )
  starts = windows["token_char_starts"].numpy()
  ends = windows["token_char_ends"].numpy()
  return [
    {"charStart": int(start[start >= 0].min()), "charEnd": int(end.max())}
    for start, end in zip(starts, ends, strict=True)
  ]


def _input_specs(function):
  """Returns the tf.TensorSpec of each input of a tf.function by name."""
  specs = function.get_concrete_function().structured_input_signature
  return {spec.name: spec for spec in (*specs[0], *specs[1].values())}


def _columns_of_rows(rows, specs):
  """Returns the values of all rows by input name."""
  if not isinstance(rows, list) or not rows:
    raise ValueError('"instances" must be a list with at least one row.')
  if not all(isinstance(row, dict) and set(row) == set(specs) for row in rows):
    raise ValueError(f"Each row must have {' and '.join(specs)} only.")
  return {name: [row[name] for row in rows] for name in specs}


def _tensor(name, values, spec):
  if not isinstance(values, list) or not values:
    raise ValueError(f"{name} must be a list with at least one value.")
  if spec.dtype == tf.string:
    for value in values:
      if not isinstance(value, str):
        raise ValueError(f"{name} must be text. Received: {value!r:.80}.")
    return tf.constant([encodable(value).encode() for value in values])
  # Checked first: an array may take far more memory than the JSON.
  lengths = {len(row) if isinstance(row, list) else -1 for row in values}
  if (
    len(lengths) > 1
    or max(lengths) < 1
    or not all(type(x) is int and abs(x) < 2**31 for row in values for x in row)
  ):
    raise ValueError(f"{name} must be rows of int32, all of one length.")
  if len(values) * max(lengths) > _MOST_IDS:
    raise ValueError(
      f"{name} must have at most {_MOST_IDS:,} numbers. Received: "
      f"{len(values)} rows of {max(lengths):,}. Send them in parts."
    )
  return tf.constant(values, spec.dtype)
