"""Checks 1, 2 and 8: WordPieces, windows and labels."""

import hashlib
import re

import tensorflow as tf

from bert_span.certificate.comparison import Comparison
from bert_span.data.window_batches import window_rows
from bert_span.data.window_labels import SPAN_LABELS
from bert_span.text.answer_positions import NO_TOKEN
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import CLS_TOKEN, SEP_TOKEN, UNKNOWN_TOKEN

_STRINGS_PER_BATCH = 500
# As run_squad: a word of over 200 characters is [UNK]. tensorflow-text limits
# the tokens of a vocabulary to 256 bytes.
_MAX_WORD_CHARACTERS = 200
_MAX_TOKEN_BYTES = 256
_SPECIAL = ("[PAD]", UNKNOWN_TOKEN, CLS_TOKEN, SEP_TOKEN, "[MASK]")
# As run_squad: the white space between the words that token_to_orig_map counts.
_WORD = re.compile("[^ \t\r\n\u202f]+")
_POSITIONS = ("start_position", "end_position")


def compare_tokens(goldens):
  """Compares the WordPieces of strings, and the words they are made of."""
  comparisons = []
  for case in ("lower", "cased"):
    rows = goldens.read(f"tokenization_{case}.jsonl.gz")
    words = goldens.read(f"tokenization_basic_{case}.jsonl.gz")
    # With every word in the vocabulary, WordPieces are whole words.
    words = [(text, [_as_token(w) for w in row]) for text, row in words]
    distinct = {token for _, row in words for token in row}
    of_words = [*_SPECIAL, *sorted(distinct - set(_SPECIAL))]
    comparisons += [
      _compare_strings(
        goldens, f"WordPieces, {case}", rows, goldens.vocabulary
      ),
      _compare_strings(goldens, f"Words, {case}", words, of_words),
    ]
  return comparisons


def compare_windows(goldens, configurations):
  """Compares all windows and labels; one `Comparison` a configuration."""
  return [_compare_windows(goldens, c) for c in configurations]


def is_mislabelled(feature):
  """Whether the original's label ends before it starts (its quirk 4)."""
  start, end = (feature[name] for name in _POSITIONS)
  return start is not None and start > end


def _as_token(word):
  """The token that WordPiece makes of a word of its vocabulary."""
  is_short = (
    len(word) <= _MAX_WORD_CHARACTERS
    and len(word.encode("utf-8")) <= _MAX_TOKEN_BYTES
  )
  return word if is_short else UNKNOWN_TOKEN


def _compare_strings(goldens, name, rows, vocabulary):
  case = name.split(", ")[1]
  excluded = set(
    goldens.read(f"tokenization_unicode_version_sensitive_{case}.json")
  )
  tokenizer = WordPieceTokenizer(vocabulary, do_lower_case=case == "lower")
  compared = [row for row in rows if row[0] not in excluded]
  comparison = Comparison(name)
  for first in range(0, len(compared), _STRINGS_PER_BATCH):
    batch = compared[first : first + _STRINGS_PER_BATCH]
    tokens = tokenizer(tf.constant([text for text, _ in batch]))
    for (text, expected), ids in zip(batch, tokens.ids.to_list(), strict=True):
      ours = [vocabulary[i] for i in ids]
      comparison.add(ours == expected, f"{text[:60]!r}")
  num_excluded = len(rows) - len(compared)
  if num_excluded:
    comparison.notes.append(
      f"{name}: without {num_excluded} strings whose tokens depend on the "
      "version of Unicode."
    )
  return comparison


def _compare_windows(goldens, configuration):
  name, options = configuration.name, configuration.options
  expected = goldens.read(f"features_{name}.jsonl.gz")
  written = {feature["qas_id"] for feature in expected}
  ours = _our_features(goldens, configuration)
  compared = {_key(f): f for f in ours if f["qas_id"] in written}
  comparison = Comparison(
    f"Windows {name}: {configuration.file}, "
    f"{options.max_seq_length}/{options.doc_stride}/{options.max_query_length}"
    f"{', labelled' if configuration.is_training else ''}"
  )
  order, our_order = [_key(feature) for feature in expected], list(compared)
  if configuration.is_part:  # The original read these in another order.
    order, our_order = sorted(order), sorted(our_order)
  if our_order != order:
    comparison.add(False, "other windows, or in another order")
  for golden in expected:
    _compare_feature(comparison, compared.get(_key(golden), {}), golden)
  dropped = {f["qas_id"] for f in ours} - written
  if dropped:
    comparison.notes.append(
      f"{name}: {len(dropped)} questions that the original drops have windows "
      "here (check 8)."
    )
  comparison.max_unequal = sum(map(is_mislabelled, expected))
  if comparison.max_unequal:
    comparison.notes.append(
      f"{name}: {comparison.max_unequal} windows differ only in the label, "
      "which the original ends before its start (check 8)."
    )
  return comparison


def _our_features(goldens, configuration):
  """Our windows with the keys and hashes of `features_<name>.jsonl.gz`."""
  examples = goldens.examples(configuration)
  contexts = {example.qas_id: example.context for example in examples}
  rows = window_rows(
    examples,
    goldens.preprocessor(configuration),
    SPAN_LABELS if configuration.is_training else None,
  )
  return [
    _feature(row, contexts[row["qas_id"]], configuration.options)
    for row in rows
  ]


def _feature(row, context, options):
  num_tokens = len(row["input_ids"])
  first = row["segment_ids"].index(1)
  padding = [0] * (options.max_seq_length - num_tokens)
  word_of = {}
  for number, match in enumerate(_WORD.finditer(context)):
    word_of.update(dict.fromkeys(range(*match.span()), number))
  words = [word_of[start] for start, _ in row["token_char_spans"][first:-1]]
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


def _compare_feature(comparison, feature, golden):
  mislabelled = is_mislabelled(golden)
  same = bool(feature) and all(
    feature[key] == golden[key]
    for key in feature
    if not (mislabelled and key in _POSITIONS)
  )
  if (
    same
    and mislabelled
    and all(feature[name] == NO_TOKEN for name in _POSITIONS)
  ):
    comparison.add_explained()
  else:
    comparison.add(same and not mislabelled, str(_key(golden)))


def _key(feature):
  return feature["qas_id"], feature["doc_span_index"]


def _sha1(numbers):
  return hashlib.sha1(",".join(map(str, numbers)).encode()).hexdigest()
