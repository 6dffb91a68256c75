"""Checks 1, 2, 6 and 8: WordPieces, windows and labels, metrics."""

import functools
import hashlib
import re

import numpy as np

from bert_span.data.answer_positions import NO_TOKEN
from bert_span.data.window_batches import window_rows
from bert_span.scoring import squad_scores
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import CLS_TOKEN, SEP_TOKEN, UNKNOWN_TOKEN
from tests.conformance.comparison import Comparison

# As run_squad: a word of over 200 characters is [UNK]. tensorflow-text limits
# the tokens of a vocabulary to 256 bytes.
_MAX_WORD_CHARACTERS = 200
_MAX_TOKEN_BYTES = 256
_SPECIAL = ("[PAD]", UNKNOWN_TOKEN, CLS_TOKEN, SEP_TOKEN, "[MASK]")
# As run_squad: the white space between the words that token_to_orig_map counts.
_WORD = re.compile("[^ \t\r\n\u202f]+")
_SCORE_LIMIT = 1e-9
_POSITIONS = ("start_position", "end_position")
# Questions that training loses by the original's numbered quirks.
_DROPPED_TRAINED = (
  "quirk 1, 2: The original drops training questions whose answer holds "
  "white space that it reads in two ways, or follows leading blanks: {}. "
  "Here they are trained on: the passage has the answer at answer_start."
)
_DROPPED_COUNTED = (
  "quirk 3: The original drops training questions whose answer is not at "
  "answer_start: {}. Here they are reported and not trained on: the passage "
  "has the answer more than once, or not at all."
)
_MISLABELLED = (
  "quirk 4: The original labels an answer without WordPieces from the token "
  "after it to the token before it: {}. Here they are reported and not "
  "trained on: no label would be right."
)


def compare_tokens(goldens):
  for case in ("lower", "cased"):
    rows = goldens.read(f"tokenization_{case}.jsonl.gz")
    words = goldens.read(f"tokenization_basic_{case}.jsonl.gz")
    # With every word in the vocabulary, WordPieces are whole words.
    words = [(text, [_as_token(w) for w in row]) for text, row in words]
    distinct = {token for _, row in words for token in row}
    of_words = [*_SPECIAL, *sorted(distinct - set(_SPECIAL))]
    sensitive = f"tokenization_unicode_version_sensitive_{case}.json"
    excluded = set(goldens.read(sensitive))
    for name, expected, vocabulary in (
      (f"WordPieces, {case}", rows, goldens.vocabulary),
      (f"Words, {case}", words, of_words),
    ):
      tokenizer = WordPieceTokenizer(vocabulary, do_lower_case=case == "lower")
      compared = [row for row in expected if row[0] not in excluded]
      comparison = Comparison(name)
      our_ids = tokenizer([text for text, _ in compared]).ids.to_list()
      for (text, theirs), ids in zip(compared, our_ids, strict=True):
        ours = [vocabulary[i] for i in ids]
        comparison.add(ours == theirs, f"{text[:60]!r}")
      if len(expected) > len(compared):
        comparison.notes.append(
          f"{name}: without {len(expected) - len(compared)} strings whose "
          "tokens depend on the version of Unicode."
        )
      yield comparison


def _as_token(word):
  """The token that WordPiece makes of a word of its vocabulary."""
  is_short = len(word) <= _MAX_WORD_CHARACTERS
  is_short &= len(word.encode("utf-8")) <= _MAX_TOKEN_BYTES
  return word if is_short else UNKNOWN_TOKEN


def compare_windows(goldens, configurations):
  """Compares all windows and labels, and of edge cases the lost questions."""
  for configuration in configurations:
    yield _compare_windows(goldens, configuration)
    if configuration.is_edge_case and configuration.is_training:
      yield _compare_lost(goldens, configuration)


def _compare_windows(goldens, configuration):
  name, options = configuration.name, configuration.options
  expected = goldens.read(f"features_{name}.jsonl.gz")
  written = {feature["qas_id"] for feature in expected}
  rows = _window_rows(goldens, configuration)
  ours = [_feature(row, context, options) for row, context in rows]
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
    feature = compared.get(_key(golden), {})
    differing = {key for key in feature if feature[key] != golden[key]}
    labels = [feature.get(position) for position in _POSITIONS]
    wrong = _is_mislabelled(golden)
    if wrong and labels == [NO_TOKEN] * 2 and differing <= set(_POSITIONS):
      comparison.add_explained()
    else:
      comparison.add(feature and not (differing or wrong), str(_key(golden)))
  dropped = {f["qas_id"] for f in ours} - written
  if dropped:
    comparison.notes.append(
      f"{name}: {len(dropped)} questions that the original drops have windows "
      "here (check 8)."
    )
  comparison.max_unequal = sum(map(_is_mislabelled, expected))
  if comparison.max_unequal:
    comparison.notes.append(
      f"{name}: {comparison.max_unequal} windows differ only in the label, "
      "which the original ends before its start (check 8)."
    )
  return comparison


# Two comparisons look at the same windows.
@functools.lru_cache(maxsize=1)
def _window_rows(goldens, configuration):
  """Lists the rows of `window_rows` with their passages."""
  examples = goldens.examples(configuration)
  contexts = {example.qas_id: example.context for example in examples}
  preprocessor = goldens.preprocessor(configuration)
  rows = window_rows(examples, preprocessor, configuration.is_training)
  return [(row, contexts[row["qas_id"]]) for row in rows]


