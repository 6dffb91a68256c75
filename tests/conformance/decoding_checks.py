"""Checks 5, 7 and 8: answers, n-best order and null odds from given logits.

The logits that the original decoded are not stored, but drawn.
"""

import collections
import dataclasses
import functools
import glob
import hashlib
import itertools
import zlib

import numpy as np

from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.decoding.options import DecoderOptions
from bert_span.answers.window_logits import WindowDecoder, WindowLogits
from bert_span.data.window_batches import window_batches
from bert_span.extractors.span_extractor import SpanExtractor
from tests.conformance.comparison import (
  Comparison,
  is_text_of,
  one_blank,
  reason_for,
  whole_words,
)
from tests.conformance.golden_files import Configuration, GoldenFiles

_KINDS = ("random", "ties", "peaky")  # of logits
# Options of the runs with peaky logits, by the ending of their files' names.
_VARIANTS = {
  "": {},
  "_nbest5_maxlen8": {"n_best_size": 5, "max_answer_length": 8},
  "_thr-3.0": {"null_score_diff_threshold": -3.0},
  "_thr2.5": {"null_score_diff_threshold": 2.5},
}
_EMPTY = "empty"  # The original's answer if no span is possible.
# Notes on edge cases; "quirk" is the number in the list of the original's.
_EMPTY_WORD = (
  'quirk 13: The original answers "empty" where no span is possible: {}. '
  "Here they have no answer: the word is not from the passage."
)
_CRASH = (
  "quirk 15: The original crashes where no span is possible: {}. Here they "
  "have no answer, and null odds of 1e6, above any threshold."
)
_ODDS_LIMIT = 1e-4
# Questions whose texts may differ by the original's alignment: a share of all,
# and at least a few of a small file.
_MAX_OTHER_TEXTS = 0.005
_MIN_OTHER_TEXTS = 3
_NUM_EXAMPLES = 2
_MAX_LISTS = 4096


def compare_decoding(goldens, configurations):
  for configuration in configurations:
    if not configuration.is_training:
      yield from _compare_logits(goldens, configuration)
    for run in _runs(goldens, [configuration]):
      if not run.variant:
        yield _compare_n_best(run)
        yield _compare_n_best_texts(run)
      yield _compare_answers(run)
      if run.crashed:
        yield _compare_crashed(run)


def compare_null_odds(goldens, configurations):
  """Compares the null odds of those whose questions may be unanswerable."""
  for run in _runs(goldens, configurations):
    if run.configuration.version_2 and not run.variant:
      comparison = Comparison(f"Null odds {run.title}", _ODDS_LIMIT)
      predictions = run.predictions
      golden = goldens.read(f"{run.prefix}_null_odds.json.gz")
      for qas_id, odds in golden.items():
        _, ours = predictions[qas_id]
        comparison.add_numbers(ours.answer.null_odds, odds, qas_id)
      yield comparison


def _compare_logits(goldens, configuration):
  """Checks by hashes that these logits are those that the original decoded."""
  # No hashes are stored for f, whose windows were numbered in another file.
  name = configuration.name
  comparison = Comparison(f"Logits {name} as given to the original")
  for kind in _KINDS:
    ours = {}
    for batch in _recorded_logits(goldens, configuration, kind):
      ids = [batch.examples[i].qas_id for i in batch.windows["example_index"]]
      keys = zip(ids, batch.windows["doc_span_index"].tolist(), strict=True)
      pairs = zip(*batch.logits.values(), strict=True)
      ours |= zip(keys, pairs, strict=True)
    rows = goldens.read(f"logits_check_{name}_{kind}.json.gz")
    for golden in rows["first50"]:
      key = golden["qas_id"], golden["doc_span_index"]
      hashes = [
        hashlib.sha1(values.astype("<f4").tobytes()).hexdigest()
        for values in ours[key]
      ]
      same = hashes == [golden["start_sha1"], golden["end_sha1"]]
      comparison.add(same, f"{kind} {key}")
  if comparison.cases:
    yield comparison


def _compare_n_best(run):
  """Best span and order, for the n-best lists that are saved whole."""
  pattern = f"{run.prefix}_nbest_first*.json.gz"
  (path,) = glob.glob(pattern, root_dir=run.goldens.folder)
  comparison = Comparison(f"Best span and n-best order {run.title}")
  predictions, n_best_size = run.predictions, run.options.n_best_size
  for qas_id, golden in run.goldens.read(path).items():
    context, ours = predictions[qas_id]
    if golden[0]["text"] == _EMPTY:
      same = _is_no_answer(ours)
    else:
      same = _is_same_span(golden[0], ours.n_best[0])
      same &= _is_same_order(golden, ours.n_best, context, n_best_size)
    comparison.add(same, qas_id)
  return comparison


