"""Windows as rows of JSON values, without padding."""

from bert_span.data.window_batches import window_batches


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
  with_answers = labels is not None and not labels.every_annotator
  for batch, windows in window_batches(examples, preprocessor, with_answers):
    values = {}
    if labels is not None:
      values, _ = labels.label(batch, windows, annotator_labels)
    for row, example_index in enumerate(windows["example_index"]):
      qas_id = batch[example_index].qas_id
      yield {"qas_id": qas_id, **_row(windows, row, labels, values)}


def _row(windows, row, labels, values):
  """The fields of one window of a dict of arrays."""
  length = int(windows["input_mask"][row].sum())

  def unpadded(name):
    return windows[name][row, :length].tolist()

  of_window = {"start_position": None, "end_position": None}
  of_tokens = {}
  if labels is not None:
    of_window = {
      name.removesuffix("s"): int(values[name][row])
      for name in labels.window_labels
    }
    of_tokens = {
      name: [
        shares if any(shares) else None
        for shares in values[name][row, :length].tolist()
      ]
      for name in labels.token_labels
    }
  char_spans = zip(
    unpadded("token_char_starts"), unpadded("token_char_ends"), strict=True
  )
  return {
    "doc_span_index": int(windows["doc_span_index"][row]),
    "input_ids": unpadded("input_ids"),
    "segment_ids": unpadded("segment_ids"),
    **of_window,
    "token_char_spans": [
      None if start < 0 else [start, end] for start, end in char_spans
    ],
    "max_context": [int(best) for best in unpadded("is_max_context")],
    **of_tokens,
  }
