"""Checks 5, 7 and 8: answers, n-best order and null odds from given logits.

The logits that the original decoded are a function of the window's name, so
they are not stored; the outputs hold hashes of them. Nor do they hold offsets,
but a pair of logits identifies a span.
"""

import collections
import dataclasses
import functools
import glob
import hashlib
import itertools
import os
import zlib

import numpy as np

from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.decoding.options import DecoderOptions
from bert_span.answers.window_logits import WindowDecoder, WindowLogits
from bert_span.certificate.comparison import (
  Comparison,
  is_text_of,
  one_blank,
  reason_for,
  whole_words,
)
from bert_span.certificate.golden_files import Configuration, GoldenFiles
from bert_span.data.window_batches import window_batches
from bert_span.heads.span import SPAN_HEAD

_EMPTY = "empty"  # The original's answer if no span is possible.
# Notes on edge cases; "quirk" is the number in the list of the original's.
_EMPTY_WORD = (
  'quirk 13: The original answers "empty" where no span is possible: {}. '
  "Here they have no answer, because the word is not from the passage, and "
  "a reader takes it for an answer."
)
_CRASH = (
  "quirk 15: The original crashes, since no span is possible: {}. Here they "
  "have no answer, with null odds of 1e6, because no threshold may give "
  "such a question an answer."
)
_KINDS = ("random", "ties", "peaky")  # of logits
# Options of other runs with peaky logits, by a part of their files' names.
_VARIANTS = {
  "": {},
  "nbest5_maxlen8": {"n_best_size": 5, "max_answer_length": 8},
  "thr-3.0": {"null_score_diff_threshold": -3.0},
  "thr2.5": {"null_score_diff_threshold": 2.5},
}
_ODDS_LIMIT = 1e-4
# Questions whose texts may differ by the original's alignment: a share of all,
# and at least a few of a small file.
_MAX_OTHER_TEXTS = 0.005
_MIN_OTHER_TEXTS = 3
_NUM_EXAMPLES = 2
_MAX_LISTS = 4096


@dataclasses.dataclass(frozen=True)
class DecodingRun:
  """Logits of a kind, decoded with the options of a variant.

  N-best lists and null odds were saved only for the default options, whose
  variant is "".
  """

  goldens: GoldenFiles
  configuration: Configuration
  kind: str
  variant: str = ""

  @property
  def prefix(self):
    """The beginning of its files' names."""
    return f"pred_{self.configuration.name}_{self.kind}"

  @property
  def title(self):
    """Its name in the report."""
    parts = (self.configuration.name, self.kind, self.variant)
    return ", ".join(filter(None, parts))

  @property
  def options(self):
    """`DecoderOptions`."""
    return DecoderOptions(
      version_2_with_negative=self.configuration.version_2,
      **_VARIANTS[self.variant],
    )

  @property
  def answers(self):
    """Dict from question id to the original's answer."""
    parts = (self.prefix, "predictions", self.variant)
    return self.goldens.read("_".join(filter(None, parts)) + ".json.gz")

  @property
  def crashed(self):
    """Dict from the ids on which the original crashes to its exceptions."""
    parts = (self.prefix, self.variant, "crashed.json")
    name = "_".join(filter(None, parts))
    return self.goldens.read(name) if self.goldens.has(name) else {}

  @property
  def predictions(self):
    """Dict from question id to our `Prediction`."""
    return _predictions(
      self.goldens, self.configuration, self.kind, self.options
    )

  @property
  def contexts(self):
    """Dict from question id to its passage."""
    batches = _batches(self.goldens, self.configuration)
    return {e.qas_id: e.context for batch, _ in batches for e in batch}


def decoding_runs(goldens, configurations):
  """Yields all `DecodingRun`s of some configurations; training has none."""
  for configuration in configurations:
    if configuration.is_training:
      continue
    for kind in _KINDS:
      yield DecodingRun(goldens, configuration, kind)
    for variant in _VARIANTS:
      if variant and (configuration.version_2 or not variant.startswith("thr")):
        yield DecodingRun(goldens, configuration, "peaky", variant)


def compare_decoding(goldens, configurations):
  """Compares all predictions of the configurations that do not train."""
  comparisons = []
  for configuration in configurations:
    if not configuration.is_training:
      comparisons += _compare_logits(goldens, configuration)
    for run in decoding_runs(goldens, [configuration]):
      if not run.variant:
        comparisons += [_compare_n_best(run), _compare_n_best_texts(run)]
      comparisons.append(_compare_answers(run))
      if run.crashed:
        comparisons.append(_compare_crashed(run))
  return comparisons


