"""From examples to windows, with tf.data."""

import numpy as np
import tensorflow as tf

from bert_span.text.encodable import encodable

# Examples that one call of the preprocessor converts: enough to spread the
# cost of a call, few enough that a batch of long articles stays small.
EXAMPLES_PER_BATCH = 64


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


def window_dataset(
  examples,
  preprocessor,
  with_answers=False,
  examples_per_batch=EXAMPLES_PER_BATCH,
):
  """Converts examples to windows, several batches at a time.

  Args:
    examples: sequence of `SquadExample`.
    preprocessor: `SpanPreprocessor`.
    with_answers: label the windows, for training.
    examples_per_batch: examples of one element; all windows of an example
      stand in the same element.

  Returns:
    tf.data.Dataset of the preprocessor's dict, in the order of `examples`.
    `example_index` counts within the element.
  """
  arrays = example_arrays(examples, with_answers)
  dataset = tf.data.Dataset.from_tensor_slices(arrays)
  dataset = dataset.batch(examples_per_batch)
  dataset = dataset.map(preprocessor, num_parallel_calls=tf.data.AUTOTUNE)
  return dataset.prefetch(tf.data.AUTOTUNE)


def _first_answer(example):
  if example.is_impossible or not example.answers:
    return "", -1
  return example.answers[0].text, example.answers[0].char_start


def _utf8(texts):
  # dtype=object: NumPy would cut trailing zero bytes of its own string type.
  array = np.empty(len(texts), object)
  array[:] = [encodable(text).encode("utf-8") for text in texts]
  return array
