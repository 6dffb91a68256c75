"""The signatures that a SavedModel is served by."""

import tensorflow as tf

from bert_span.serving.byte_offsets import byte_offsets

SERVING_DEFAULT = "serving_default"
LOGITS = "logits"
EXAMPLES = "examples"
CLASSIFY = "classify"

_STRINGS = tf.TensorSpec([None], tf.string)
_ROWS = tf.TensorSpec([None, None], tf.int32)  # [windows, seq_length]


class ServedModel(tf.Module):
  """The graph that answers for a `SpanExtractor`, with its signatures.

  A served answer is the extractor's, with one exception: a question without a
  single WordPiece gets no answer here.

  What it answers, `ServedAnswers.guide` of the head says: columns [batch] or
  [batch, n], scores in float32. Of a span head n is n_best_size, and one more
  with version_2_with_negative; of a B/I/O head the largest span_count of the
  batch, and 1 at least. Padding is "", 0 and False.

  Example:

  ```python
  served = ServedModel(extractor)
  answers = served.functions["serving_default"](
    tf.constant(["Who came?"]), tf.constant(["John Smith came."])
  )
  answers["answer"]  # string [1]
  ```

  Args:
    extractor: `SpanExtractor`.
    steps: `StepOptions`; None takes those of this machine.

  Attributes:
    model: the `InferenceModel`, which holds all variables.
    functions: dict of the names of signatures to a tf.function of each.
  """

  def __init__(self, extractor, steps=None):
    super().__init__(name="served_model")
    if extractor.window_options.max_query_length < 1:
      raise ValueError(
        "max_query_length must be at least 1 WordPiece to serve a model, or "
        "every question would be empty. Received: "
        f"{extractor.window_options.max_query_length}."
      )
    head = extractor.head
    graph = extractor.make_graph(steps)
    answer = _answer_function(graph, head, extractor.decoder_options)
    self.model = graph.model
    self.functions = {
      SERVING_DEFAULT: answer,
      LOGITS: _logits_function(graph.encode, tuple(head.logits)),
      EXAMPLES: _examples_function(answer),
      CLASSIFY: _classify_function(answer, head.served.classes),
    }


def _answer_function(graph, head, options):
  @tf.function(input_signature=[_STRINGS, _STRINGS], autograph=False)
  def answer(question, context):
    most = tf.constant(graph.steps.max_windows_per_step)
    columns = graph.columns(question, context, most, answer_blank=False)
    return _with_bytes(head.served.columns(options, columns), context)

  return answer


def _logits_function(encode, names):
  @tf.function(input_signature=[_ROWS] * 3, autograph=False)
  def logits(input_ids, input_mask, segment_ids):
    values = encode(input_ids, input_mask, segment_ids)
    return dict(zip(names, values, strict=True))

  return logits


def _examples_function(answer):
  @tf.function(input_signature=[_STRINGS], autograph=False)
  def answer_examples(examples):
    return answer(*_parsed(examples))

  return answer_examples


def _classify_function(answer, classes_of):
  @tf.function(input_signature=[_STRINGS], autograph=False)
  def classify(inputs):
    classes, scores = classes_of(answer(*_parsed(inputs)))
    # The names that TensorFlow Serving's classification service looks for.
    return {"classes": classes, "scores": scores}

  return classify


def _parsed(examples):
  """The questions and contexts, string [batch], of serialized tf.Examples."""
  feature = tf.io.FixedLenFeature([], tf.string)
  parsed = tf.io.parse_example(
    examples, {"question": feature, "context": feature}
  )
  return parsed["question"], parsed["context"]


def _with_bytes(columns, contexts):
  """A head's columns with byte offsets, under their served types and shapes."""
  served = {**columns, **_byte_columns(columns, contexts)}
  for name, values in served.items():
    if values.dtype == tf.float64:  # The decoder's; a sum fits float32.
      values = tf.cast(values, tf.float32)
    # The batch is free, whatever the decoder's ops could tell of it.
    served[name] = tf.ensure_shape(values, [None, *values.shape[1:]])
  return served


def _byte_columns(columns, contexts):
  """The columns of characters once more, in bytes."""
  names = [n for n in columns if n.endswith(("char_start", "char_end"))]
  places = [columns[name] for name in names]
  tables = [x if x.shape.rank == 2 else x[:, tf.newaxis] for x in places]
  widths = [tf.shape(table)[1] for table in tables]
  in_bytes = tf.split(
    byte_offsets(contexts, tf.concat(tables, axis=1)), widths, axis=1
  )
  return {
    name.replace("char", "byte"): tf.ensure_shape(
      tf.reshape(values, tf.shape(place)), place.shape
    )
    for name, place, values in zip(names, places, in_bytes, strict=True)
  }
