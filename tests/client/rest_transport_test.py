"""REST: connections, timeouts, what refusals become, and TLS."""

import concurrent.futures
import contextlib
import email.utils
import json
import math
import multiprocessing
import shutil
import socket
import ssl
import subprocess
import time

import pytest

from bert_span.client import rest_transport
from bert_span.client.endpoint import Credentials, parse_endpoint
from bert_span.client.rest_transport import RestTransport
from bert_span.client.retries import (
  RequestRefusedError,
  ServerTimeoutError,
  ServerUnavailableError,
  ServingError,
)
from tests.support.servers import ModelServer, output_row, running


def _transport(address, **credentials):
  endpoint = parse_endpoint(address, "bert_span")
  return RestTransport(endpoint, Credentials(**credentials))


def _ask(transport, context="Ada", timeout=20):
  """The answer's text of one row."""
  rows = [{"question": "Who?", "context": context}]
  (row,) = transport.predict(rows, timeout)
  return row["answer"]


# --- Connections.


def test_a_connection_is_kept_open_until_the_server_closes_it(server):
  transport = _transport(server.address)
  for context in ("Ada", "Bea"):
    assert _ask(transport, context) == context
  assert server.connections == 1
  body = json.dumps({"predictions": [{"answer": "a"}]})
  server.script = [(200, {"Connection": "close"}, body)]
  assert _ask(transport) == "a"
  assert _ask(transport) == "Ada"
  assert server.connections == 2


def test_an_idle_connection_that_the_server_closed_costs_no_attempt(server):
  server.idle_seconds = 0.1
  transport = _transport(server.address)
  _ask(transport)
  time.sleep(0.3)
  assert _ask(transport, "Bea") == "Bea"
  assert server.connections == 2


def test_a_forked_process_opens_a_connection_of_its_own(server):
  """Else it might read the reply that its parent waits for."""
  transport = _transport(server.address)
  assert _ask(transport, "Ada") == "Ada"
  process = multiprocessing.get_context("fork").Process(
    target=_ask, args=(transport, "Bea")
  )
  process.start()
  process.join(60)
  assert process.exitcode == 0
  assert (len(server.requests), server.connections) == (2, 2)
  assert _ask(transport, "Cleo") == "Cleo"
  assert server.connections == 2


def test_threads_share_a_transport(server):
  transport = _transport(server.address)
  contexts = [f"w{i}" for i in range(24)]
  with concurrent.futures.ThreadPoolExecutor(6) as pool:
    answers = list(pool.map(lambda c: _ask(transport, c), contexts))
  assert answers == contexts
  assert server.connections <= 6


# --- Timeouts.


