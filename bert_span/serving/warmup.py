"""Requests that TensorFlow Serving replays before it calls a version ready.

The first request to a graph is slow: kernels are chosen, memory is allocated.
The server replays the records of assets.extra/tf_serving_warmup_requests while
it loads a version, so no client waits for that.
"""

import importlib.util
import os

import tensorflow as tf

from bert_span.serving import signatures
from bert_span.serving.version_folder import EXTRA_FOLDER
from bert_span.storage.log import log_line


def are_written(with_warmup):
  """Whether an export writes warm-up requests; logs why it does not.

  tensorflow-serving-api defines their format. None writes them if it is
  installed, True requires it, False writes none.
  """
  if with_warmup is False:
    return False
  if importlib.util.find_spec("tensorflow_serving") is not None:
    return True
  need = "need the package tensorflow-serving-api, which is not installed"
  install = "`pip install 'bert_span[serving]'`"
  if with_warmup:
    raise ValueError(
      f"--warmup: warm-up requests {need}. Install it with {install}, or leave "
      "them out with --nowarmup."
    )
  log_line(f"Without warm-up requests: they {need} ({install}).")
  return False


def write_warmup_requests(directory, model_name, batches, max_seq_length):
  """Writes requests for each of the four signatures, and returns their number.

  Args:
    directory: of the SavedModel.
    model_name: of the served model.
    batches: list of lists of pairs (question, context).
    max_seq_length: WordPieces of the requests to "logits".
  """
  # Only those who write requests need the package.
  from tensorflow_serving.apis import prediction_log_pb2

  logs = []
  for batch in batches:
    questions, contexts = zip(*batch, strict=True)
    examples = [_example(*pair) for pair in batch]
    rows = tf.ones([len(batch), max_seq_length], tf.int32)
    requests = {
      signatures.SERVING_DEFAULT: {"question": questions, "context": contexts},
      signatures.EXAMPLES: {
        "examples": [example.SerializeToString() for example in examples]
      },
      signatures.LOGITS: {
        "input_ids": rows,
        "input_mask": rows,
        "segment_ids": tf.zeros_like(rows),
      },
    }
    for signature, inputs in requests.items():
      log = prediction_log_pb2.PredictionLog()
      request = log.predict_log.request
      request.model_spec.name = model_name
      request.model_spec.signature_name = signature
      for name, values in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(values))
      logs.append(log)
    log = prediction_log_pb2.PredictionLog()
    request = log.classify_log.request
    request.model_spec.name = model_name
    request.model_spec.signature_name = signatures.CLASSIFY
    request.input.example_list.examples.extend(examples)
    logs.append(log)
  folder = os.path.join(directory, EXTRA_FOLDER)
  os.makedirs(folder, exist_ok=True)
  path = os.path.join(folder, "tf_serving_warmup_requests")
  with tf.io.TFRecordWriter(path) as writer:
    for log in logs:
      writer.write(log.SerializeToString())
  return len(logs)


def _example(question, context):
  """The tf.Example of the signatures "examples" and "classify"."""
  features = {
    name: tf.train.Feature(bytes_list=tf.train.BytesList(value=[text.encode()]))
    for name, text in (("question", question), ("context", context))
  }
  return tf.train.Example(features=tf.train.Features(feature=features))
