"""Points 2 and 8: windows and labels."""

import hashlib
import re

from bert_span.certificate.check import Tally
from bert_span.data.window_labels import SPAN_LABELS
from bert_span.data.window_rows import window_rows
from bert_span.text.answer_positions import NO_TOKEN
from bert_span.text.preprocessor import SpanPreprocessor

# As run_squad: what separates the words that token_to_orig_map counts.
_WORD = re.compile("[^ \t\r\n\u202f]+")
_POSITIONS = ("start_position", "end_position")


def check_windows(goldens, configurations):
  """Compares every window that the original wrote.

  Args:
    goldens: `GoldenFiles`.
    configurations: of `Configuration`.

  Returns:
    List of `Check`, one per configuration.
  """
  return [_check_windows(goldens, c) for c in configurations]


def our_features(goldens, configuration):
  """Our windows with the keys and hashes of `features_<name>.jsonl.gz`.

  Args:
    goldens: `GoldenFiles`.
    configuration: `Configuration`.

  Returns:
    List of dicts in the order of the file.
  """
  examples = configuration.examples(goldens)
  preprocessor = SpanPreprocessor(
    goldens.vocabulary, options=configuration.options
  )
  contexts = {example.qas_id: example.context for example in examples}
  return [
    _feature(row, contexts[row["qas_id"]], configuration.options)
    for row in window_rows(
      examples,
      preprocessor,
      SPAN_LABELS if configuration.is_training else None,
    )
  ]


def is_mislabelled(feature):
  """Whether the original's label ends before it starts (its quirk 4)."""
  start, end = (feature[name] for name in _POSITIONS)
  return start is not None and start > end


def _check_windows(goldens, configuration):
  expected = goldens.read(f"features_{configuration.name}.jsonl.gz")
  written = {feature["qas_id"] for feature in expected}
  ours = our_features(goldens, configuration)
  compared = {_key(f): f for f in ours if f["qas_id"] in written}
  options = configuration.options
  tally = Tally(
    f"Windows {configuration.name}: {configuration.file}, "
    f"{options.max_seq_length}/{options.doc_stride}/{options.max_query_length}"
    f"{', labelled' if configuration.is_training else ''}"
  )
  order = [_key(feature) for feature in expected]
  if _in_order(configuration, compared) != _in_order(configuration, order):
    tally.add(False, "other windows, or in another order")
  for golden in expected:
    _compare_feature(tally, compared.get(_key(golden), {}), golden)
  more = {f["qas_id"] for f in ours} - written
  if more:
    tally.note(
      f"{configuration.name}: {len(more)} questions that the original drops "
      "have windows here (point 8)."
    )
  mislabelled = sum(map(is_mislabelled, expected))
  if mislabelled:
    tally.note(
      f"{configuration.name}: {mislabelled} windows are equal in all but the "
      "label, which the original ends before its start (point 8)."
    )
  return tally.check(max_unequal=mislabelled)


def _in_order(configuration, keys):
  """The windows' keys; sorted where the original read a longer file."""
  return sorted(keys) if configuration.is_part else list(keys)


def _compare_feature(tally, feature, golden):
  mislabelled = is_mislabelled(golden)
  same = bool(feature) and all(
    feature[key] == golden[key]
    for key in feature
    if not (mislabelled and key in _POSITIONS)
  )
  if same and mislabelled:
    same = all(feature[name] == NO_TOKEN for name in _POSITIONS)
    if same:
      tally.add_explained()
      return
  tally.add(same, str(_key(golden)))


def _key(feature):
  return feature["qas_id"], feature["doc_span_index"]


def _feature(row, context, options):
  num_tokens = len(row["input_ids"])
  first = row["segment_ids"].index(1)
  padding = [0] * (options.max_seq_length - num_tokens)
  words = _token_words(context, row["token_char_spans"][first:-1])
  return {
    "qas_id": row["qas_id"],
    "doc_span_index": row["doc_span_index"],
    "n_real_tokens": num_tokens,
    "first_doc_pos": first,
    "start_position": row["start_position"],
    "end_position": row["end_position"],
    "n_max_context": sum(row["max_context"]),
    "sha1_input_ids": _sha1(row["input_ids"] + padding),
    "sha1_segment_ids": _sha1(row["segment_ids"] + padding),
    "sha1_orig_map": _sha1([first, *words]),
    "sha1_max_context": _sha1(row["max_context"][first:-1]),
  }


def _token_words(context, char_spans):
  """The number of the word that each token stands in."""
  word_of = {}
  for number, match in enumerate(_WORD.finditer(context)):
    word_of.update(dict.fromkeys(range(*match.span()), number))
  return [word_of[start] for start, _ in char_spans]


def _sha1(numbers):
  return hashlib.sha1(",".join(map(str, numbers)).encode()).hexdigest()
