"""The graph that is served, whatever the head: strings in, answers out."""

import dataclasses

import tensorflow as tf

from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.serving.byte_offsets import byte_offsets
from bert_span.serving.window_loop import WindowLoop

SERVING_DEFAULT = "serving_default"
LOGITS = "logits"
EXAMPLES = "examples"
CLASSIFY = "classify"

_STRINGS = tf.TensorSpec([None], tf.string)
_ROWS = tf.TensorSpec([None, None], tf.int32)  # [batch, seq_length]


@dataclasses.dataclass(frozen=True)
class ServingOptions:
  """How the graph runs the encoder.

  Attributes:
    max_windows_per_step: windows that the encoder reads at once; it bounds the
      memory of long passages.
    jit_compile: compile the encoder with XLA, once for each number of windows
      and length of windows.
  """

  max_windows_per_step: int = 16
  jit_compile: bool = False

  def __post_init__(self):
    if self.max_windows_per_step < 1:
      raise ValueError(
        "max_windows_per_step must be at least 1. Received: "
        f"{self.max_windows_per_step}."
      )


class AnswerServer(tf.Module):
  """A trained model with all that stands around it, ready to be exported.

  Text, windows and decoding are the package's own layers, so a served answer
  is the evaluated answer. There is one exception: a question without a single
  WordPiece gets no answer here.

  What it answers, `ServedAnswers.guide` of the head says: columns [batch] or
  [batch, n]. Of a span head n is n_best_size, and one more with
  version_2_with_negative; of a B/I/O head the largest span_count of the batch,
  and 1 at least. Padding is "", 0 and False.

  Example:

  ```python
  server = AnswerServer(extractor)
  answers = server.answer(
    tf.constant(["Who came?"]), tf.constant(["John Smith came."])
  )
  answers["answer"]  # string [1]
  ```

  Args:
    extractor: `SpanExtractor`. Where it pads to max_seq_length, the encoder
      runs on padding too, as the original.
    options: `ServingOptions`.
  """

  def __init__(self, extractor, options=None):
    super().__init__(name="answer_server")
    options = options or ServingOptions()
    head = extractor.head
    preprocessor = extractor.preprocessor
    if preprocessor.options.max_query_length < 1:
      raise ValueError(
        "max_query_length must be at least 1 WordPiece to serve a model, or "
        "every question would be empty. Received: "
        f"{preprocessor.options.max_query_length}."
      )
    self.model = InferenceModel(extractor.model)
    encode = _encode_function(
      self.model, tuple(head.logits), options.jit_compile
    )
    loop = WindowLoop(
      encode,
      list(head.logits.values()),
      options.max_windows_per_step,
      fixed_length=preprocessor.sliding_windows.pad_to_max,
      round_rows=options.jit_compile,
    )
    answer = _answer_function(
      preprocessor, loop, head, extractor.decoder_options
    )
    self._functions = {
      SERVING_DEFAULT: answer,
      LOGITS: _logits_function(encode, tuple(head.logits)),
      EXAMPLES: _examples_function(answer),
      CLASSIFY: _classify_function(answer, head.served.classes),
    }

  def answer(self, question, context):
    """Answers questions; what the signature serving_default does.

    Args:
      question: string [batch].
      context: string [batch]. Both may hold any bytes; what is not UTF-8
        counts as U+FFFD.

    Returns:
      Dict of dense tensors, see the class. Scores are float32.

    Raises:
      tf.errors.InvalidArgumentError: question and context differ in number.
    """
    return self._functions[SERVING_DEFAULT](question, context)

  @property
  def signatures(self):
    """Dict of name to tf.function, the signatures of the SavedModel."""
    return dict(self._functions)


def _encode_function(model, names, jit_compile):
  """A tf.function of input_ids, input_mask, segment_ids to all logits."""

  def encode(input_ids, input_mask, segment_ids):
    outputs = model(
      {
        "token_ids": input_ids,
        "segment_ids": segment_ids,
        "padding_mask": input_mask,
      }
    )
    return tuple(outputs[name] for name in names)

  return tf.function(
    encode,
    input_signature=[_ROWS] * 3,
    autograph=False,
    jit_compile=jit_compile or None,
  )


def _answer_function(preprocessor, loop, head, options):
  """See `AnswerServer.answer`."""
  decode = head.make_decoder(options)

  @tf.function(input_signature=[_STRINGS, _STRINGS], autograph=False)
  def answer(question, context):
    tf.debugging.assert_equal(
      tf.size(question),
      tf.size(context),
      "question and context must have the same batch size, one passage for "
      "each question",
    )
    windows = preprocessor({"question": question, "context": context})
    windows = _with_a_question(windows)
    columns = decode(context, windows, *loop(windows))
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


def _with_a_question(windows):
  """Only the windows whose question has a WordPiece.

  Nothing is asked by the others, and an example without a window gets no
  answer.
  """
  # [CLS] question [SEP] passage: without a question the passage begins at 2.
  rows = tf.where(windows["first_context_position"] > 2)[:, 0]
  return {name: tf.gather(values, rows) for name, values in windows.items()}


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
