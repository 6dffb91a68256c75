"""A client of served models, over REST or gRPC."""

import functools

from bert_span.client.endpoint import Credentials, parse_endpoint
from bert_span.client.predict_api import DEFAULT_MODEL
from bert_span.client.retries import (
  RetryOptions,
  ServingError,
  call_with_retries,
)
from bert_span.client.served_answer import prediction_of_row
from bert_span.squad.example import question_pairs
from bert_span.storage.files import encodable


class SpanClient:
  """Asks an export of `export_saved_model` that a server has loaded.

  Example:

  ```python
  with SpanClient("http://localhost:8501") as client:
    answer = client.answer("Who came?", "John Smith came.")
    answer.text, answer.char_start, answer.probability
    client.answer(questions, contexts)  # lists: a list of answers
    client.answers("Who came?", "Ada came, and Bea.")  # spans by position
  ```

  Threads may use a client together; over REST each has a connection.

  Args:
    address: "http://host:8501" or "https://host" for REST, "grpc://host:8500"
      or "grpcs://host:8500" for gRPC.
    model: name of the model on the server.
    version: number of the version to ask; None: the server decides.
    label: label of the version instead, such as "stable"; the models.config of
      TensorFlow Serving must have it.
    batch_size: questions in a request; at most the server's max_batch_size.
    retry_options: `RetryOptions` of each request.
    credentials: `Credentials` for TLS and a bearer token.

  Raises:
    ValueError: an argument is wrong.
    ImportError: the address is for gRPC and tensorflow-serving-api is not
      installed.
  """

  def __init__(
    self,
    address,
    model=DEFAULT_MODEL,
    version=None,
    label=None,
    batch_size=16,
    retry_options=None,
    credentials=None,
  ):
    credentials = credentials or Credentials()
    self._endpoint = parse_endpoint(address, model, version, label)
    credentials.check(self._endpoint)
    _check_count("batch_size", batch_size)
    self._batch_size = batch_size
    self._retry_options = retry_options or RetryOptions()
    # Imported here, as REST needs neither TensorFlow nor gRPC.
    if self._endpoint.is_rest:
      from bert_span.client.rest_transport import RestTransport as Transport
    else:
      try:
        from bert_span.client.grpc_transport import GrpcTransport as Transport
      except ImportError as error:
        raise ImportError(
          f"gRPC needs the package tensorflow-serving-api ({error}): pip "
          "install 'bert_span[serving]', or ask over REST (http://...)."
        ) from error
    self._transport = Transport(self._endpoint, credentials)

  def answer(self, question, context, n_best=1):
    """Answers one question, or several.

    Args:
      question: str, or a list of str.
      context: str, the passage of all questions, or a list of as many str.
      n_best: answers for each question, as in `SpanExtractor.answer`.

    Returns:
      A `ServedAnswer`, or with n_best above 1 a list of them, best first, at
      most as many as the export has. For lists, a list of these. Offsets are
      into `context`: a lone surrogate in it is sent as U+FFFD, which is one
      character, too.

    Raises:
      ValueError: question and context do not match, or n_best is below 1.
      ServingError: the server gave no answers. Its subclasses distinguish a
        wrong request, an unavailable server and a timeout.
    """
    _check_count("n_best", n_best)
    return self._map_predictions(lambda p: p.best(n_best), question, context)

  def answers(self, question, context):
    """Answers one question, or several, with a list of spans.

    A B/I/O head gives any number of spans, a span head at most one. Arguments
    and errors are as in `answer`.

    Returns:
      For one question a list of `ServedAnswer` in order of position, [] for no
      answer; for a list of questions a list of these.
    """
    return self._map_predictions(lambda p: list(p.spans), question, context)

  def close(self):
    """Closes the connections."""
    self._transport.close()

  def __enter__(self):
    return self

  def __exit__(self, *exception):
    self.close()

  def _map_predictions(self, function, question, context):
    """Returns function(`Prediction`) of one question, or a list of several."""
    rows = [
      {"question": encodable(q), "context": encodable(c)}
      for q, c in question_pairs(question, context)
    ]
    answers = []
    for begin in range(0, len(rows), self._batch_size):
      predictions = self._predictions(rows[begin : begin + self._batch_size])
      answers += map(function, predictions)
    return answers[0] if isinstance(question, str) else answers

  def _predictions(self, rows):
    """Returns the `Prediction`s of one request's rows."""
    predict = functools.partial(self._transport.predict, rows)
    outputs = call_with_retries(predict, self._retry_options)
    try:
      if len(outputs) != len(rows):
        raise ValueError(f"{len(outputs)} rows for {len(rows)} questions")
      contexts = [row["context"] for row in rows]
      return list(map(prediction_of_row, outputs, contexts))
    except ValueError as error:
      raise ServingError(
        f"{self._endpoint.address}: {self._endpoint.target} does not answer as "
        f"an export of bert_span: {error}."
      ) from error


def _check_count(name, value):
  if type(value) is not int or value < 1:
    raise ValueError(
      f"{name} must be a whole number of at least 1. Received: {value!r}."
    )
