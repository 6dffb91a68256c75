"""Examples to windows, batch by batch."""

import collections
import numbers
import os
from concurrent import futures

import numpy as np
import tensorflow as tf

from bert_span.keras_backend import check_not_forked
from bert_span.options.messages import shortened
from bert_span.squad.example import check_text
from bert_span.storage.files import encodable

# Examples that one call of the preprocessor converts, to spread its overhead.
EXAMPLES_PER_BATCH = 64
# At most so many characters of questions and passages in a batch: 64 paragraphs
# have fewer, while each of 64 questions about a book is a separate batch.
CHARACTERS_PER_BATCH = 1 << 18
# Bounds the batches that wait in memory, however many processors there are.
_MAX_THREADS = 8

# The texts that windows are made of.
TEXT_SPECS = {
  name: tf.TensorSpec([None], tf.string) for name in ("question", "context")
}


def text_array(texts, name="texts"):
  """Returns a list of str, or of UTF-8 bytes, as an array of bytes."""
  check_not_forked()
  check_list(texts, name, "str")
  encoded = []
  for i, text in enumerate(texts):
    if not isinstance(text, bytes):
      check_text(text, f"{name}[{i}]")
      text = encodable(text).encode("utf-8")
    encoded.append(text)
  # dtype=object: NumPy's own string type would cut trailing zero bytes.
  return np.array(encoded, object)


def text_tensor(texts, name="texts"):
  """Returns a tensor of what `text_array` takes, or a tensor or its spec."""
  if not is_tensor(texts):
    return tf.constant(text_array(texts, name), tf.string)
  check_tensor(texts, name, texts.dtype == tf.string, "strings", 1)
  return texts


def integer_tensor(values, name):
  """Returns an int64 tensor of a list of int, or of a tensor; or a spec."""
  if not is_tensor(values):
    return tf.constant(integer_list(values, name), tf.int64)
  check_tensor(values, name, values.dtype.is_integer, "integers", 1)
  return values if is_spec(values) else tf.cast(values, tf.int64)


def integer_list(values, name):
  """Returns integers of any type as a list of int."""
  check_list(values, name, "int")
  integers = []
  for i, value in enumerate(values):
    is_int = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_int or abs(int(value)) >= 1 << 63:
      raise ValueError(
        f"{name}[{i}] must be an int. Received: {shortened(value)}."
      )
    integers.append(int(value))
  return integers


def check_list(values, name, kind):
  """Raises ValueError unless values are a list, an array, a column, ..."""
  if isinstance(values, str | bytes | dict) or not np.iterable(values):
    raise ValueError(
      f"{name} must be a list of {kind}. Received: {shortened(values)}."
    )


def is_tensor(values):
  """Whether values are a tensor, or the spec of one of a dataset."""
  return tf.is_tensor(values) or is_spec(values)


def is_spec(values):
  return isinstance(values, tf.TensorSpec | tf.RaggedTensorSpec)


def check_tensor(values, name, has_type, type_name, rank):
  """Raises ValueError unless a tensor, or its spec, has a type and a rank."""
  shape = values.shape
  if has_type and shape.rank == rank:
    return
  remedy = ""
  if has_type and shape.rank == rank - 1:
    remedy = " Batch the dataset: dataset.batch(32)."
  elif has_type and shape.rank is None:
    remedy = " Give from_generator an output_signature."
  raise ValueError(
    f"{name} must be {type_name} of rank {rank}, first the questions. "
    f"Received: {values.dtype.name} of the shape {shape}.{remedy}"
  )


def example_arrays(examples):
  """Returns question and context of examples, arrays of UTF-8 bytes."""
  return {
    "question": text_array(example.question for example in examples),
    "context": text_array(example.context for example in examples),
  }


def example_batches(examples):
  """Divides examples into lists of bounded size, unless one has more alone."""
  check_not_forked()
  batches, room = [], 0
  for example in examples:
    characters = _num_characters(example)
    is_full = not batches or len(batches[-1]) == EXAMPLES_PER_BATCH
    if is_full or characters > room:
      batches.append([])
      room = CHARACTERS_PER_BATCH
    batches[-1].append(example)
    room -= characters
  return batches


