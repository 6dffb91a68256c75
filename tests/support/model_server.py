"""A server that plays TensorFlow Serving's REST API, for tests of clients."""

import contextlib
import http.server
import json
import re
import threading
import time

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
