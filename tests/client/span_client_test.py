import concurrent.futures
import contextlib
import email.utils
import json
import multiprocessing
import os
import socket
import time

import pytest

from bert_span.client import (
  RequestRefusedError,
  RetryOptions,
  ServingError,
  retries,
)
from bert_span.client.endpoint import Credentials
from bert_span.client.served_answer import ServedAnswer
from bert_span.client.span_client import SpanClient
from tests.support.programs import run_python
from tests.support.servers import (
  ModelServer,
  client_of,
  output_row,
  running,
  span_row,
)


def _served(text, place, in_bytes, score, probability):
  """The `ServedAnswer` in a row of the server."""
  start, end = in_bytes
  return ServedAnswer(
    *(text, *place, score, probability, -3.5), byte_start=start, byte_end=end
  )


def test_a_question_is_answered_with_offsets_and_n_best(server):
  client = client_of(server)
  answer = client.answer("Who came?", "Ada came.")
  first = _served("Ada", (0, 3), (0, 3), 7.5, 0.75)
  assert answer == first
  assert answer.is_answerable
  n_best = [first, _served("", (0, 0), (0, 0), -1.5, 0.25)]
  assert client.answer(["Who came?"], ["Ada came."], 2) == [n_best]
  assert client.answers("Who came?", "Ada came.") == [first]
  assert client.answers(["Who?"], [" "]) == [[]]
  path, headers, body = server.requests[0]
  assert path == "/v1/models/bert_span:predict"
  assert headers["Content-Type"] == "application/json"
  assert "Authorization" not in headers
  row = {"question": "Who came?", "context": "Ada came."}
  assert body == {"signature_name": "serving_default", "instances": [row]}


def test_a_bio_model_gives_a_list_of_spans(server):
  context = "É Ada came, and Bea."
  spans = [("Ada", 0.25), ("Bea", 0.5)]
  server.answer = lambda question, context: span_row(
    context, spans if context else []
  )
  client = client_of(server)
  first = _served("Ada", (2, 5), (3, 6), 2.5, 0.25)
  second = _served("Bea", (16, 19), (17, 20), 5.0, 0.5)
  answers = client.answers(["Who came?"] * 2, [context, ""])
  assert answers == [[first, second], []]
  assert client.answer("Who came?", context) == second  # the best score
  assert client.answer("Who came?", context, n_best=9) == [second, first]
  answer = client.answer("Who?", "")
  assert (answer.text, answer.is_answerable) == ("", False)
  assert client.answer("Who?", "", n_best=9) == []


def test_a_question_whose_end_was_not_read_is_known(server):
  row = output_row("Ada came.", [("Ada", 0.75)]) | {"question_truncated": True}
  server.answer = lambda question, context: row
  assert client_of(server).answer("Who?", "Ada came.").question_truncated


def test_any_text_travels_unchanged_but_lone_surrogates(server):
  context = '𝔸da\u0301 "said"\\ <b>\x00\u2028 日本 👩\u200d👧'
  server.answer = lambda question, context: output_row(
    context, [("日本 👩\u200d👧", 1.0)]
  )
  client = client_of(server)
  answer = client.answer("Wér 🙂?", context)
  assert answer.text == "日本 👩\u200d👧"
  row = {"question": "Wér 🙂?", "context": context}
  assert server.requests[0][2]["instances"] == [row]
  client.answer("a\ud83d?", context)
  assert server.requests[1][2]["instances"][0]["question"] == "a\ufffd?"


def test_many_questions_go_in_batches_and_come_back_in_order(server):
  for wrong in (0, 2.5, "2"):
    with pytest.raises(ValueError, match="batch_size"):
      client_of(server, batch_size=wrong)
    with pytest.raises(ValueError, match="n_best"):
      client_of(server).answer("Which?", "word", n_best=wrong)
  assert client_of(server).answer([], []) == []
  contexts = [f"word{i} more" for i in range(7)]
  answers = client_of(server, batch_size=3).answer(["Which?"] * 7, contexts)
  assert [answer.text for answer in answers] == [f"word{i}" for i in range(7)]
  assert [len(r[2]["instances"]) for r in server.requests] == [3, 3, 1]


def test_a_connection_is_kept_open_until_the_server_closes_it(server):
  closing = (200, {"Connection": "close"}, _reply("a"))
  with client_of(server) as client:
    for _ in range(3):
      client.answer("Who?", "Ada")
    assert (len(server.requests), server.connections) == (3, 1)
    server.script = [closing]
    assert client.answer("Who?", "a").text == "a"
    assert client.answer("Who?", "Ada").text == "Ada"
    assert server.connections == 2


