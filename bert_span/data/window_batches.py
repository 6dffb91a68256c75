"""Examples to windows, batch by batch."""

import collections
import os
from concurrent import futures

import numpy as np
import tensorflow as tf

from bert_span.data.call_arguments import text_array
from bert_span.keras_backend import check_not_forked

# Examples that one call of the preprocessor converts: its overhead is shared.
EXAMPLES_PER_BATCH = 64
# Limits the questions and passages in a batch: 64 paragraphs have fewer
# characters, while each of 64 questions about a book is a separate batch.
CHARACTERS_PER_BATCH = 1 << 18
# Limits the batches that wait in memory, however many processors there are.
_MAX_THREADS = 8

# The specs of the texts that windows are made of.
TEXT_SPECS = {
  name: tf.TensorSpec([None], tf.string) for name in ("question", "context")
}


def example_arrays(examples):
  """Returns the questions and contexts of examples, arrays of UTF-8 bytes."""
  return {
    "question": text_array(example.question for example in examples),
    "context": text_array(example.context for example in examples),
  }


def example_batches(examples):
  """Divides examples into lists of bounded size.

  An example with more than CHARACTERS_PER_BATCH is a batch of its own.
  """
  check_not_forked()
  batches, free_characters = [], 0
  for example in examples:
    num_characters = _num_characters(example)
    is_full = not batches or len(batches[-1]) == EXAMPLES_PER_BATCH
    if is_full or num_characters > free_characters:
      batches.append([])
      free_characters = CHARACTERS_PER_BATCH
    batches[-1].append(example)
    free_characters -= num_characters
  return batches


def window_batches(examples, preprocessor):
  """Converts examples to windows, batch by batch and in bounded memory.

  Threads convert batches ahead of the consumer; tf.data would need half a
  second to set up.

  Args:
    examples: sequence of `SquadExample`.
    preprocessor: a `SpanPreprocessor`.

  Yields:
    (list of examples, dict of arrays) for each batch of `example_batches`.
    `example_index` counts within the batch.
  """
  make_windows = preprocessor.traced_windows

  def convert(batch):
    arrays = example_arrays(batch)
    windows = make_windows(
      {name: tf.constant(x, tf.string) for name, x in arrays.items()}
    )
    # np.asarray does not copy, .numpy() does; the arrays are read-only.
    return {name: np.asarray(values) for name, values in windows.items()}

  # One batch at a time if an example is longer than a batch should be.
  longest = max(map(_num_characters, examples), default=0)
  num_threads = 1
  if longest <= CHARACTERS_PER_BATCH:
    num_threads = min(os.cpu_count() or 1, _MAX_THREADS)
  with futures.ThreadPoolExecutor(num_threads) as pool:
    ahead = collections.deque()
    for batch in example_batches(examples):
      ahead.append((batch, pool.submit(convert, batch)))
      if len(ahead) > num_threads:
        converted, windows = ahead.popleft()
        yield converted, windows.result()
    for converted, windows in ahead:
      yield converted, windows.result()


def labelled_batches(examples, preprocessor, annotator_labels="soft"):
  """Yields (examples, windows, labels, can_train) for each batch.

  See `window_batches` for the first two, `SpanPreprocessor.label` for the rest.
  """
  for batch, windows in window_batches(examples, preprocessor):
    contexts = example_arrays(batch)["context"]
    y = preprocessor.label_arrays(batch)
    labels = preprocessor.label(contexts, y, windows, annotator_labels)
    yield batch, windows, *labels


def window_rows(examples, preprocessor, is_labelled, annotator_labels="soft"):
  """Yields one row, a dict of JSON values, for each window of examples.

  Example: the row of a labelled window "[CLS] who ? [SEP] ada [SEP]" is

      {"qas_id": "q1", "doc_span_index": 0,
       "input_ids": [101, 2040, 1029, 102, 15262, 102],
       "segment_ids": [0, 0, 0, 0, 1, 1],
       "start_position": 4, "end_position": 4,
       "token_char_spans": [null, null, null, null, [0, 3], null],
       "max_context": [0, 0, 0, 0, 1, 0]}

  Without labels the positions are None. With B/I/O labels the row has
  tag_labels instead of them: the shares of B, I and O for each token of the
  passage, and None for other tokens and for examples without labels.
  token_char_spans are half-open offsets into the context in characters, and
  None outside the passage.
  """
  if is_labelled:
    batches = labelled_batches(examples, preprocessor, annotator_labels)
  else:
    batches = window_batches(examples, preprocessor)
  for batch, windows, *labels_and_can_train in batches:
    labels = labels_and_can_train[0] if is_labelled else {}
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