def _is_same_order(golden, entries, context, n_best_size):
  """Whether the lists differ only where the original merged spans."""
  # Its list then lacks those of our spans whose whole words it already has, and
  # continues with spans beyond the end of our list.
  golden = [entry for entry in golden if entry["text"]]
  entries = [entry for entry in entries if entry.text]
  seen, at = set(), 0
  for entry in entries:
    if (
      at < len(golden)
      and _is_same_span(golden[at], entry)
      and is_text_of(golden[at]["text"], context, entry)
    ):
      seen.add(one_blank(golden[at]["text"]))
      at += 1
    elif whole_words(context, entry) not in seen:
      return False
  # A full list may also hold the null entry.
  return at == len(golden) or len(entries) >= n_best_size - 1


def _is_same_span(golden, entry):
  # The outputs have no offsets, but a pair of logits identifies a span.
  logits = golden["start_logit"], golden["end_logit"]
  return logits == (entry.start_logit, entry.end_logit)


def _compare_n_best_texts(run):
  """The texts of all n-best lists, which are saved as hashes."""
  # The original's list may hold whole words for spans, which the hash proves,
  # or lack spans that it merged, which no hash can prove.
  comparison = Comparison(f"N-best texts {run.title}")
  predictions, num_aligned = run.predictions, 0
  golden = run.goldens.read(f"{run.prefix}_nbest_texts_sha1.json.gz")
  for qas_id, (count, sha1) in golden.items():
    context, ours = predictions[qas_id]
    texts = [one_blank(entry.text) for entry in ours.n_best]
    if texts == [""] or (len(texts), _sha1(texts)) == (count, sha1):
      comparison.add(True, qas_id)
      continue
    possible = (
      dict.fromkeys((text, whole_words(context, entry) if text else ""))
      for text, entry in zip(texts, ours.n_best, strict=True)
    )
    lists = itertools.islice(itertools.product(*possible), _MAX_LISTS)
    num_aligned += len(texts) == count and any(_sha1(x) == sha1 for x in lists)
    comparison.add_explained()
  num_other = comparison.cases - comparison.equal - num_aligned
  if num_aligned or num_other:
    comparison.notes.append(
      f"{run.title}: {num_aligned} n-best lists with whole words, proved by "
      f"their hashes; {num_other} more with other texts or with merged spans."
    )
  comparison.max_unequal = num_aligned + _max_other_texts(run, golden)
  return comparison


def _sha1(texts):
  joined = "\x1f".join(texts).encode("utf-8", "surrogatepass")
  return hashlib.sha1(joined).hexdigest()


def _compare_answers(run):
  comparison = Comparison(f"Answers {run.title}")
  name = f"{run.prefix}_predictions{run.variant}.json.gz"
  predictions, answers = run.predictions, run.goldens.read(name)
  reasons, empty = collections.Counter(), []
  for qas_id, text in answers.items():
    context, prediction = predictions[qas_id]
    ours = prediction.answer
    if text == _EMPTY and not ours.text:
      comparison.add(_is_no_answer(prediction), qas_id)
      empty.append(qas_id)
    elif one_blank(text) == one_blank(ours.text):
      comparison.add(True, qas_id)
    elif reason := reason_for(text, context, ours):
      comparison.add_explained()
      if reasons[reason] < _NUM_EXAMPLES and run.kind == "peaky":
        comparison.notes.append(
          f"{run.title}: {text!r} in the original, {ours.text!r} here."
        )
      reasons[reason] += 1
    else:
      comparison.add(False, f"{qas_id}: {text!r}, here {ours.text!r}")
  if empty:
    reasons['"empty" in the original, no answer here'] = len(empty)
    _add_quirk(comparison, run, _EMPTY_WORD, empty)
  if reasons:
    counts = ", ".join(f"{reason}: {n}" for reason, n in reasons.items())
    comparison.notes.append(f"{run.title}: {counts}.")
  comparison.max_unequal = _max_other_texts(run, answers)
  return comparison


def _max_other_texts(run, golden):
  """Returns the number of texts that may differ."""
  if run.configuration.is_edge_case:  # They target run_squad's alignment.
    return len(golden)
  return max(_MIN_OTHER_TEXTS, int(len(golden) * _MAX_OTHER_TEXTS))


def _compare_crashed(run):
  comparison = Comparison(f"Questions that crash the original {run.title}")
  for qas_id in run.crashed:
    _, ours = run.predictions[qas_id]
    has_their_odds = ours.answer.null_odds == NO_SPAN_NULL_ODDS
    comparison.add(_is_no_answer(ours) and has_their_odds, qas_id)
  _add_quirk(comparison, run, _CRASH, run.crashed)
  return comparison