def test_an_idle_connection_that_the_server_closed_costs_no_attempt(server):
  server.idle_seconds = 0.1
  once = RetryOptions(max_attempts=1)
  client = SpanClient(server.address, retry_options=once)
  client.answer("Who?", "Ada")
  time.sleep(0.3)
  assert client.answer("Who?", "Bea").text == "Bea"
  assert server.connections == 2


def test_a_forked_process_opens_a_connection_of_its_own(server):
  """Else it might read the reply that its parent waits for."""
  client = client_of(server)
  assert client.answer("Who?", "Ada").text == "Ada"
  process = multiprocessing.get_context("fork").Process(
    target=client.answer, args=("Who?", "Bea")
  )
  process.start()
  process.join(60)
  assert process.exitcode == 0
  assert (len(server.requests), server.connections) == (2, 2)
  assert client.answer("Who?", "Cleo").text == "Cleo"
  assert server.connections == 2


def test_threads_share_a_client(server):
  client = client_of(server)
  contexts = [f"w{i}" for i in range(24)]
  with concurrent.futures.ThreadPoolExecutor(6) as pool:
    answers = list(pool.map(lambda c: client.answer("Who?", c), contexts))
  assert [answer.text for answer in answers] == contexts
  assert server.connections <= 6


def test_a_busy_server_is_asked_again_until_it_is_given_up(server):
  cut_short = {"Content-Length": "9999", "Connection": "close"}
  for script in (
    [(429, {}, "slow down"), (200, cut_short, "")],
    [(200, cut_short, '{"predictions": ')],
  ):
    server.script, server.requests = list(script), []
    assert client_of(server).answer("Who?", "Ada").text == "Ada"
    assert len(server.requests) == len(script) + 1
  server.requests = []
  said = '{"error": "Servable not yet loaded."}'
  server.script = [*[(502, {}, "<html>")] * 2, (503, {}, said)]
  text = f"{server.address}.*503.*Servable not yet loaded"
  with pytest.raises(retries.ServerUnavailableError, match=text):
    client_of(server).answer("Who?", "Ada")
  assert len(server.requests) == 3


def test_retry_after_is_waited_for_within_the_deadline(server):
  client = client_of(server)

  def date(seconds):  # of HTTP, cut to whole seconds
    return email.utils.formatdate(time.time() + seconds, usegmt=True)

  for values in (lambda: ("soon", "1"), lambda: (date(-9), date(2))):
    start = time.monotonic()
    server.script = [(503, {"Retry-After": value}, "") for value in values()]
    assert client.answer("Who?", "Ada").text == "Ada"
    assert time.monotonic() - start >= 1.0
  for value in ("3600", "9" * 400, date(3600)):
    server.script = [(503, {"Retry-After": value}, "")]
    with pytest.raises(retries.ServerUnavailableError, match="attempt 1 "):
      client.answer("Who?", "Ada")


def test_a_server_that_starts_late_is_reached_and_a_missing_one_named():
  free = ModelServer()
  free.server_close()  # The port is free: connections are refused.
  with pytest.raises(retries.ServerUnavailableError, match=free.address):
    client_of(free).answer("Who?", "Ada")
  options = RetryOptions(max_attempts=50, first_wait=0.05, longest_wait=0.1)
  client = SpanClient(free.address, retry_options=options)
  with concurrent.futures.ThreadPoolExecutor(1) as pool:
    answer = pool.submit(client.answer, "Who?", "Ada")
    time.sleep(0.2)
    with running(ModelServer(free.server_port)):
      assert answer.result(30).text == "Ada"


