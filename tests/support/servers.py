"""Servers that run within a test, and the browser that looks at them."""

import base64
import contextlib
import http.server
import json
import os
import re
import select
import shutil
import subprocess
import threading
import time

import uvicorn

from bert_span.answers.columns import BIO_COLUMNS, SPAN_COLUMNS
from bert_span.client import RetryOptions, SpanClient

# Versions 1 and 2 of one model are served.
_PATH = re.compile(
  r"/v1/models/bert_span(/versions/[12]|/labels/(stable|canary))?:predict"
)
_N_BEST = 8  # columns of n-best outputs
_NO_ANSWER = {
  **dict.fromkeys(("char_start", "char_end", "byte_start", "byte_end"), 0),
  "text": "",
  "score": 0.0,
  "probability": 0.0,
  "is_answerable": False,
}


def output_row(context, spans, null_odds=-3.5, is_answerable=True):
  """A row of outputs as the export of a span head gives it.

  `spans` are up to eight (text, probability), best first; "" is "no answer".
  """
  entries = [_entry(context, *span) for span in spans]
  best = next(x for x in entries if x["is_answerable"] == is_answerable)
  return _row(SPAN_COLUMNS, best, entries, null_odds)


def span_row(context, spans, null_odds=-3.5):
  """As `output_row` of a bio head; spans in order of position."""
  entries = [_entry(context, *span) for span in spans]
  best = max(entries, key=lambda entry: entry["score"], default=_NO_ANSWER)
  return _row(BIO_COLUMNS, best, entries, null_odds)


def _row(table, best, entries, null_odds):
  """Columns of the best entry, and of all, padded."""
  best = {**best, "null_odds": null_odds, "question_truncated": False}
  padded = entries + [_NO_ANSWER] * (_N_BEST - len(entries))
  row = {column.name: best[column.field] for column in table.question}
  row[table.count.name] = len(entries)
  for column in table.served:
    if column in table.entry:
      row[column.name] = [entry[column.field] for entry in padded]
  return row


def _entry(context, text, probability):
  if not text:
    return {**_NO_ANSWER, "score": -1.5, "probability": probability}
  start = context.index(text)
  end = start + len(text)
  return {
    "text": text,
    "char_start": start,
    "char_end": end,
    "byte_start": len(context[:start].encode()),
    "byte_end": len(context[:end].encode()),
    "score": 10.0 * probability,
    "probability": probability,
    "is_answerable": True,
  }


def first_word(question, context):
  """Answers with the context's first word, whatever is asked."""
  words = context.split()
  if not words:
    return output_row(context, [("", 1.0)], 1e6, is_answerable=False)
  return output_row(context, [(words[0], 0.75), ("", 0.25)])


class ModelServer(http.server.ThreadingHTTPServer):
  """Answers as TensorFlow Serving does, unless a test scripts otherwise."""

  daemon_threads = True

  def __init__(self, port=0):
    super().__init__(("127.0.0.1", port), _Handler)
    self.address = f"http://127.0.0.1:{self.server_port}"
    self.answer = first_word  # of question and context: an output row
    self.script = []  # the first replies: (status, headers, body)
    self.delay = 0.0  # seconds before each reply
    self.token = None  # that requests must bear
    self.cors = True  # whether other sites' pages may read the replies
    self.idle_seconds = None  # after which it closes a connection
    self.requests = []  # (path, headers, parsed body), as they came
    self.connections = 0  # how many were opened

  def handle_error(self, request, client_address):
    """Says nothing: clients that hang up are what is tested."""


class _Handler(http.server.BaseHTTPRequestHandler):
  protocol_version = "HTTP/1.1"

  def setup(self):
    self.timeout = self.server.idle_seconds
    super().setup()
    self.server.connections += 1

  def do_POST(self):
    body = self.rfile.read(int(self.headers["Content-Length"]))
    with contextlib.suppress(ValueError):
      body = json.loads(body)
    self.server.requests.append((self.path, dict(self.headers), body))
    time.sleep(self.server.delay)
    if self.server.script:
      self._reply(*self.server.script.pop(0))
    else:
      status, reply = self._predict(body)
      self._reply(status, {}, json.dumps(reply, ensure_ascii=False))

  def log_message(self, *args):
    pass

  def _predict(self, body):
    server = self.server
    authorization = self.headers["Authorization"]
    if server.token and authorization != f"Bearer {server.token}":
      return 401, {"error": "no valid token"}
    if not _PATH.fullmatch(self.path):
      return 404, {"error": f"Servable not found for request: {self.path}"}
    rows = body["instances"] if isinstance(body, dict) else []
    if not all(set(row) == {"question", "context"} for row in rows) or not rows:
      return 400, {"error": "JSON Value not formatted correctly"}
    rows = [server.answer(row["question"], row["context"]) for row in rows]
    return 200, {"predictions": rows}

  def _reply(self, status, headers, body):
    content = body.encode() if isinstance(body, str) else body
    own = {"Content-Type": "application/json", "Content-Length": len(content)}
    if self.server.cors:
      own["Access-Control-Allow-Origin"] = "*"
    self.send_response(status)
    for name, value in {**own, **headers}.items():
      self.send_header(name, value)
    self.end_headers()
    self.wfile.write(content)


@contextlib.contextmanager
def running(server):
  """Runs a server in a thread while the block lasts."""
  thread = threading.Thread(target=server.serve_forever, args=(0.02,))
  thread.start()
  try:
    yield server
  finally:
    server.shutdown()
    thread.join()
    server.server_close()


