"""The graph that is served: strings in, answers out."""

import dataclasses

import tensorflow as tf

from bert_span.answers.decoder import SpanDecoder
from bert_span.serving.byte_offsets import byte_offsets
from bert_span.serving.window_loop import WindowLoop

SERVING_DEFAULT = "serving_default"
LOGITS = "logits"
EXAMPLES = "examples"
CLASSIFY = "classify"

_STRINGS = tf.TensorSpec([None], tf.string)
_ROWS = tf.TensorSpec([None, None], tf.int32)  # [batch, seq_length]
# What the encoder and the decoder read of `SlidingWindows`.
_WINDOW_COLUMNS = (
  "example_index",
  "input_ids",
  "input_mask",
  "segment_ids",
  "token_char_starts",
  "token_char_ends",
  "is_max_context",
)
_PLACES = ("char_start", "char_end", "n_best_char_start", "n_best_char_end")


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


class SpanServer(tf.Module):
  """A trained model with all that stands around it, ready to be exported.

  Text, windows and decoding are the package's own layers, so a served answer
  is the evaluated answer. There is one exception: a question without a single
  WordPiece gets no answer here.

  Example:

  ```python
  server = SpanServer(extractor.model, extractor.preprocessor, DecoderOptions())
  answers = server.answer(
    tf.constant(["Who came?"]), tf.constant(["John Smith came."])
  )
  answers["answer"]  # string [1]
  ```

  Args:
    model: a `SpanModel`.
    preprocessor: its `SpanPreprocessor`. Where that pads to max_seq_length,
      the encoder runs on padding too, as the original.
    decoder_options: `DecoderOptions`.
    options: `ServingOptions`.
  """

  def __init__(self, model, preprocessor, decoder_options, options=None):
    super().__init__(name="span_server")
    options = options or ServingOptions()
    if preprocessor.options.max_query_length < 1:
      raise ValueError(
        "max_query_length must be at least 1 WordPiece to serve a model, or "
        "every question would be empty. Received: "
        f"{preprocessor.options.max_query_length}."
      )
    # Raw variables only. Keras objects as attributes of a tf.Module are
    # tracked in Keras' own way, and converters then drop their values.
    self.encoder_variables = [weight.value for weight in model.weights]
    encode = _encode_function(model, options.jit_compile)
    loop = WindowLoop(
      encode,
      options.max_windows_per_step,
      fixed_length=preprocessor.sliding_windows.pad_to_max,
      round_rows=options.jit_compile,
    )
    answer = _answer_function(preprocessor, loop, SpanDecoder(decoder_options))
    self._functions = {
      SERVING_DEFAULT: answer,
      LOGITS: _logits_function(encode),
      EXAMPLES: _examples_function(answer),
      CLASSIFY: _classify_function(answer),
    }

  def answer(self, question, context):
    """Answers questions; what the signature serving_default does.

    Args:
      question: string [batch].
      context: string [batch]. Both may hold any bytes; what is not UTF-8
        counts as U+FFFD.

    Returns:
      Dict of dense tensors. Per question, [batch]:
        answer: string, valid UTF-8; "" for no answer.
        char_start, char_end: int32, characters of the context, half-open.
        byte_start, byte_end: int32, bytes of the context, half-open.
        score, probability, null_odds: float32, see `SpanDecoder`.
        is_answerable: bool, whether the answer is a span.
        n_best_count: int32, entries of the n-best list that are no padding.
      Per entry, [batch, n_best], best first: n_best_answer, n_best_char_start,
      n_best_char_end, n_best_byte_start, n_best_byte_end, n_best_score,
      n_best_probability, and n_best_is_answerable: whether the entry is a span
      and neither "no answer" nor padding. n_best is n_best_size, and one more
      with version_2_with_negative. Padding is "", 0 and False.

    Raises:
      tf.errors.InvalidArgumentError: question and context differ in number.
    """
    return self._functions[SERVING_DEFAULT](question, context)

  @property
  def signatures(self):
    """Dict of name to tf.function, the signatures of the SavedModel."""
    return dict(self._functions)


def _encode_function(model, jit_compile):
  """A tf.function of input_ids, input_mask, segment_ids to two logits."""

  def encode(input_ids, input_mask, segment_ids):
    outputs = model(
      {
        "token_ids": input_ids,
        "segment_ids": segment_ids,
        "padding_mask": input_mask,
      },
      training=False,
    )
    return outputs["start_logits"], outputs["end_logits"]

  return tf.function(
    encode,
    input_signature=[_ROWS] * 3,
    autograph=False,
    jit_compile=jit_compile or None,
  )


def _answer_function(preprocessor, loop, decoder):
  """See `SpanServer.answer`."""

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
    columns = decoder(context, windows, *loop(windows))
    n_best = decoder.options.n_best_size
    if decoder.options.version_2_with_negative:
      n_best += 1
    return _served_columns(columns, context, n_best)

  return answer


def _logits_function(encode):
  @tf.function(input_signature=[_ROWS] * 3, autograph=False)
  def logits(input_ids, input_mask, segment_ids):
    start_logits, end_logits = encode(input_ids, input_mask, segment_ids)
    return {"start_logits": start_logits, "end_logits": end_logits}

  return logits


def _examples_function(answer):
  @tf.function(input_signature=[_STRINGS], autograph=False)
  def answer_examples(examples):
    return answer(*_parsed(examples))

  return answer_examples


def _classify_function(answer):
  @tf.function(input_signature=[_STRINGS], autograph=False)
  def classify(inputs):
    columns = answer(*_parsed(inputs))
    # The names that TensorFlow Serving's classification service looks for.
    return {
      "classes": columns["n_best_answer"],
      "scores": columns["n_best_probability"],
    }

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
  return {name: tf.gather(windows[name], rows) for name in _WINDOW_COLUMNS}


def _served_columns(columns, contexts, n_best):
  """The decoder's columns under their served names and types."""
  served = dict(columns)
  for name in ("n_best_start_logit", "n_best_end_logit"):
    del served[name]
  served["n_best_answer"] = served.pop("n_best_text")
  served["n_best_is_answerable"] = (
    served["n_best_char_end"] > served["n_best_char_start"]
  )
  served.update(_byte_columns(columns, contexts))
  for name, values in served.items():
    if values.dtype == tf.float64:  # The decoder's; a sum fits float32.
      values = tf.cast(values, tf.float32)
    is_list = name.startswith("n_best_") and name != "n_best_count"
    served[name] = tf.ensure_shape(
      values, [None, n_best] if is_list else [None]
    )
  return served


def _byte_columns(columns, contexts):
  """byte_start, byte_end, n_best_byte_start and n_best_byte_end."""
  places = [columns[name] for name in _PLACES]
  tables = [x if x.shape.rank == 2 else x[:, tf.newaxis] for x in places]
  widths = [tf.shape(table)[1] for table in tables]
  in_bytes = tf.split(
    byte_offsets(contexts, tf.concat(tables, axis=1)), widths, axis=1
  )
  return {
    name.replace("char", "byte"): tf.reshape(values, tf.shape(place))
    for name, place, values in zip(_PLACES, places, in_bytes, strict=True)
  }