def compare_null_odds(goldens, configurations):
  """Compares the null odds of those whose questions may be unanswerable."""
  comparisons = []
  for run in decoding_runs(goldens, configurations):
    if run.configuration.version_2 and not run.variant:
      comparison = Comparison(f"Null odds {run.title}", _ODDS_LIMIT)
      predictions = run.predictions
      golden = goldens.read(f"{run.prefix}_null_odds.json.gz")
      for qas_id, odds in golden.items():
        comparison.add_numbers(predictions[qas_id].null_odds, odds, qas_id)
      comparisons.append(comparison)
  return comparisons


def _compare_logits(goldens, configuration):
  """Whether these are the logits that the original decoded.

  No hashes are stored for f, whose windows were numbered in another file.
  """
  name = configuration.name
  comparison = Comparison(f"Logits {name} as given to the original")
  for kind in _KINDS:
    ours = {
      (found.examples[example].qas_id, int(index)): (start, end)
      for found in _recorded_logits(goldens, configuration, kind)
      for example, index, start, end in zip(
        found.windows["example_index"],
        found.windows["doc_span_index"],
        *found.logits.values(),
        strict=True,
      )
    }
    golden_rows = goldens.read(f"logits_check_{name}_{kind}.json.gz")
    for golden in golden_rows["first50"]:
      key = golden["qas_id"], golden["doc_span_index"]
      hashes = [
        hashlib.sha1(values.astype("<f4").tobytes()).hexdigest()
        for values in ours[key]
      ]
      same = hashes == [golden["start_sha1"], golden["end_sha1"]]
      comparison.add(same, f"{kind} {key}")
  return [comparison] if comparison.cases else []


def _compare_n_best(run):
  """Best span and order, for the n-best lists that are saved whole."""
  pattern = f"{run.prefix}_nbest_first*.json.gz"
  (path,) = glob.glob(os.path.join(run.goldens.folder, pattern))
  comparison = Comparison(f"Best span and n-best order {run.title}")
  predictions, contexts = run.predictions, run.contexts
  for qas_id, golden in run.goldens.read(os.path.basename(path)).items():
    ours = predictions[qas_id].n_best
    if golden[0]["text"] == _EMPTY:
      same = _is_no_answer(predictions[qas_id])
    else:
      same = _is_same_span(golden[0], ours[0]) and _is_same_order(
        golden, ours, contexts[qas_id], run.options.n_best_size
      )
    comparison.add(same, qas_id)
  return comparison


def _is_same_order(golden, entries, context, n_best_size):
  """Whether the lists differ only where the original merged spans.

  Its list then lacks those of our spans whose whole words it already has, and
  continues with spans beyond the end of our list.
  """
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
  logits = golden["start_logit"], golden["end_logit"]
  return logits == (entry.start_logit, entry.end_logit)


def _compare_n_best_texts(run):
  """The texts of all n-best lists, which are saved as hashes.

  The original's list may hold whole words for spans, which the hash proves, or
  lack spans that it merged, which no hash can prove.
  """
  comparison = Comparison(f"N-best texts {run.title}")
  predictions, contexts = run.predictions, run.contexts
  golden = run.goldens.read(f"{run.prefix}_nbest_texts_sha1.json.gz")
  num_aligned = num_other = 0
  for qas_id, (count, sha1) in golden.items():
    entries = predictions[qas_id].n_best
    texts = [one_blank(entry.text) for entry in entries]
    if texts == [""] or (len(texts), _sha1(texts)) == (count, sha1):
      comparison.add(True, qas_id)
      continue
    possible = (
      dict.fromkeys((one_blank(e.text), whole_words(contexts[qas_id], e)))
      if e.text
      else ("",)
      for e in entries
    )
    lists = itertools.islice(itertools.product(*possible), _MAX_LISTS)
    aligned = len(texts) == count and any(_sha1(x) == sha1 for x in lists)
    num_aligned += aligned
    num_other += not aligned
    comparison.add_explained()
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
  """The answer to every question."""
  comparison = Comparison(f"Answers {run.title}")
  predictions, contexts, golden = run.predictions, run.contexts, run.answers
  reasons, empty = collections.Counter(), []
  for qas_id, text in golden.items():
    ours = predictions[qas_id]
    if text == _EMPTY and not ours.text:
      comparison.add(_is_no_answer(ours), qas_id)
      empty.append(qas_id)
    elif one_blank(text) == one_blank(ours.text):
      comparison.add(True, qas_id)
    elif reason := reason_for(text, contexts[qas_id], ours):
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
  comparison.max_unequal = _max_other_texts(run, golden)
  return comparison


