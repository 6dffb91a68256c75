"""Writes warm-up requests, which TensorFlow Serving replays on loading."""

import importlib.util

import tensorflow as tf

from bert_span.serving.signatures import INPUTS, LOGITS, SERVING_DEFAULT
from bert_span.serving.version_folder import extra_path
from bert_span.storage.log import log_line


def check_warmup(with_warmup):
  """Returns whether an export writes warm-up requests; logs why it does not.

  tensorflow-serving-api defines their format. with_warmup None writes them if
  it is installed, True requires it, False writes none.
  """
  if with_warmup is False:
    return False
  if importlib.util.find_spec("tensorflow_serving"):
    return True
  need = "need tensorflow-serving-api: `pip install 'bert_span[serving]'`"
  if with_warmup:
    raise ValueError(
      f"with_warmup: the requests {need}, or give with_warmup=False."
    )
  log_line(f"Without warm-up requests, which {need}.")
  return False


def write_warmup_requests(directory, model_name, batches, max_seq_length):
  """Writes requests that TensorFlow Serving replays while it loads a version.

  The first request to a graph is slow, since kernels are chosen and memory is
  allocated. With these requests no client waits for that. Each batch, a list of
  (question, context), asks both signatures.
  """
  # Only those who write requests need the package.
  from tensorflow_serving.apis import prediction_log_pb2

  logs = []
  for batch in batches:
    questions, contexts = zip(*batch, strict=True)
    rows = tf.ones([len(batch), max_seq_length], tf.int32)
    inputs = {
      SERVING_DEFAULT: {"question": questions, "context": contexts},
      LOGITS: dict.fromkeys(INPUTS[LOGITS], rows),
    }
    for signature, columns in inputs.items():
      logs.append(prediction_log_pb2.PredictionLog())
      request = logs[-1].predict_log.request
      request.model_spec.name = model_name
      request.model_spec.signature_name = signature
      for name, values in columns.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(values))
  path = extra_path(directory, "tf_serving_warmup_requests")
  with tf.io.TFRecordWriter(path) as writer:
    for log in logs:
      writer.write(log.SerializeToString())
