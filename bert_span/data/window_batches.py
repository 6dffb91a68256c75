"""Examples to windows, batch by batch."""

import collections
import os
from concurrent import futures

import numpy as np
import tensorflow as tf

from bert_span.data.window_labels import SPAN_LABELS
from bert_span.squad.example import NOT_LOCATED, Answer
from bert_span.storage.files import encodable

# Examples that one call of the preprocessor converts, to spread its overhead.
EXAMPLES_PER_BATCH = 64
# At most so many characters of questions and passages in a batch: 64 paragraphs
# have fewer, while each of 64 questions about a book is a separate batch.
CHARACTERS_PER_BATCH = 1 << 18
# Bounds the batches that wait in memory, however many processors there are.
_MAX_THREADS = 8

# The inputs of `SpanPreprocessor` without answers, and those of answers.
INPUT_SPECS = {
  name: tf.TensorSpec([None], tf.string) for name in ("question", "context")
}
_ANSWER_SPECS = {
  "answer_text": tf.TensorSpec([None], tf.string),
  "answer_char_start": tf.TensorSpec([None], tf.int32),
  "answer_char_end": tf.TensorSpec([None], tf.int32),
}


def example_arrays(examples, with_answers=False):
  """Converts examples to arrays [examples], the inputs of `SpanPreprocessor`.

  question and context are UTF-8 bytes. With answers there are also answer_text,
  answer_char_start and answer_char_end (-1: none) of the first answer, the only
  one that run_squad trains on; an impossible question has none.
  """
  arrays = {
    "question": _utf8(example.question for example in examples),
    "context": _utf8(example.context for example in examples),
  }
  if with_answers:
    answers = [
      example.answers[0]
      if example.answers and not example.is_impossible
      else Answer("", NOT_LOCATED)
      for example in examples
    ]
    starts = np.array([answer.char_start for answer in answers], np.int32)
    ends = starts + np.array([len(answer.text) for answer in answers], np.int32)
    arrays["answer_text"] = _utf8(answer.text for answer in answers)
    arrays["answer_char_start"] = starts
    arrays["answer_char_end"] = np.where(starts < 0, -1, ends)
  return arrays


def example_batches(examples):
  """Divides examples into lists that are converted together, in order.

  A batch has at most EXAMPLES_PER_BATCH examples, and at most
  CHARACTERS_PER_BATCH characters unless a single example has more.
  """
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


def window_batches(examples, preprocessor, with_answers=False):
  """Converts examples to windows, batch by batch and in bounded memory.

  Threads convert batches ahead of the consumer. (tf.data takes half a second to
  set up.) Tracing a preprocessor that is no tf.function takes a second.

  Yields:
    (list of examples, dict of arrays): a batch of `example_batches` and its
    windows. `example_index` counts within the batch.
  """
  specs = INPUT_SPECS | _ANSWER_SPECS if with_answers else INPUT_SPECS
  if not isinstance(preprocessor, tf.types.experimental.PolymorphicFunction):
    preprocessor = tf.function(preprocessor, input_signature=[specs])

  def convert(batch):
    arrays = example_arrays(batch, with_answers)
    windows = preprocessor(
      {n: tf.constant(arrays[n], spec.dtype) for n, spec in specs.items()}
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


def window_rows(examples, preprocessor, labels=None, annotator_labels="soft"):
  """Converts examples to one row a window.

  Example: of a window "[CLS] who ? [SEP] ada [SEP]", in training, a row reads

      {"qas_id": "q1", "doc_span_index": 0,
       "input_ids": [101, 2040, 1029, 102, 15262, 102],
       "segment_ids": [0, 0, 0, 0, 1, 1],
       "start_position": 4, "end_position": 4,
       "token_char_spans": [null, null, null, null, [0, 3], null],
       "max_context": [0, 0, 0, 0, 1, 0]}

  Without `WindowLabels` the positions are None. B/I/O labels replace them by
  tag_labels, the shares of B, I and O of each token of the passage, None for
  other tokens and for examples without labels. token_char_spans are half-open
  offsets into the context in characters, None outside the passage.
  """
  names = labels or SPAN_LABELS
  with_answers = labels is not None and not labels.every_annotator
  for batch, windows in window_batches(examples, preprocessor, with_answers):
    values = {}
    if labels is not None:
      values, _ = labels.label(batch, windows, annotator_labels)
    for i, example_index in enumerate(windows["example_index"]):
      length = int(windows["input_mask"][i].sum())
      tokens = {
        name: array[i, :length].tolist()
        for name, array in (windows | values).items()
        if array.ndim > 1
      }
      row = {
        "qas_id": batch[example_index].qas_id,
        "doc_span_index": int(windows["doc_span_index"][i]),
        "input_ids": tokens["input_ids"],
        "segment_ids": tokens["segment_ids"],
      }
      for name in names.window_labels:
        row[name.removesuffix("s")] = int(values[name][i]) if values else None
      spans = (tokens["token_char_starts"], tokens["token_char_ends"])
      row["token_char_spans"] = [
        [start, end] if start >= 0 else None
        for start, end in zip(*spans, strict=True)
      ]
      row["max_context"] = list(map(int, tokens["is_max_context"]))
      for name in names.token_labels:
        row[name] = [each if any(each) else None for each in tokens[name]]
      yield row


def _num_characters(example):
  return len(example.question) + len(example.context)


def _utf8(texts):
  # dtype=object: NumPy's own string type would cut trailing zero bytes.
  return np.array([encodable(text).encode("utf-8") for text in texts], object)
