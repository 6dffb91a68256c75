"""Points 5 and 7: answers, n-best order and null odds from given logits.

The original's outputs name no offsets, but a pair of logits names a span.
"""

import collections
import glob
import hashlib
import itertools
import os

from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.certificate.check import Tally
from bert_span.certificate.decoding_runs import (
  KINDS,
  RecordedWindows,
  crashed_questions,
  decoding_runs,
)
from bert_span.certificate.original_texts import (
  is_text_of,
  one_blank,
  reason_for,
  whole_words,
)

_ODDS_LIMIT = 1e-4
# Texts, and lists of texts, that may differ by the original's alignment, as a
# share of the questions.
_MAX_OTHER_TEXTS = 0.005
_NUM_EXAMPLES = 2
_MAX_LISTS = 4096
_EMPTY = "empty"


def check_decoding(goldens, configuration):
  """Compares all that the original predicted under one configuration.

  Args:
    goldens: `GoldenFiles`.
    configuration: `Configuration`.

  Returns:
    List of `Check`.
  """
  windows = RecordedWindows(goldens, configuration)
  checks = list(_check_logits(goldens, configuration, windows))
  for run in decoding_runs(configuration):
    predictions = windows.predictions(run)
    checks += _check_run(goldens, run, predictions, windows.contexts)
  return checks


def check_null_odds(goldens, configuration):
  """Compares the null odds of a version 2 configuration.

  Args:
    goldens: `GoldenFiles`.
    configuration: `Configuration` with version_2.

  Returns:
    List of `Check`.
  """
  windows = RecordedWindows(goldens, configuration)
  checks = []
  for run in decoding_runs(configuration):
    if not run.is_default:
      continue
    predictions = windows.predictions(run)
    tally = Tally(f"Null odds {configuration.name}, {run.kind}", _ODDS_LIMIT)
    golden = goldens.read(f"{run.prefix}_null_odds.json.gz")
    for qas_id, odds in golden.items():
      tally.add_numbers(predictions[qas_id].null_odds, odds, qas_id)
    checks.append(tally.check())
  return checks


def _check_logits(goldens, configuration, windows):
  """Whether these are the logits that the original was given.

  No hash of them is stored for f, whose features were counted in another file.
  """
  tally = Tally(f"Logits {configuration.name} as given to the original")
  for kind in KINDS:
    name = f"logits_check_{configuration.name}_{kind}.json.gz"
    ours = windows.logits_hashes(kind)
    for golden in goldens.read(name)["first50"]:
      key = golden["qas_id"], golden["doc_span_index"]
      same = ours[key] == (golden["start_sha1"], golden["end_sha1"])
      tally.add(same, f"{kind} {key}")
  check = tally.check()
  if check.cases:
    yield check


def _check_run(goldens, run, predictions, contexts):
  name = f"{run.configuration.name}, {run.kind}"
  if run.is_default:
    yield _check_n_best(goldens, run, name, predictions, contexts)
    yield _check_n_best_texts(goldens, run, name, predictions, contexts)
  else:
    name += f", {run.suffix.removeprefix('predictions_')}"
  yield _check_answers(goldens, run, name, predictions, contexts)
  crashed = crashed_questions(goldens, run)
  if crashed:
    yield _check_crashed(name, crashed, predictions)


def _check_n_best(goldens, run, name, predictions, contexts):
  """The best span and the order of those n-best lists that are saved whole."""
  pattern = f"{run.prefix}_nbest_first*.json.gz"
  (path,) = glob.glob(os.path.join(goldens.folder, pattern))
  tally = Tally(f"Best span and n-best order {name}")
  for qas_id, entries in goldens.read(os.path.basename(path)).items():
    ours = predictions[qas_id].n_best
    if entries[0]["text"] == _EMPTY:
      same = len(ours) == 1 and ours[0].probability == 1.0
    else:
      same = _pair(entries[0]) == _pair_of(ours[0]) and _is_same_order(
        entries, ours, contexts[qas_id], run.n_best_size
      )
    tally.add(same, qas_id)
  return tally.check()