def client_of(server, **arguments):
  """A `SpanClient` that tries three times and hardly waits."""
  options = RetryOptions(20.0, 40.0, max_attempts=3, first_wait=0.01)
  return SpanClient(server.address, retry_options=options, **arguments)


@contextlib.contextmanager
def running_app(app, **options):
  """Runs a Starlette application in a thread; gives its port.

  `options` are those of uvicorn's Config.
  """
  # uvicorn's own logging would close the handlers of absl, and with one of them
  # the standard error that pytest captures.
  options = {"port": 0, "log_level": "warning", "log_config": None, **options}
  config = uvicorn.Config(app, **options)
  server = uvicorn.Server(config)
  thread = threading.Thread(target=server.run)
  thread.start()
  try:
    while not server.started:
      time.sleep(0.02)
    yield server.servers[0].sockets[0].getsockname()[1]
  finally:
    server.should_exit = True
    thread.join()


_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_SECONDS = 120  # for one step on a busy machine
# Number, code, and what is typed.
_KEYS = {
  "Tab": (9, "Tab", {}),
  "Enter": (13, "Enter", {"text": "\r"}),
  " ": (32, "Space", {"text": " "}),
}


def find_browser():
  """Path of an installed Chromium, or None."""
  return next(filter(None, map(shutil.which, _NAMES)), None)


@contextlib.contextmanager
def open_browser(profile_dir, gpu="--disable-gpu"):
  """Runs a `Browser` in a block; profile_dir is an empty directory.

  `gpu` "--enable-unsafe-webgpu" is WebGPU, in software where there is none.
  """
  to_browser, commands = os.pipe()
  replies, from_browser = os.pipe()
  # The pipes get the descriptors 3 and 4 in the child.
  shell = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
  process = subprocess.Popen(
    [
      *("bash", "-c", shell, "bash", find_browser()),
      *("--headless=new", "--remote-debugging-pipe", "--no-first-run"),
      *("--no-sandbox", gpu, "--disable-dev-shm-usage"),
      *("--hide-scrollbars", f"--user-data-dir={profile_dir}"),
    ],
    pass_fds=(to_browser, from_browser),
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
  )
  os.close(to_browser)
  os.close(from_browser)
  with os.fdopen(commands, "wb") as command_file:
    try:
      yield Browser(command_file, replies)
    finally:
      process.terminate()
      process.wait(_SECONDS)
      os.close(replies)


class Browser:
  """One tab of a browser: a file for commands, a descriptor of replies.

  Source: Chrome DevTools Protocol. --remote-debugging-pipe reads commands from
  file descriptor 3 and writes replies to 4, each one JSON object and a NUL.
  """

  def __init__(self, commands, replies):
    self._commands = commands
    self._replies = replies
    self._unread = b""
    self._session = {}  # That of the browser, until there is a tab.
    self._number = 0
    target = self.send("Target.createTarget", url="about:blank")["targetId"]
    attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
    self._session = {"sessionId": attached["sessionId"]}

  def send(self, method, **parameters):
    """Runs a command of the protocol and returns its result."""
    self._number += 1
    command = {"id": self._number, "method": method, "params": parameters}
    command |= self._session
    self._commands.write(json.dumps(command).encode() + b"\0")
    self._commands.flush()
    reply = {}
    while reply.get("id") != command["id"]:  # Other messages are dropped.
      reply = json.loads(self._next_message())
    if "error" in reply:
      raise RuntimeError(f"{method}: {reply['error']}")
    return reply["result"]

  def open(self, url, width=1280, height=900, dark=False):
    """Loads a page in a window of that size."""
    size = {"width": width, "height": height, "mobile": width < 600}
    self.send("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1)
    scheme = "dark" if dark else "light"
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    self.send("Emulation.setEmulatedMedia", features=features)
    self.send("Page.navigate", url=url)
    self.wait_for("document.readyState === 'complete'")

  def run(self, script):
    """The value of a JavaScript expression, or of its promise."""
    options = {"awaitPromise": True, "returnByValue": True}
    result = self.send("Runtime.evaluate", expression=script, **options)
    if "exceptionDetails" in result:
      raise RuntimeError(str(result["exceptionDetails"]))
    return result["result"].get("value")

  def wait_for(self, condition):
    """Waits until a JavaScript expression is true."""
    end = time.monotonic() + _SECONDS
    while not (value := self.run(condition)):
      if time.monotonic() > end:
        raise TimeoutError(f"{condition} is false after {_SECONDS} s")
      time.sleep(0.02)
    return value

  def press(self, key, modifiers=0):
    """Presses a key: "Tab", "Enter" or " "; modifiers 2 is Ctrl, 8 Shift."""
    number, code, text = _KEYS[key]
    parameters = {"key": key, "code": code, "modifiers": modifiers}
    parameters["windowsVirtualKeyCode"] = number
    event = "Input.dispatchKeyEvent"
    self.send(event, type="keyDown", **parameters, **text)
    self.send(event, type="keyUp", **parameters)

  def type(self, text):
    """Types text into what has the focus."""
    self.send("Input.insertText", text=text)

  def screenshot(self, path):
    """Writes the whole page as PNG."""
    shot = self.send("Page.captureScreenshot", captureBeyondViewport=True)
    with open(path, "wb") as file:
      file.write(base64.b64decode(shot["data"]))

  def _next_message(self):
    while b"\0" not in self._unread:
      ready, _, _ = select.select([self._replies], [], [], _SECONDS)
      if not ready:
        raise TimeoutError(f"no reply from the browser for {_SECONDS} s")
      content = os.read(self._replies, 1 << 16)
      if not content:
        raise EOFError("the browser has ended")
      self._unread += content
    message, _, self._unread = self._unread.partition(b"\0")
    return message