@pytest.mark.parametrize(
  ("beginning", "dripped"),
  [
    (b"", b""),
    (b"", b"H"),
    (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", b" "),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
  ],
)
def test_a_reply_that_drips_or_does_not_come_ends_with_the_timeout(
  beginning, dripped
):
  with socket.create_server(("127.0.0.1", 0)) as listener:
    transport = _transport(f"http://127.0.0.1:{listener.getsockname()[1]}")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
      asked = pool.submit(_ask, transport, timeout=0.2)
      connection, _ = listener.accept()
      with connection, contextlib.suppress(OSError):
        connection.sendall(beginning)
        while not asked.done():
          connection.sendall(dripped)
          time.sleep(0.05)
      with pytest.raises(ServerTimeoutError):
        asked.result(1)


def test_a_server_that_does_not_read_ends_with_the_timeout():
  with socket.create_server(("127.0.0.1", 0)) as listener:
    transport = _transport(f"http://127.0.0.1:{listener.getsockname()[1]}")
    with pytest.raises(ServerTimeoutError):
      _ask(transport, "Ada " * (1 << 22), timeout=0.2)


# --- Replies.


@pytest.mark.parametrize(
  ("status", "headers", "error", "remedy"),
  [
    (302, {"Location": "//b"}, RequestRefusedError, "'//b'"),
    (403, {}, RequestRefusedError, "bearer_token"),
    (413, {}, RequestRefusedError, "batch_size"),
    *((x, {}, ServerUnavailableError, "--rest_api_port") for x in (429, 503)),
    (500, {}, ServingError, "log"),
    (502, {}, ServerUnavailableError, "--rest_api_port"),
    (504, {}, ServerTimeoutError, "--rest_api_timeout_in_ms"),
  ],
)
def test_a_refusal_has_what_the_server_says_and_the_remedy(
  server, status, headers, error, remedy
):
  """What the server says cannot command the terminal."""
  said = json.dumps({"error": "it says \x1b[2J\x1b]0;gone\x07\u202e\nnext."})
  server.script = [(status, headers, said)]
  text = rf"{server.address}.*{status}.*: it says \\x1b\[2J.*next\. .*{remedy}"
  with pytest.raises(error, match=text) as caught:
    _ask(_transport(server.address))
  assert type(caught.value) is error
  assert str(caught.value).isprintable()


def test_a_missing_server_and_a_reply_that_breaks_off_are_unavailable(server):
  cut = {"Content-Length": "9999", "Connection": "close"}
  server.script = [(200, cut, '{"predictions": ')]
  free = ModelServer()
  free.server_close()  # The port is free: connections are refused.
  for address in (server.address, free.address):
    with pytest.raises(ServerUnavailableError, match=address):
      _ask(_transport(address))


def _http_date(seconds):
  return email.utils.formatdate(time.time() + seconds, usegmt=True)


@pytest.mark.parametrize(
  ("header", "lowest", "highest"),
  [
    *((lambda: "soon", 0, 0), (lambda: "7", 7, 7)),
    *((lambda: _http_date(-9), 0, 0), (lambda: _http_date(900), 800, 900)),
    (lambda: "9" * 400, 3600, math.inf),
  ],
  ids=["no number", "seconds", "past", "date", "huge"],
)
def test_retry_after_is_seconds_or_a_date(server, header, lowest, highest):
  server.script = [(503, {"Retry-After": header()}, "")]
  with pytest.raises(ServerUnavailableError) as caught:
    _ask(_transport(server.address))
  assert lowest <= caught.value.retry_after <= highest


@pytest.mark.parametrize(
  ("body", "named"),
  [
    ("<html>Welcome to nginx</html>", "Welcome to nginx"),
    (b"\xff\xfe", r"\\xff"),
    *(('{"outputs": []}', "predictions"), ('{"predictions": 3}', "list")),
    ("[" * 100_000, "predictions"),
  ],
)
def test_a_reply_of_something_else_is_shown(server, body, named):
  server.script = [(200, {}, body)]
  with pytest.raises(ServingError, match=f"{server.address}.*{named}"):
    _ask(_transport(server.address))


def test_a_reply_without_an_end_is_refused(server, monkeypatch):
  monkeypatch.setattr(rest_transport, "_MAX_REPLY_BYTES", 1000)
  server.script = [(200, {}, "[" * 1001)]
  with pytest.raises(ServingError, match=r"1,000 bytes.* batch_size"):
    _ask(_transport(server.address))


def test_infinity_is_read_as_tensorflow_serving_writes_it(server):
  row = output_row("a", [("a", 1.0)], null_odds=-math.inf)
  server.script = [(200, {}, json.dumps({"predictions": [row]}))]
  assert _transport(server.address).predict([{}], 20) == [row]


def test_the_bearer_token_is_sent_and_a_missing_one_explained(server):
  server.token = "s3cret"
  assert _ask(_transport(server.address, bearer_token="s3cret")) == "Ada"
  with pytest.raises(RequestRefusedError, match="bearer_token"):
    _ask(_transport(server.address))


# --- TLS, with certificates made for the test.


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
  """NAME.pem, signed by itself, and NAME.key of server and client."""
  if not shutil.which("openssl"):
    pytest.skip("needs the openssl command to make certificates")
  folder = tmp_path_factory.mktemp("certificates")
  for name, *options in (
    ("server", "-addext", "subjectAltName=DNS:localhost"),
    ("client",),
  ):
    subprocess.run(
      [
        *("openssl", "req", "-x509", "-newkey", "ec", "-subj", f"/CN={name}"),
        *("-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", *options),
        *("-keyout", f"{name}.key", "-out", f"{name}.pem"),
      ],
      cwd=folder,
      check=True,
      capture_output=True,
    )
  return folder


@pytest.fixture
def tls_server(certificates):
  server = ModelServer()
  server.address = f"https://localhost:{server.server_port}"
  context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
  context.load_cert_chain(
    certificates / "server.pem", certificates / "server.key"
  )
  server.socket = context.wrap_socket(server.socket, server_side=True)
  server.tls = context
  with running(server):
    yield server


def test_a_server_is_trusted_by_its_authority_and_its_name(
  tls_server, certificates
):
  ca_file = certificates / "server.pem"
  transport = _transport(tls_server.address, ca_file=ca_file)
  assert _ask(transport, "Ada") == "Ada"
  assert _ask(transport, "Bea") == "Bea"
  assert tls_server.connections == 1
  with pytest.raises(RequestRefusedError, match="ca_file"):
    _ask(_transport(tls_server.address))
  by_number = tls_server.address.replace("localhost", "127.0.0.1")
  with pytest.raises(RequestRefusedError, match=r"certificate.*127\.0\.0\.1"):
    _ask(_transport(by_number, ca_file=ca_file))
  assert len(tls_server.requests) == 2


def test_tls_with_a_client_certificate(tls_server, certificates):
  tls_server.tls.verify_mode = ssl.CERT_REQUIRED
  tls_server.tls.load_verify_locations(certificates / "client.pem")
  ca_file = certificates / "server.pem"
  transport = _transport(
    tls_server.address,
    ca_file=ca_file,
    certificate_file=certificates / "client.pem",
    key_file=certificates / "client.key",
  )
  assert _ask(transport) == "Ada"
  with pytest.raises(ServingError):
    _ask(_transport(tls_server.address, ca_file=ca_file))
  assert len(tls_server.requests) == 1


def test_tls_to_a_port_without_it_is_explained(server):
  with pytest.raises(RequestRefusedError, match="TLS port"):
    _ask(_transport(f"https://localhost:{server.server_port}"))
