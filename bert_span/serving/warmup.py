"""Requests that TensorFlow Serving replays before it calls a version ready.

The first request to a graph is slow: kernels are chosen, memory is taken. The
server replays the records of assets.extra/tf_serving_warmup_requests while it
loads a version, so no client meets that.
"""

import importlib.util
import os

import tensorflow as tf

from bert_span.serving import signatures
from bert_span.serving.version_folder import EXTRA_FOLDER
from bert_span.storage.log import log_line

WARMUP_FILE = "tf_serving_warmup_requests"


def are_written(with_warmup):
  """Whether an export writes warm-up requests; logs why it does not.

  Args:
    with_warmup: True insists on them, False leaves them out. None writes them
      if tensorflow-serving-api is installed, which defines their format.

  Raises:
    ValueError: with_warmup is True and the package is not installed.
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
  """Writes requests for each of the four signatures.

  Args:
    directory: of the SavedModel.
    model_name: what the requests call the model.
    batches: list of batches, each a list of pairs (question, context).
    max_seq_length: WordPieces of the longest request to "logits".

  Returns:
    The number of records.
  """
  records = [
    record
    for batch in batches
    for record in (
      _answer_log(model_name, batch),
      _examples_log(model_name, batch),
      _classify_log(model_name, batch),
      _logits_log(model_name, len(batch), max_seq_length),
    )
  ]
  folder = os.path.join(directory, EXTRA_FOLDER)
  os.makedirs(folder, exist_ok=True)
  with tf.io.TFRecordWriter(os.path.join(folder, WARMUP_FILE)) as writer:
    for record in records:
      writer.write(record.SerializeToString())
  return len(records)


def _answer_log(model_name, batch):
  questions, contexts = zip(*batch, strict=True)
  return _predict_log(
    model_name,
    signatures.SERVING_DEFAULT,
    question=tf.constant(questions),
    context=tf.constant(contexts),
  )


def _examples_log(model_name, batch):
  serialized = [_example(*pair).SerializeToString() for pair in batch]
  return _predict_log(
    model_name, signatures.EXAMPLES, examples=tf.constant(serialized)
  )


def _logits_log(model_name, num_windows, seq_length):
  rows = tf.ones([num_windows, seq_length], tf.int32)
  return _predict_log(
    model_name,
    signatures.LOGITS,
    input_ids=rows,
    input_mask=rows,
    segment_ids=tf.zeros_like(rows),
  )


def _predict_log(model_name, signature, **inputs):
  from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

  request = predict_pb2.PredictRequest()
  request.model_spec.name = model_name
  request.model_spec.signature_name = signature
  for name, values in inputs.items():
    request.inputs[name].CopyFrom(tf.make_tensor_proto(values))
  return prediction_log_pb2.PredictionLog(
    predict_log=prediction_log_pb2.PredictLog(request=request)
  )


def _classify_log(model_name, batch):
  from tensorflow_serving.apis import classification_pb2, prediction_log_pb2

  request = classification_pb2.ClassificationRequest()
  request.model_spec.name = model_name
  request.model_spec.signature_name = signatures.CLASSIFY
  request.input.example_list.examples.extend(_example(*pair) for pair in batch)
  return prediction_log_pb2.PredictionLog(
    classify_log=prediction_log_pb2.ClassifyLog(request=request)
  )


def _example(question, context):
  """The tf.Example of the signatures "examples" and "classify"."""
  return tf.train.Example(
    features=tf.train.Features(
      feature={
        name: tf.train.Feature(
          bytes_list=tf.train.BytesList(value=[text.encode("utf-8")])
        )
        for name, text in (("question", question), ("context", context))
      }
    )
  )