def window_batches(examples, make_windows):
  """Converts examples to windows, batch by batch and in bounded memory.

  Threads convert batches ahead of the consumer. (tf.data takes half a second to
  set up.) Tracing a make_windows that is no tf.function takes a second.

  Args:
    examples: sequence of `SquadExample`.
    make_windows: `SpanPreprocessor.windows`, or a tf.function of it.

  Yields (list of examples, dict of arrays) of each batch of `example_batches`;
  `example_index` counts within the batch.
  """
  if not isinstance(make_windows, tf.types.experimental.PolymorphicFunction):
    make_windows = tf.function(make_windows, input_signature=[TEXT_SPECS])

  def convert(batch):
    arrays = example_arrays(batch)
    windows = make_windows(
      {name: tf.constant(x, tf.string) for name, x in arrays.items()}
    )
    # np.asarray does not copy, .numpy() does; the arrays are read-only.
    return {name: np.asarray(values) for name, values in windows.items()}

  # Several batches at a time, unless a single one takes as much memory.
  longest = max(map(_num_characters, examples), default=0)
  is_bounded = longest <= CHARACTERS_PER_BATCH
  num_threads = min(os.cpu_count() or 1, _MAX_THREADS) if is_bounded else 1
  with futures.ThreadPoolExecutor(num_threads) as pool:
    ahead = collections.deque()
    for batch in example_batches(examples):
      ahead.append((batch, pool.submit(convert, batch)))
      if len(ahead) > num_threads:
        done, windows = ahead.popleft()
        yield done, windows.result()
    for done, windows in ahead:
      yield done, windows.result()


def labelled_batches(examples, preprocessor, annotator_labels="soft"):
  """Yields examples, windows, labels and can_train of each batch.

  See `window_batches` and `SpanPreprocessor.label`.
  """
  for batch, windows in window_batches(examples, preprocessor.windows):
    contexts = example_arrays(batch)["context"]
    y = preprocessor.label_arrays(batch)
    labels = preprocessor.label(contexts, y, windows, annotator_labels)
    yield batch, windows, *labels


def window_rows(examples, preprocessor, is_labelled, annotator_labels="soft"):
  """Converts examples to one row a window.

  Example: of a window "[CLS] who ? [SEP] ada [SEP]", in training, a row reads

      {"qas_id": "q1", "doc_span_index": 0,
       "input_ids": [101, 2040, 1029, 102, 15262, 102],
       "segment_ids": [0, 0, 0, 0, 1, 1],
       "start_position": 4, "end_position": 4,
       "token_char_spans": [null, null, null, null, [0, 3], null],
       "max_context": [0, 0, 0, 0, 1, 0]}

  Without labels the positions are None. B/I/O labels replace them by
  tag_labels, the shares of B, I and O of each token of the passage, None for
  other tokens and for examples without labels. token_char_spans are half-open
  offsets into the context in characters, None outside the passage.
  """
  if is_labelled:
    batches = labelled_batches(examples, preprocessor, annotator_labels)
  else:
    batches = window_batches(examples, preprocessor.windows)
  for batch, windows, *labelling in batches:
    labels = labelling[0] if is_labelled else {}
    for i, example_index in enumerate(windows["example_index"]):
      length = int(windows["padding_mask"][i].sum())
      tokens = {
        name: array[i, :length].tolist()
        for name, array in (windows | labels).items()
        if array.ndim > 1
      }
      row = {
        "qas_id": batch[example_index].qas_id,
        "doc_span_index": int(windows["doc_span_index"][i]),
        "input_ids": tokens["token_ids"],
        "segment_ids": tokens["segment_ids"],
      }
      for name in preprocessor.window_labels:
        row[name.removesuffix("s")] = int(labels[name][i]) if labels else None
      spans = (tokens["token_char_starts"], tokens["token_char_ends"])
      row["token_char_spans"] = [
        [start, end] if start >= 0 else None
        for start, end in zip(*spans, strict=True)
      ]
      row["max_context"] = list(map(int, tokens["is_max_context"]))
      if labels:
        for name in preprocessor.token_labels:
          row[name] = [tag if any(tag) else None for tag in tokens[name]]
      yield row


def _num_characters(example):
  return len(example.question) + len(example.context)