def _is_no_answer(prediction):
  """Whether there is only "no answer"."""
  return [(e.text, e.probability) for e in prediction.n_best] == [("", 1.0)]


def _add_quirk(comparison, run, sentence, qas_ids):
  if run.configuration.is_edge_case:
    note = sentence.format(", ".join(qas_ids))
    comparison.notes.append(f"{run.title}, {note}")


@dataclasses.dataclass(frozen=True)
class _DecodingRun:
  """Logits of a kind, decoded with the options of a variant."""

  goldens: GoldenFiles
  configuration: Configuration
  kind: str
  variant: str = ""  # n-best lists and null odds were saved for this one only

  @property
  def prefix(self):
    """The beginning of its files' names."""
    return f"pred_{self.configuration.name}_{self.kind}"

  @property
  def title(self):
    variant = self.variant.replace("_", ", ", 1)
    return f"{self.configuration.name}, {self.kind}{variant}"

  @property
  def options(self):
    options = DecoderOptions(**_VARIANTS[self.variant])
    version_2 = self.configuration.version_2
    return dataclasses.replace(options, version_2_with_negative=version_2)

  @property
  def crashed(self):
    """Dict from the ids on which the original crashes to its exceptions."""
    name = f"{self.prefix}{self.variant}_crashed.json"
    return self.goldens.read(name) if self.goldens.has(name) else {}

  # Several checks look at them.
  @property
  @functools.lru_cache(maxsize=16)  # noqa: B019 -- only so many
  def predictions(self):
    """Dict from question id to its passage and our `Prediction`."""
    decode, predictions = _decoder(self.options), {}
    for logits in _recorded_logits(self.goldens, self.configuration, self.kind):
      for example, ours in zip(logits.examples, decode(logits), strict=True):
        predictions[ours.qas_id] = example.context, ours
    return predictions


def _runs(goldens, configurations):
  """Yields all `_DecodingRun`s of some configurations; training has none."""
  for configuration in configurations:
    if not configuration.is_training:
      for kind in _KINDS:
        yield _DecodingRun(goldens, configuration, kind)
      for variant in list(_VARIANTS)[1:]:
        if configuration.version_2 or "thr" not in variant:
          yield _DecodingRun(goldens, configuration, "peaky", variant)


# Several checks look at the same windows.
@functools.lru_cache(maxsize=4)
def _batches(goldens, configuration):
  """The windows of a configuration, see `window_batches`."""
  preprocessor = goldens.preprocessor(configuration, pad_to_max=True)
  return list(window_batches(goldens.examples(configuration), preprocessor))


# To seed it takes a ninetieth of the time of a new one.
_rng = np.random.RandomState()
# Each decoder is traced once.
_decoder = functools.cache(functools.partial(WindowDecoder, SpanExtractor))


# A kind has up to four variants.
@functools.lru_cache(maxsize=len(_KINDS))
def _recorded_logits(goldens, configuration, kind):
  """Lists the `WindowLogits` of each batch."""
  batches = []
  for examples, windows in _batches(goldens, configuration):
    pairs = [
      _drawn_logits(kind, f"{examples[example].qas_id}/{index}", first, mask)
      for example, index, first, mask in zip(
        windows["example_index"],
        windows["doc_span_index"],
        windows["first_context_position"],
        windows["padding_mask"],
        strict=True,
      )
    ]
    starts, ends = np.float32(pairs).swapaxes(0, 1)  # [windows, seq_length]
    logits = {"start_logits": starts, "end_logits": ends}
    batches.append(WindowLogits(examples, windows, logits))
  return batches


def _drawn_logits(kind, key, first_context, padding_mask):
  """Start and end logits as tests/original/record_predictions.py draws them."""
  key += "/peaky" if kind == "peaky" else ""
  _rng.seed(zlib.crc32(key.encode("utf-8")))
  pair = _rng.standard_normal([2, len(padding_mask)]).astype(np.float32)
  if kind == "random":
    return pair * 4
  if kind == "ties":
    return np.round(pair * 4)
  pair -= np.float32(5)
  start, end = pair
  last = int(np.sum(padding_mask)) - 2
  for _ in range(6):
    at = first_context + int(_rng.randint(0, last + 1 - first_context))
    span_length = int(_rng.randint(0, 12))
    height = np.float32(_rng.uniform(4, 12))
    start[at] += height
    end[min(at + span_length, last)] += height
  pair[:, 0] += np.float32(_rng.uniform(4, 14))
  return pair
