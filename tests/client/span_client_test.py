"""Questions to a served model and its answers, over REST."""

import concurrent.futures
import json
import os
import time

import pytest

from bert_span.client import RequestRefusedError, RetryOptions, ServingError
from bert_span.client.endpoint import Credentials
from bert_span.client.retries import ServerUnavailableError
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


def test_a_question_is_answered_with_offsets_and_n_best(server):
  client = client_of(server)
  answer = client.answer("Who came?", "Ada came.")
  first = ServedAnswer("Ada", 0, 3, 7.5, 0.75, -3.5, byte_end=3)
  assert answer == first
  assert answer.is_answerable
  n_best = [first, ServedAnswer("", 0, 0, -1.5, 0.25, -3.5)]
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
  context = "Ada came, and Bea."
  server.answer = lambda question, context: span_row(
    context, [("Ada", 0.25), ("Bea", 0.5)] if context else []
  )
  client = client_of(server)
  (ada, bea), nothing = client.answers(["Who came?"] * 2, [context, ""])
  assert (ada.text, bea.text, nothing) == ("Ada", "Bea", [])
  assert client.answer("Who came?", context) == bea  # the best score
  assert client.answer("Who came?", context, n_best=9) == [bea, ada]
  assert client.answer("Who?", "").text == ""
  assert client.answer("Who?", "", n_best=9) == []


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
  assert client_of(server).answer([], []) == []
  contexts = [f"word{i} more" for i in range(7)]
  answers = client_of(server, batch_size=3).answer(["Which?"] * 7, contexts)
  assert [answer.text for answer in answers] == [f"word{i}" for i in range(7)]
  assert [len(r[2]["instances"]) for r in server.requests] == [3, 3, 1]


@pytest.mark.parametrize("wrong", [0, 2.5, "2"])
def test_a_number_of_questions_or_answers_is_at_least_1(server, wrong):
  with pytest.raises(ValueError, match="batch_size"):
    client_of(server, batch_size=wrong)
  with pytest.raises(ValueError, match="n_best"):
    client_of(server).answer("Which?", "word", n_best=wrong)


def test_a_busy_server_is_asked_again_until_it_is_given_up(server):
  server.script = [(429, {}, "slow down"), (502, {}, "<html>")]
  assert client_of(server).answer("Who?", "Ada").text == "Ada"
  assert len(server.requests) == 3
  said = '{"error": "Servable not yet loaded."}'
  server.script = [(503, {}, said)] * 3
  text = f"{server.address}.*503.*Servable not yet loaded.*attempt 3"
  with pytest.raises(ServerUnavailableError, match=text):
    client_of(server).answer("Who?", "Ada")
  assert len(server.requests) == 6


def test_a_server_that_starts_late_is_reached():
  free = ModelServer()
  free.server_close()  # The port is free: connections are refused.
  options = RetryOptions(max_attempts=50, first_wait=0.05, longest_wait=0.1)
  client = SpanClient(free.address, retry_options=options)
  with concurrent.futures.ThreadPoolExecutor(1) as pool:
    answer = pool.submit(client.answer, "Who?", "Ada")
    time.sleep(0.2)
    with running(ModelServer(free.server_port)):
      assert answer.result(30).text == "Ada"


def test_a_model_that_is_not_served_is_named(server):
  for name, value, path in (
    *(("model", "other", "other"), ("version", 9, "bert_span/versions/9")),
    ("label", "old", "bert_span/labels/old"),
  ):
    with pytest.raises(RequestRefusedError, match=f"{name} {value!r}"):
      client_of(server, **{name: value}).answer("Who?", "Ada")
    assert server.requests[-1][0] == f"/v1/models/{path}:predict"


@pytest.mark.parametrize(
  ("predictions", "named"), [([], "0 rows"), ([{"logits": 1}], "logits")]
)
def test_a_server_of_another_model_is_named(server, predictions, named):
  server.script = [(200, {}, json.dumps({"predictions": predictions}))]
  with pytest.raises(ServingError, match=f"{server.address}.*{named}"):
    client_of(server).answer("Who?", "a")


def test_credentials_are_sent(server):
  server.token = "s3cret"
  credentials = Credentials(bearer_token="s3cret")
  answer = client_of(server, credentials=credentials).answer("Who?", "Ada")
  assert answer.text == "Ada"


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