def _feature(row, context, options):
  """A window with the keys and hashes of `features_<name>.jsonl.gz`."""
  num_tokens = len(row["input_ids"])
  first = row["segment_ids"].index(1)
  padding = [0] * (options.max_seq_length - num_tokens)
  token_starts = [start for start, _ in row["token_char_spans"][first:-1]]
  words = np.searchsorted(_word_starts(context), token_starts, "right") - 1
  return {
    **{name: row[name] for name in ("qas_id", "doc_span_index", *_POSITIONS)},
    "n_real_tokens": num_tokens,
    "first_doc_pos": first,
    "n_max_context": sum(row["max_context"]),
    "sha1_input_ids": _sha1(row["input_ids"] + padding),
    "sha1_segment_ids": _sha1(row["segment_ids"] + padding),
    "sha1_orig_map": _sha1([first, *words.tolist()]),
    "sha1_max_context": _sha1(row["max_context"][first:-1]),
  }


@functools.lru_cache(maxsize=1)
def _word_starts(context):
  return np.array([match.start() for match in _WORD.finditer(context)])


def _is_mislabelled(feature):
  """Whether the original's label ends before it starts (its quirk 4)."""
  start, end = (feature[name] for name in _POSITIONS)
  return start is not None and start > end


def _key(feature):
  return feature["qas_id"], feature["doc_span_index"]


def _sha1(numbers):
  return hashlib.sha1(",".join(map(str, numbers)).encode()).hexdigest()


def _compare_lost(goldens, configuration):
  """Compares training questions that the original drops or mislabels."""
  name = configuration.name
  comparison = Comparison(f"Questions lost to training {name}")
  examples = {e.qas_id: e for e in goldens.examples(configuration)}
  report = "\n".join(goldens.squad_file(configuration.file).report.lines(1000))
  # The text that each window's label marks; None for no tokens.
  labels = {qas_id: [] for qas_id in examples}
  for row, context in _window_rows(goldens, configuration):
    start, end = (row[position] for position in _POSITIONS)
    if start == NO_TOKEN:
      labels[row["qas_id"]].append(None)
    elif end > 0:
      spans = row["token_char_spans"]
      labels[row["qas_id"]].append(context[spans[start][0] : spans[end][1]])
  lost = {_DROPPED_TRAINED: [], _DROPPED_COUNTED: [], _MISLABELLED: []}
  for qas_id in goldens.read(f"summary_{name}.json")["skipped_qas_ids"]:
    if qas_id in examples:
      lost[_DROPPED_TRAINED].append(qas_id)
      answer = examples[qas_id].answers[0].text.strip()
      comparison.add(answer in labels[qas_id], f"{qas_id}: {labels[qas_id]}")
    else:
      lost[_DROPPED_COUNTED].append(qas_id)
      comparison.add(qas_id in report, f"{qas_id} is not reported")
  for feature in goldens.read(f"features_{name}.jsonl.gz"):
    if _is_mislabelled(feature):
      qas_id = feature["qas_id"]
      lost[_MISLABELLED].append(qas_id)
      comparison.add(labels[qas_id] == [None], f"{qas_id}: {labels[qas_id]}")
  for sentence, qas_ids in lost.items():
    if qas_ids:
      note = sentence.format(", ".join(qas_ids))
      comparison.notes.append(f"{name}, {note}")
  return comparison


def compare_scores(goldens):
  normalized = Comparison("Normalized answers")
  for text, expected in goldens.read("normalize_answer.json"):
    ours = squad_scores.normalize_answer(text)
    normalized.add(ours == expected, f"{text[:60]!r}")
  yield normalized
  pairs = Comparison("Exact match and F1 of pairs", _SCORE_LIMIT)
  for prediction, gold, *originals in goldens.read("answer_pair_scores.json"):
    exact = squad_scores.exact_match(prediction, gold)
    ours = [
      *(exact, squad_scores.answer_f1(prediction, gold, version_2=False)),
      *(exact, squad_scores.answer_f1(prediction, gold, version_2=True)),
    ]
    pairs.add_numbers(ours, originals, f"{prediction!r}, {gold!r}")
  yield pairs
  yield _compare_evaluations(goldens)


def _compare_evaluations(goldens):
  evaluations = goldens.read("eval_results.json")
  title = f"Scores of {len(evaluations)} evaluations"
  comparison = Comparison(title, _SCORE_LIMIT)
  examples1, examples2 = (
    goldens.squad_file(goldens.plan["scores"][version]["file"]).examples
    for version in ("v1", "v2")
  )
  for key, expected in evaluations.items():
    # "predictions.json.gz | v2.0 evaluator[, na-prob NAME][, threshold T]"
    file, evaluation = key.split(" | ")
    evaluator, *options = evaluation.split(", ")
    options = dict(option.split() for option in options)
    predictions, arguments = goldens.read(file), {}
    if "na-prob" in options:
      arguments["na_probs"] = goldens.read(f"{options['na-prob']}.json.gz")
    if "threshold" in options:
      arguments["na_prob_thresh"] = float(options["threshold"])
    if evaluator == "v1.1 evaluator":
      scores = squad_scores.evaluate_squad1(examples1, predictions)
    else:
      scores = squad_scores.evaluate_squad2(examples2, predictions, **arguments)
    if list(scores) != list(expected):
      comparison.add(False, f"{key}: other metrics, or in another order")
      continue
    for name, original in expected.items():
      comparison.add_numbers(scores[name], original, f"{key}: {name}")
  return comparison
