"""Windows as rows for people and other programs: JSON values, no padding."""

from bert_span.data.bio_labels import window_bio_labels
from bert_span.data.window_batches import window_batches


def window_rows(examples, preprocessor, is_training):
  """Converts examples to one row a window, a batch of examples at a time.

  Example: of a window "[CLS] who ? [SEP] ada [SEP]", in training, a row reads

      {"qas_id": "q1", "doc_span_index": 0,
       "input_ids": [101, 2040, 1029, 102, 15262, 102],
       "segment_ids": [0, 0, 0, 0, 1, 1],
       "start_position": 4, "end_position": 4,
       "token_char_spans": [null, null, null, null, [0, 3], null],
       "max_context": [0, 0, 0, 0, 1, 0]}

  Args:
    examples: sequence of `SquadExample`.
    preprocessor: `SpanPreprocessor`.
    is_training: label the windows with the first answer of each example; the
      positions are None otherwise.

  Yields:
    Dicts of what JSON holds, in the order of `examples`. Positions index the
    window and are inclusive, (0, 0) where it does not hold the answer, (-1, -1)
    where the answer has no token, which is not trained on;
    token_char_spans are half-open offsets into the context in characters,
    None for what is no token of it. A passage without tokens has no row.
  """
  batches = window_batches(examples, preprocessor, with_answers=is_training)
  for batch, windows in batches:
    for row, example_index in enumerate(windows["example_index"]):
      qas_id = batch[example_index].qas_id
      yield {"qas_id": qas_id, **_row(windows, row, is_training)}


def bio_window_rows(examples, preprocessor, annotator_labels):
  """Converts examples to rows with B/I/O labels, as the B/I/O head learns them.

  Args:
    examples: sequence of `SquadExample`.
    preprocessor: `SpanPreprocessor`.
    annotator_labels: see `tag_labels`.

  Yields:
    The dicts of `window_rows`, with tag_labels instead of positions: [share of
    B, of I, of O] of every token of the passage, None for others. All are None
    where no annotator's answer has a token, which is not trained on.
  """
  for batch, windows in window_batches(examples, preprocessor):
    labels, _ = window_bio_labels(batch, windows, annotator_labels)
    for row, example_index in enumerate(windows["example_index"]):
      fields = _row(windows, row, is_training=False)
      del fields["start_position"], fields["end_position"]
      shares = labels[row, : len(fields["input_ids"])].tolist()
      yield {
        "qas_id": batch[example_index].qas_id,
        **fields,
        "tag_labels": [share if any(share) else None for share in shares],
      }


def _row(windows, row, is_training):
  """The fields of one window of a dict of arrays."""
  length = int(windows["input_mask"][row].sum())

  def unpadded(name):
    return windows[name][row, :length].tolist()

  def position(name):
    return int(windows[name][row]) if is_training else None

  char_spans = zip(
    unpadded("token_char_starts"), unpadded("token_char_ends"), strict=True
  )
  return {
    "doc_span_index": int(windows["doc_span_index"][row]),
    "input_ids": unpadded("input_ids"),
    "segment_ids": unpadded("segment_ids"),
    "start_position": position("start_positions"),
    "end_position": position("end_positions"),
    "token_char_spans": [
      None if start < 0 else [start, end] for start, end in char_spans
    ],
    "max_context": [int(best) for best in unpadded("is_max_context")],
  }
