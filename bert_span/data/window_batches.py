"""From examples to windows, batch by batch."""

import collections
import os
from concurrent import futures

import numpy as np
import tensorflow as tf

from bert_span.storage.utf8 import encodable

# Examples that one call of the preprocessor converts: enough to spread the
# cost of a call.
EXAMPLES_PER_BATCH = 64
# Characters of questions and passages that they have together, at most: 64
# paragraphs stay below it, while each of 64 questions about one book stands
# alone. A batch then takes some 100 MB at most, unless one passage takes more.
CHARACTERS_PER_BATCH = 1 << 18
# Bounds the batches that wait in memory, however many processors there are.
_MOST_THREADS = 8

_INPUT_DTYPES = {"question": tf.string, "context": tf.string}
_ANSWER_DTYPES = {
  "answer_text": tf.string,
  "answer_char_start": tf.int32,
  "answer_char_end": tf.int32,
}
# What `SpanPreprocessor` takes without answers.
INPUT_SPECS = {
  name: tf.TensorSpec([None], dtype) for name, dtype in _INPUT_DTYPES.items()
}


def example_arrays(examples, with_answers=False):
  """Lays examples out as arrays, the inputs of `SpanPreprocessor`.

  Args:
    examples: sequence of `SquadExample`.
    with_answers: add the first answer of each, for training. As in run_squad
      only the first one is trained on; an impossible question has none.

  Returns:
    Dict of arrays [examples]: question, context (UTF-8 bytes), and with
    answers answer_text, answer_char_start, answer_char_end (-1: none).
  """
  arrays = {
    "question": _utf8([example.question for example in examples]),
    "context": _utf8([example.context for example in examples]),
  }
  if with_answers:
    answers = [_first_answer(example) for example in examples]
    texts, starts = [a[0] for a in answers], [a[1] for a in answers]
    arrays["answer_text"] = _utf8(texts)
    arrays["answer_char_start"] = np.array(starts, np.int32)
    arrays["answer_char_end"] = np.array(
      [-1 if s < 0 else s + len(t) for t, s in answers], np.int32
    )
  return arrays


def example_batches(examples):
  """Cuts a sequence of examples into those that are converted together.

  A batch ends before its 65th example, and before the one that brings it over
  CHARACTERS_PER_BATCH; a longer example is a batch of its own.

  Args:
    examples: sequence of `SquadExample`.

  Returns:
    List of lists of examples, in order; none is empty.
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

  Batches are converted in threads, one a processor up to _MOST_THREADS, at most
  one batch more than threads ahead of the one that is asked for. (tf.data would
  do the same, but takes half a second to be set up.)

  Args:
    examples: sequence of `SquadExample`.
    preprocessor: `SpanPreprocessor`, or a tf.function of one: else every call
      traces it, which takes a second.
    with_answers: label the windows, for training.

  Yields:
    (list of examples, dict of arrays): a batch of `example_batches` and what
    the preprocessor makes of it, all windows of these examples.
    `example_index` counts within the batch.
  """
  dtypes = {**_INPUT_DTYPES, **(_ANSWER_DTYPES if with_answers else {})}
  if not isinstance(preprocessor, tf.types.experimental.PolymorphicFunction):
    specs = {name: tf.TensorSpec([None], t) for name, t in dtypes.items()}
    preprocessor = tf.function(preprocessor, input_signature=[specs])

  def convert(batch):
    arrays = example_arrays(batch, with_answers)
    windows = preprocessor(
      {n: tf.constant(arrays[n], dtypes[n]) for n in dtypes}
    )
    # Without a copy, which .numpy() would make; read-only for that.
    return {name: np.asarray(values) for name, values in windows.items()}

  batches = example_batches(examples)
  # Several batches at a time, unless one alone takes as much memory.
  longest = max(map(_num_characters, examples), default=0)
  is_bounded = longest <= CHARACTERS_PER_BATCH
  threads = min(os.cpu_count() or 1, _MOST_THREADS) if is_bounded else 1
  yield from zip(batches, _mapped(convert, batches, threads), strict=True)


def _mapped(function, values, num_threads):
  """Results in the order of `values`, at most one more than threads ahead."""
  with futures.ThreadPoolExecutor(num_threads) as pool:
    ahead = collections.deque()
    for value in values:
      ahead.append(pool.submit(function, value))
      if len(ahead) > num_threads:
        yield ahead.popleft().result()
    while ahead:
      yield ahead.popleft().result()


def _num_characters(example):
  return len(example.question) + len(example.context)


def _first_answer(example):
  if example.is_impossible or not example.answers:
    return "", -1
  return example.answers[0].text, example.answers[0].char_start


def _utf8(texts):
  # dtype=object: NumPy would cut trailing zero bytes of its own string type.
  array = np.empty(len(texts), object)
  array[:] = [encodable(text).encode("utf-8") for text in texts]
  return array
