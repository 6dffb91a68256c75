"""The signatures of a served model, and its SavedModel."""

import os
import tempfile

import tensorflow as tf

from bert_span.client.predict_api import SERVING_DEFAULT
from bert_span.storage.atomic_file import write_lines

LOGITS = "logits"
# Descriptions of each signature's inputs, for people.
INPUTS = {
  SERVING_DEFAULT: {
    "question": "the question",
    "context": "the passage, of any length; bytes that are not UTF-8 count as "
    "U+FFFD, one character",
  },
  LOGITS: {
    "input_ids": "vocabulary ids: [CLS] question [SEP] window [SEP]",
    "input_mask": "1 for WordPieces, 0 for padding",
    "segment_ids": "0 up to the first [SEP], 1 after it",
  },
}

_STRINGS = tf.TensorSpec([None], tf.string)
_ROWS = tf.TensorSpec([None, None], tf.int32)  # [windows, seq_length]


class ServedModel(tf.Module):
  """The graph of an `Extractor`; `functions` has one for each signature.

  It gives the extractor's answers. `Extractor.columns` describes the outputs:
  columns [batch] or [batch, n], scores in float32. For a span head n is
  n_best_size, plus 1 with version_2_with_negative; for a B/I/O head it is the
  largest span_count of the batch, and at least 1. Padding is "", 0 and False.
  """

  def __init__(self, extractor, steps=None, on_windows=None):
    super().__init__(name="served_model")
    if extractor.window_options.max_query_length < 1:
      raise ValueError(
        "max_query_length must be at least 1 WordPiece to serve a model. "
        f"Received: {extractor.window_options.max_query_length}."
      )
    graph = extractor.make_graph(steps, on_windows)
    outputs = extractor.columns
    num_entries = _num_entries(outputs, extractor.decoder_options)
    logit_names = tuple(extractor.logits)

    @tf.function(input_signature=[_STRINGS, _STRINGS], autograph=False)
    def answer(question, context):
      question, context = _check_ranks(question=question, context=context)
      most = tf.constant(graph.steps.max_windows_per_step)
      columns = graph.columns(question, context, most)
      return served_columns(outputs, columns, context, num_entries)

    @tf.function(input_signature=[_ROWS] * 3, autograph=False)
    def logits(input_ids, input_mask, segment_ids):
      rows = _check_ranks(
        input_ids=input_ids, input_mask=input_mask, segment_ids=segment_ids
      )
      values = graph.encode(*rows)
      return dict(zip(logit_names, values, strict=True))

    # Resources of ops are saved only if they are tracked.
    self.text_resources = extractor.preprocessor.tokenizer.resources
    self.model = graph.model
    self.functions = {SERVING_DEFAULT: answer, LOGITS: logits}


def _num_entries(columns, options):
  """Returns the entries in a list of answers; None if the batch decides."""
  if columns.entries == "spans":
    return None
  return options.n_best_size + int(options.version_2_with_negative)


def _check_ranks(**inputs):
  """Checks the ranks of the inputs, as no server does, and returns them."""
  checks = []
  for name, values in inputs.items():
    axes = ["batch", "seq_length"][: values.shape.rank]
    # As text, such as "3 1": TensorFlow would replace a number of axes by that
    # of the signature before the graph runs.
    sizes = tf.strings.as_string(tf.shape(values))
    sizes = tf.strings.reduce_join(sizes, separator=" ")
    checks.append(
      tf.debugging.Assert(
        tf.strings.regex_full_match(sizes, " ".join(["[0-9]+"] * len(axes))),
        [f"{name} must have the shape [{', '.join(axes)}]. Received:", sizes],
      )
    )
  with tf.control_dependencies(checks):
    return [tf.identity(values) for values in inputs.values()]


def write_saved_model(served, vocabulary, directory):
  """Writes a `ServedModel`, with its vocabulary as the asset vocab.txt."""
  # Clients of the signature "logits" need the vocabulary.
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "vocab.txt")
    write_lines(path, vocabulary)
    served.vocabulary = tf.saved_model.Asset(path)
    # tf.Module has wrapped the attribute, so it is copied into a dict.
    signatures = dict(served.functions)
    tf.saved_model.save(served, directory, signatures=signatures)


def byte_offsets(texts, char_offsets):
  r"""Turns a list of offsets in characters into offsets in bytes.

  Offsets are int32 [batch] or [batch, n]. Bytes that decode to one U+FFFD are
  one character:

      text            h  é      l  \xff  o
      characters      0  1      2  3     4  5
      bytes           0  1      3  4     5  6
  """
  _, starts = tf.strings.unicode_decode_with_offsets(texts, "UTF-8")
  ends = tf.cast(tf.strings.length(texts), tf.int64)
  # ragged int64 [batch, characters + 1]
  table = tf.concat([starts, ends[:, tf.newaxis]], axis=1)
  rows = table.row_starts()  # [batch]
  in_bytes = []
  for offsets in char_offsets:
    row = rows if offsets.shape.rank == 1 else rows[:, tf.newaxis]
    at = row + tf.cast(offsets, tf.int64)
    in_bytes.append(tf.cast(tf.gather(table.flat_values, at), tf.int32))
  return in_bytes


def served_columns(table, decoded, contexts, num_entries=None):
  """Makes the columns that a server returns of a decoder's columns.

  `table` is an `AnswerColumns`, `decoded` a dict of [batch] or [batch, n],
  contexts string [batch]; num_entries is n, None if it depends on the batch.
  """
  byte_columns = [column for column in table.served if column.bytes_of]
  in_chars = [decoded[column.bytes_of] for column in byte_columns]
  names = [column.name for column in byte_columns]
  in_bytes = dict(zip(names, byte_offsets(contexts, in_chars), strict=True))
  served = {}
  for column in table.served:
    value = (decoded | in_bytes)[column.name]
    # The decoder's scores are float64; users get float32.
    value = tf.cast(value, column.dtype) if column.dtype != "string" else value
    # The batch has any size, even if the decoder's ops would fix it.
    shape = [None, num_entries] if column in table.entry else [None]
    served[column.name] = tf.ensure_shape(value, shape)
  return served
