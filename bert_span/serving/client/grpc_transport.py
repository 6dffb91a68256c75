"""Questions to a server over TensorFlow Serving's gRPC API.

The generated classes come from the package tensorflow-serving-api, and these
need TensorFlow; both are imported when the first transport is made.
"""

import pathlib

from bert_span.serving.client.retries import (
  RequestRefusedError,
  ServerTimeoutError,
  ServerUnavailableError,
)

_SIGNATURE = "serving_default"
_CHANNEL_OPTIONS = (
  # Passages may be longer than gRPC's 4 MB.
  ("grpc.max_send_message_length", -1),
  ("grpc.max_receive_message_length", -1),
  # Reconnect as fast as requests are repeated; the default waits a second.
  ("grpc.initial_reconnect_backoff_ms", 100),
  ("grpc.min_reconnect_backoff_ms", 100),
  ("grpc.max_reconnect_backoff_ms", 2000),
)
_REMEDIES = {
  "NOT_FOUND": "Check the names of model, version and label against the "
  "server's models.config.",
  "INVALID_ARGUMENT": "The request does not fit the model's signature "
  "serving_default, or it has more questions than max_batch_size of the "
  "server's batching parameters.",
  "UNAUTHENTICATED": "Give a valid bearer_token.",
  "PERMISSION_DENIED": "This bearer_token or client certificate may not ask "
  "this model.",
  "UNIMPLEMENTED": "This is no gRPC port of TensorFlow Serving.",
  "RESOURCE_EXHAUSTED": "Lower batch_size; the server has no memory for it or "
  "takes no message of this size.",
}


class GrpcTransport:
  """Sends rows of inputs as tensors and reads rows of outputs.

  Threads may share it.

  Args:
    endpoint: `Endpoint` with the scheme grpc or grpcs.
    credentials: `Credentials`.

  Raises:
    ImportError: tensorflow-serving-api is not installed.
  """

  def __init__(self, endpoint, credentials):
    # Before gRPC is asked, which would only log what is wrong with them.
    if endpoint.is_encrypted:
      credentials.ssl_context()
    self._api = _ServingApi()
    self._endpoint = endpoint
    self._metadata = ()
    if credentials.bearer_token:
      self._metadata = (
        ("authorization", f"Bearer {credentials.bearer_token}"),
      )
    self._channel = self._open_channel(credentials)
    self._stub = self._api.service.PredictionServiceStub(self._channel)

  def predict(self, rows, timeout):
    """Asks for the outputs of some rows.

    Args:
      rows: list of dicts of input name to str.
      timeout: seconds.

    Returns:
      List of dicts of output name to value.

    Raises:
      ServingError: there are none; see retries.py for its kinds.
    """
    try:
      response = self._stub.Predict(
        self._request(rows), timeout=timeout, metadata=self._metadata
      )
    except self._api.grpc.RpcError as error:
      raise self._failure(error) from error
    return self._rows(response)

  def close(self):
    """Closes the channel."""
    self._channel.close()

  def _open_channel(self, credentials):
    target = self._endpoint.host_and_port
    grpc = self._api.grpc
    if not self._endpoint.is_encrypted:
      return grpc.insecure_channel(target, _CHANNEL_OPTIONS)
    channel_credentials = grpc.ssl_channel_credentials(
      _bytes_of(credentials.ca_file),
      _bytes_of(credentials.key_file),
      _bytes_of(credentials.certificate_file),
    )
    return grpc.secure_channel(target, channel_credentials, _CHANNEL_OPTIONS)

  def _request(self, rows):
    request = self._api.predict_pb2.PredictRequest()
    request.model_spec.name = self._endpoint.model
    request.model_spec.signature_name = _SIGNATURE
    if self._endpoint.version is not None:
      request.model_spec.version.value = self._endpoint.version
    if self._endpoint.label is not None:
      request.model_spec.version_label = self._endpoint.label
    for name in rows[0]:
      values = [row[name].encode("utf-8") for row in rows]
      request.inputs[name].CopyFrom(
        self._api.tensorflow.make_tensor_proto(values, shape=[len(rows)])
      )
    return request

  def _rows(self, response):
    """Columns of tensors to rows of Python values."""
    columns = {
      name: self._api.tensorflow.make_ndarray(tensor).tolist()
      for name, tensor in response.outputs.items()
    }
    lengths = {len(values) for values in columns.values()}
    return [
      {name: _decoded(values[i]) for name, values in columns.items()}
      for i in range(min(lengths, default=0))
    ]

  def _failure(self, error):
    """The ServingError of an RpcError."""
    code = error.code().name
    details = (error.details() or "no details").rstrip(". ")
    message = (
      f"{self._endpoint.address}: {self._endpoint.target}: {code}: {details}."
    )
    if code == "UNAVAILABLE":
      return ServerUnavailableError(
        f"{message} Is the server running, is this its gRPC port (--port, "
        "often 8500), and is its certificate trusted (ca_file) where it uses "
        "TLS?"
      )
    if code == "DEADLINE_EXCEEDED":
      return ServerTimeoutError(
        f"{message} Raise timeout, lower batch_size, or send shorter passages."
      )
    return RequestRefusedError(
      f"{message} {_REMEDIES.get(code, 'See the log of the server.')}"
    )


class _ServingApi:
  """The modules that gRPC needs, imported together."""

  def __init__(self):
    try:
      import grpc
      import tensorflow
      from tensorflow_serving.apis import (
        predict_pb2,
        prediction_service_pb2_grpc,
      )
    except ImportError as error:
      raise ImportError(
        f"gRPC needs the package tensorflow-serving-api ({error}): pip install "
        "'bert_span[serving]', or ask over REST (http://...), which needs "
        "nothing."
      ) from error
    self.grpc = grpc
    self.tensorflow = tensorflow
    self.predict_pb2 = predict_pb2
    self.service = prediction_service_pb2_grpc


def _bytes_of(path):
  return None if path is None else pathlib.Path(path).read_bytes()


def _decoded(value):
  """Bytes to str, also within a list."""
  if isinstance(value, list):
    return [_decoded(item) for item in value]
  return value.decode("utf-8") if isinstance(value, bytes) else value
