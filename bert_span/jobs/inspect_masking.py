"""What inspect_masking does: shows how text is masked."""

import itertools
import json
import typing

from bert_span.pretraining.batches import open_text
from bert_span.pretraining.masking import MaskedSpan
from bert_span.storage.atomic_file import write_lines

if typing.TYPE_CHECKING:
  from bert_span.inspect_masking import InspectMaskingOptions


def inspect_masking(options: "InspectMaskingOptions"):
  """Shows every sequence of the text, spans and boundaries."""
  pretraining_input, sources = open_text(options)
  sequences = pretraining_input.sequences(sources, options.epoch)
  sequences = itertools.islice(sequences, options.max_sequences)
  if options.output_file:
    rows = map(_masked_row, sequences)
    write_lines(options.output_file, map(json.dumps, rows))
    return
  vocabulary, masking = pretraining_input.vocabulary, pretraining_input.masking
  for number, masked in enumerate(sequences):
    lines = masked_lines(masked, vocabulary, masking)
    print(f"Sequence {number}: " + "\n".join(lines) + "\n", flush=True)


def _masked_row(masked):
  """Returns a `MaskedSequence` as JSON values, with positions from [CLS]."""
  names = MaskedSpan._fields[2:]  # those after token_start and token_end
  return {
    "input_ids": masked.original_ids.tolist(),
    "masked_input_ids": masked.input_ids.tolist(),
    "spans": [
      {"span": span[:2], **dict(zip(names, span[2:], strict=True))}
      for span in masked.spans
    ],
  }


def masked_lines(masked, vocabulary, options):
  """Returns a `MaskedSequence` as the lines that inspect_masking prints."""
  before = [vocabulary[i] for i in masked.original_ids]
  after = [vocabulary[i] for i in masked.input_ids]
  marked = list(before)
  for span in masked.spans:
    marked[span.token_start] = "{" + marked[span.token_start]
    marked[span.token_end] += "}"
  num_masked = sum(s.token_end - s.token_start + 1 for s in masked.spans)
  lines = [
    f"{len(before)} WordPieces, {num_masked} masked of a budget of "
    f"{options.budget(len(before) - 2)}",
    " ".join(marked),
  ]
  for span in masked.spans:
    part = slice(span.token_start, span.token_end + 1)
    place = f"{span.token_start}-{span.token_end}"
    words = f"{span.word_count} word{'s' if span.word_count > 1 else ''}"
    left, right = (
      "none (edge)" if position is None else f"{before[position]} ({position})"
      for position in (span.left_boundary, span.right_boundary)
    )
    lines += [
      f"  {place}: {' '.join(before[part])} -> {' '.join(after[part])}",
      f"  {' ' * len(place)}  {words}, {span.decision}, between {left} and "
      f"{right}",
    ]
  return lines
