"""Sends questions to a server over TensorFlow Serving's gRPC API.

Importing this needs tensorflow-serving-api, which needs TensorFlow.
"""

import pathlib

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from bert_span.client.predict_api import SERVING_DEFAULT, rows_of_columns
from bert_span.client.retries import ServingError, serving_error

_CHANNEL_OPTIONS = (
  # Passages may be longer than gRPC's 4 MB.
  ("grpc.max_send_message_length", -1),
  ("grpc.max_receive_message_length", -1),
  # Reconnect as fast as requests are repeated; the default waits a second.
  ("grpc.initial_reconnect_backoff_ms", 100),
  ("grpc.min_reconnect_backoff_ms", 100),
  ("grpc.max_reconnect_backoff_ms", 2000),
)


class GrpcTransport:
  """Sends rows as tensors, with the methods of `RestTransport`."""

  def __init__(self, endpoint, credentials):
    self._endpoint = endpoint
    token = credentials.bearer_token
    self._metadata = [("authorization", f"Bearer {token}")] if token else []
    target = endpoint.host_and_port
    if endpoint.is_encrypted:
      # It checks the files; gRPC would only log their faults.
      credentials.ssl_context()
      tls = grpc.ssl_channel_credentials(
        root_certificates=_read_file(credentials.ca_file),
        private_key=_read_file(credentials.key_file),
        certificate_chain=_read_file(credentials.certificate_file),
      )
      self._channel = grpc.secure_channel(target, tls, _CHANNEL_OPTIONS)
    else:
      self._channel = grpc.insecure_channel(target, _CHANNEL_OPTIONS)
    self._service = prediction_service_pb2_grpc.PredictionServiceStub(
      self._channel
    )

  def predict(self, rows, timeout):
    """Returns the rows of outputs; see `RestTransport.predict`."""
    endpoint, request = self._endpoint, predict_pb2.PredictRequest()
    request.model_spec.name = endpoint.model
    request.model_spec.signature_name = SERVING_DEFAULT
    if endpoint.version is not None:
      request.model_spec.version.value = endpoint.version
    if endpoint.label is not None:
      request.model_spec.version_label = endpoint.label
    for name in rows[0]:
      values = [row[name].encode("utf-8") for row in rows]
      request.inputs[name].CopyFrom(tf.make_tensor_proto(values))
    try:
      response = self._service.Predict(
        request, timeout=timeout, metadata=self._metadata
      )
    except grpc.RpcError as error:
      code = error.code().name
      details = (error.details() or "no details").rstrip(". ")
      raise serving_error(
        code, f"{endpoint.address}: {endpoint.target}: {code}: {details}"
      ) from error
    try:
      columns = {
        name: tf.make_ndarray(tensor).tolist()
        for name, tensor in response.outputs.items()
      }
      return list(rows_of_columns(columns))
    except (ValueError, TypeError) as error:
      raise ServingError(
        f"{endpoint.address}: the reply is not columns of one length: {error}. "
        "Is it a model server?"
      ) from error

  def close(self):
    """Closes the channel."""
    self._channel.close()


def _read_file(path):
  return pathlib.Path(path).read_bytes() if path else None