@pytest.mark.parametrize(
  ("beginning", "dripped"),
  [
    (b"", b""),
    (b"", b"H"),
    (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    (b"HTTP/1.1 200 OK\r\n", b"A"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", b" "),
    (b"HTTP/1.1 200 OK\r\n\r\n", b" "),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
  ],
)
def test_a_reply_that_drips_or_does_not_come_ends_with_the_timeout(
  beginning, dripped
):
  with socket.create_server(("127.0.0.1", 0)) as listener:
    options = RetryOptions(timeout=0.3)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    client = SpanClient(address, retry_options=options)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
      asked = pool.submit(client.answer, "Who?", "Ada")
      connection, _ = listener.accept()
      with connection, contextlib.suppress(OSError):
        connection.sendall(beginning)
        while not asked.done():
          connection.sendall(dripped)
          time.sleep(0.05)
      with pytest.raises(retries.ServerTimeoutError):
        asked.result(1)


def test_a_server_that_does_not_read_ends_with_the_timeout():
  with socket.create_server(("127.0.0.1", 0)) as listener:
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    client = SpanClient(address, retry_options=RetryOptions(timeout=0.3))
    with pytest.raises(retries.ServerTimeoutError):
      client.answer("Who?", "Ada " * (1 << 22))


@pytest.mark.parametrize(
  ("status", "headers", "error", "remedy"),
  [
    (302, {"Location": "//b"}, RequestRefusedError, "'//b'"),
    (403, {}, RequestRefusedError, "bearer_token"),
    (413, {}, RequestRefusedError, "batch_size"),
    (500, {}, ServingError, "log"),
    (504, {}, retries.ServerTimeoutError, "--rest_api_timeout_in_ms"),
  ],
)
def test_refusals_are_not_repeated_and_name_the_remedy(
  server, status, headers, error, remedy
):
  """What the server says cannot command the terminal."""
  said = json.dumps({"error": "it says \x1b[2J\x1b]0;gone\x07\u202e\nnext."})
  server.script = [(status, headers, said)]
  text = rf"{server.address}.*{status}.*: it says \\x1b\[2J.*next\. .*{remedy}"
  with pytest.raises(error, match=text) as caught:
    client_of(server).answer("Who?", "Ada")
  assert str(caught.value).isprintable()
  assert len(server.requests) == 1


def test_a_model_that_is_not_served_is_named(server):
  for name, value, path in (
    *(("model", "other", "other"), ("version", 9, "bert_span/versions/9")),
    ("label", "old", "bert_span/labels/old"),
  ):
    with pytest.raises(RequestRefusedError, match=f"{name} {value!r}"):
      client_of(server, **{name: value}).answer("Who?", "Ada")
    assert server.requests[-1][0] == f"/v1/models/{path}:predict"


def _reply(context, **changes):
  row = {**output_row(context, [(context, 1.0)]), **changes}
  return json.dumps({"predictions": [row]})


@pytest.mark.parametrize(
  ("body", "message"),
  [
    ("<html>Welcome to nginx</html>", "Welcome to nginx"),
    (b"\xff\xfe", r"\\xff"),
    *(('{"outputs": []}', "predictions"), ('{"predictions": 3}', "list")),
    *(("[" * 100_000, "predictions"), ('{"predictions": []}', "0 rows")),
    ('{"predictions": [7]}', "int"),
    ('{"predictions": [{"logits": 1}]}', "n_best_count, .*logits"),
    (_reply("a", n_best_count=None), "None"),
    (_reply("a", n_best_count=9), "n_best_count, 9"),
    (_reply("a", n_best_score=0.5), "n_best_score"),
    ('{"predictions": [{"span_count": 1}]}', "span_text, .*span_probability"),
    (_reply("a", byte_end=-1), "byte_end is -1"),
    (_reply("a", char_end=True), "char_end is True"),
    (_reply("a", char_end=7, answer="b"), "'b' .*from character 0 to 7"),
    (_reply("a", answer=None), "answer is None"),
    (_reply("a", probability=float("nan")), "probability is nan"),
    (_reply("a", n_best_probability=[2] * 8), "n_best_probability is 2"),
    (_reply("a", is_answerable="no"), "is_answerable is 'no'"),
    (_reply("a", is_answerable=False), "is_answerable is wrong for 'a'"),
    (_reply("a", n_best_is_answerable=[False] * 8), "is_answerable .* 'a'"),
    (_reply("a", n_best_count=2, n_best_is_answerable=[True] * 8), "''"),
  ],
)
def test_replies_of_something_else_are_explained(server, body, message):
  server.script = [(200, {}, body)]
  with pytest.raises(
    retries.ServingError, match=f"{server.address}.*{message}"
  ):
    client_of(server).answer("Who?", "a")


def test_infinity_is_read_as_tensorflow_serving_writes_it(server):
  server.script = [(200, {}, _reply("a", null_odds=-float("inf")))]
  assert client_of(server).answer("Who?", "a").null_odds == -float("inf")


def test_the_bearer_token_is_sent_and_a_missing_one_explained(server):
  server.token = "s3cret"
  credentials = Credentials(bearer_token="s3cret")
  answer = client_of(server, credentials=credentials).answer("Who?", "Ada")
  assert answer.text == "Ada"
  with pytest.raises(RequestRefusedError, match="bearer_token"):
    client_of(server).answer("Who?", "Ada")
  assert "s3cret" not in repr(credentials)


def test_rest_needs_no_tensorflow_nor_grpc_and_takes_any_backend(server):
  program = (
    "import os, sys\n"
    "from bert_span.client import SpanClient\n"
    f"client = SpanClient({server.address!r})\n"
    "assert client.answer('Who?', 'Ada').text == 'Ada'\n"
    "heavy = {'tensorflow', 'keras', 'numpy', 'grpc'} & set(sys.modules)\n"
    "assert not heavy, heavy\n"
    "assert os.environ['KERAS_BACKEND'] == 'torch'\n"
  )
  environ = {**os.environ, "KERAS_BACKEND": "torch"}
  run_python("-c", program, check=True, env=environ)