def _max_other_texts(run, golden):
  """Edge cases are made to be aligned otherwise, so any number of them may."""
  if run.configuration.is_edge_case:
    return len(golden)
  return max(_MIN_OTHER_TEXTS, int(len(golden) * _MAX_OTHER_TEXTS))


def _compare_crashed(run):
  """Where the original crashes, no span is possible."""
  comparison = Comparison(f"Questions that crash the original {run.title}")
  for qas_id in run.crashed:
    ours = run.predictions[qas_id]
    has_their_odds = ours.null_odds == NO_SPAN_NULL_ODDS
    comparison.add(_is_no_answer(ours) and has_their_odds, qas_id)
  _add_quirk(comparison, run, _CRASH, run.crashed)
  return comparison


def _is_no_answer(prediction):
  """Whether there is only "no answer"."""
  (*others, last) = prediction.n_best
  return not others and (last.text, last.probability) == ("", 1.0)


def _add_quirk(comparison, run, sentence, qas_ids):
  if run.configuration.is_edge_case:
    note = sentence.format(", ".join(qas_ids))
    comparison.notes.append(f"{run.title}, {note}")


# Several checks look at the same windows and predictions.
@functools.lru_cache(maxsize=4)
def _batches(goldens, configuration):
  """The windows of a configuration, see `window_batches`."""
  preprocessor = goldens.preprocessor(configuration, pad_to_max=True)
  return list(window_batches(goldens.examples(configuration), preprocessor))


@functools.lru_cache(maxsize=16)
def _predictions(goldens, configuration, kind, options):
  decode = _decoder(options)
  return {
    prediction.qas_id: prediction
    for logits in _recorded_logits(goldens, configuration, kind)
    for prediction in decode(logits)
  }


@functools.lru_cache
def _decoder(options):
  """A decoder that is traced once."""
  return WindowDecoder(SPAN_HEAD, options)


def _recorded_logits(goldens, configuration, kind):
  """Yields the `WindowLogits` of each batch."""
  for examples, windows in _batches(goldens, configuration):
    pairs = [
      window_logits(
        kind, examples[example].qas_id, int(index), int(first), mask
      )
      for example, index, first, mask in zip(
        windows["example_index"],
        windows["doc_span_index"],
        windows["first_context_position"],
        windows["input_mask"],
        strict=True,
      )
    ]
    length = windows["input_mask"].shape[1]
    pairs = np.array(pairs, np.float32).reshape(-1, 2, length)
    starts, ends = pairs[:, 0], pairs[:, 1]  # [windows, seq_length]
    logits = {"start_logits": starts, "end_logits": ends}
    yield WindowLogits(examples, windows, logits)


def window_logits(kind, qas_id, doc_span_index, first_context, input_mask):
  """The recorded start and end logits of a window, float32 [seq_length] each.

  `first_context` is the position of the first context token. The formulas are
  those of tests/original/record_predictions.py.
  """
  key = f"{qas_id}/{doc_span_index}"
  if kind == "peaky":
    key += "/peaky"
  rng = np.random.RandomState(zlib.crc32(key.encode("utf-8")))
  start, end = (
    rng.standard_normal(len(input_mask)).astype(np.float32) for _ in range(2)
  )
  if kind == "random":
    return start * 4, end * 4
  if kind == "ties":
    return np.round(start * 4), np.round(end * 4)
  start, end = start - np.float32(5), end - np.float32(5)
  last = int(np.sum(input_mask)) - 2
  for _ in range(6):
    at = first_context + int(rng.randint(0, last + 1 - first_context))
    span_length = int(rng.randint(0, 12))
    height = np.float32(rng.uniform(4, 12))
    start[at] += height
    end[min(at + span_length, last)] += height
  null = np.float32(rng.uniform(4, 14))
  start[0] += null
  end[0] += null
  return start, end