def _check_n_best_texts(goldens, run, name, predictions, contexts):
  """All texts of all n-best lists, which are saved as hashes.

  A list may hold whole words for spans, which the hash then proves, or lack
  spans that the original merged, which no hash can prove.
  """
  tally = Tally(f"N-best texts {name}")
  golden = goldens.read(f"{run.prefix}_nbest_texts_sha1.json.gz")
  num_aligned = num_other = 0
  for qas_id, (count, sha1) in golden.items():
    entries = predictions[qas_id].n_best
    texts = [one_blank(entry.text) for entry in entries]
    if texts == [""] or (len(texts), _sha1(texts)) == (count, sha1):
      tally.add(True, qas_id)
      continue
    aligned = len(texts) == count and any(
      _sha1(others) == sha1
      for others in _possible_lists(contexts[qas_id], entries)
    )
    num_aligned += aligned
    num_other += not aligned
    tally.add_explained()
  if num_aligned or num_other:
    tally.note(
      f"{name}: whole words in {num_aligned} n-best lists, proved by their "
      f"hashes; {num_other} more lists have other texts or spans merged."
    )
  return tally.check(num_aligned + _max_other_texts(run, golden))


def _possible_lists(context, entries):
  """Yields the lists of texts that the original may have written."""
  possible = [
    dict.fromkeys((one_blank(entry.text), whole_words(context, entry)))
    if entry.text
    else ("",)
    for entry in entries
  ]
  return itertools.islice(itertools.product(*possible), _MAX_LISTS)


def _sha1(texts):
  joined = "\x1f".join(texts).encode("utf-8", "surrogatepass")
  return hashlib.sha1(joined).hexdigest()


def _check_answers(goldens, run, name, predictions, contexts):
  """The answer of every question."""
  tally = Tally(f"Answers {name}")
  golden = goldens.read(f"{run.prefix}_{run.suffix}.json.gz")
  reasons = collections.Counter()
  for qas_id, text in golden.items():
    ours = predictions[qas_id]
    if text == _EMPTY and not ours.text:
      tally.add(ours.n_best[0].probability == 1.0, qas_id)
      reasons['the word "empty", here no answer'] += 1
    elif one_blank(text) == one_blank(ours.text):
      tally.add(True, qas_id)
    elif reason := reason_for(text, contexts[qas_id], ours):
      tally.add_explained()
      if reasons[reason] < _NUM_EXAMPLES and run.kind == "peaky":
        tally.note(f"{name}: {text!r} in the original is {ours.text!r} here.")
      reasons[reason] += 1
    else:
      tally.add(False, f"{qas_id}: {text!r}, here {ours.text!r}")
  if reasons:
    counts = ", ".join(f"{reason} {n}" for reason, n in reasons.items())
    tally.note(f"{name}: {counts}.")
  return tally.check(max_unequal=_max_other_texts(run, golden))


def _max_other_texts(run, golden):
  """The edge cases are made to be aligned otherwise: any number of them."""
  share = _MAX_OTHER_TEXTS if run.configuration.is_real else 1.0
  return int(len(golden) * share)


def _check_crashed(name, crashed, predictions):
  """Where the original ends in an exception, no span is possible."""
  tally = Tally(f"Questions that end the original {name}")
  for qas_id in crashed:
    ours = predictions[qas_id]
    tally.add(
      ours.text == ""
      and ours.null_odds == NO_SPAN_NULL_ODDS
      and not any(entry.text for entry in ours.n_best),
      qas_id,
    )
  return tally.check()


def _is_same_order(golden, entries, context, n_best_size):
  """Walks both lists; they may part only where the original merged spans.

  Its list then lacks spans of ours, whose whole words it already has, and
  goes on with spans that found no place in ours.
  """
  golden = [entry for entry in golden if entry["text"]]
  entries = [entry for entry in entries if entry.text]
  seen, at = set(), 0
  for entry in entries:
    if (
      at < len(golden)
      and _pair(golden[at]) == _pair_of(entry)
      and is_text_of(golden[at]["text"], context, entry)
    ):
      seen.add(one_blank(golden[at]["text"]))
      at += 1
    elif whole_words(context, entry) not in seen:
      return False
  # Full, perhaps with the null entry.
  return at == len(golden) or len(entries) >= n_best_size - 1


def _pair(entry):
  return entry["start_logit"], entry["end_logit"]


def _pair_of(entry):
  return entry.start_logit, entry.end_logit
