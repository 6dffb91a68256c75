"""Records what the original's write_predictions makes of known logits."""

import copy
import hashlib
import json
import os
import tempfile
import zlib

import numpy as np

from golden_writer import sha1_text

_KINDS = ("random", "ties", "peaky")
# n-best lists that are stored whole, where a configuration does not say
# "whole_lists"; the others are stored as hashes.
_WHOLE_LISTS = {"random": 2000, "ties": 500, "peaky": 1000}
_CHECKED_LOGITS = 50


def record_predictions(run_squad, writer, configuration, examples, features):
  """Writes logits_check_* and pred_* of one configuration."""
  name = configuration["name"]
  for kind in _KINDS:
    logits = [
      _logits(kind, examples[f.example_index].qas_id, f) for f in features
    ]
    checked = list(zip(features, logits))[:_CHECKED_LOGITS]
    rows = [_logits_row(examples, *row) for row in checked]
    writer.write_json(f"logits_check_{name}_{kind}.json.gz", {"first50": rows})
    results = [
      run_squad.RawResult(
        feature.unique_id, [float(x) for x in start], [float(x) for x in end]
      )
      for feature, (start, end) in zip(features, logits)
    ]
    prefix = f"pred_{name}_{kind}"
    predict = _Predict(run_squad, writer, examples, features, results)
    predictions, n_best, odds = predict(f"{prefix}_crashed.json")
    writer.write_json(f"{prefix}_predictions.json.gz", predictions)
    count = configuration.get("whole_lists", _WHOLE_LISTS[kind])
    first = list(n_best.items())[:count]
    writer.write_json(f"{prefix}_nbest_first{len(first)}.json.gz", dict(first))
    writer.write_json(
      f"{prefix}_nbest_texts_sha1.json.gz",
      {key: _texts_digest(entries) for key, entries in n_best.items()},
    )
    if configuration["version_2"]:
      writer.write_json(f"{prefix}_null_odds.json.gz", odds)
    if kind == "peaky":
      short, _, _ = predict(f"{prefix}_nbest5_maxlen8_crashed.json", 5, 8)
      writer.write_json(f"{prefix}_predictions_nbest5_maxlen8.json.gz", short)
      for threshold in (-3.0, 2.5) if configuration["version_2"] else ():
        other, _, _ = predict(None, threshold=threshold)
        writer.write_json(f"{prefix}_predictions_thr{threshold}.json.gz", other)


class _Predict:
  """Runs write_predictions question by question, as it may raise on one."""

  def __init__(self, run_squad, writer, examples, features, results):
    self._run_squad, self._writer, self._examples = run_squad, writer, examples
    self._inputs = [([], []) for _ in examples]
    for feature, result in zip(features, results):
      of_example, its_results = self._inputs[feature.example_index]
      feature = copy.copy(feature)
      feature.example_index = 0  # Each call has one example.
      of_example.append(feature)
      its_results.append(result)

  def __call__(
    self, crashed_name, n_best_size=20, max_answer_length=30, threshold=0.0
  ):
    """Returns dicts of predictions, n-best lists and null odds."""
    self._run_squad.FLAGS.null_score_diff_threshold = threshold
    outputs, crashed = ({}, {}, {}), {}
    with tempfile.TemporaryDirectory() as folder:
      paths = [os.path.join(folder, name) for name in ("p", "n", "o")]
      for example, (features, results) in zip(self._examples, self._inputs):
        try:
          options = n_best_size, max_answer_length, True  # do_lower_case
          self._run_squad.write_predictions(
            [example], features, results, *options, *paths
          )
        except (AttributeError, IndexError) as error:
          crashed[example.qas_id] = f"{type(error).__name__}: {error}"
          continue
        for output, path in zip(outputs, paths):
          if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
              output.update(json.load(file))
    if crashed and crashed_name:
      self._writer.write_json(crashed_name, crashed)
    return outputs


def _texts_digest(entries):
  joined = "\x1f".join(entry["text"] for entry in entries)
  return [len(entries), sha1_text(joined)]


def _logits_row(examples, feature, logits):
  qas_id = examples[feature.example_index].qas_id
  row = {"qas_id": qas_id, "doc_span_index": feature.doc_span_index}
  for key, describe in (
    ("first8", lambda values: [float(x) for x in values[:8]]),
    ("sha1", lambda v: hashlib.sha1(v.astype("<f4").tobytes()).hexdigest()),
    ("argmax", lambda values: int(values.argmax())),
  ):
    for name, values in zip(("start", "end"), logits):
      row[f"{name}_{key}"] = describe(values)
  return row


def _logits(kind, qas_id, feature):
  """Logits as a function of the kind and the name of the window."""
  key = f"{qas_id}/{feature.doc_span_index}"
  key += "/peaky" if kind == "peaky" else ""
  rng = np.random.RandomState(zlib.crc32(key.encode("utf-8")))
  length = len(feature.input_ids)
  start = rng.standard_normal(length).astype(np.float32)
  end = rng.standard_normal(length).astype(np.float32)
  if kind == "random":
    return start * 4, end * 4
  if kind == "ties":
    return np.round(start * 4), np.round(end * 4)
  start, end = start - np.float32(5), end - np.float32(5)
  num_tokens, first = len(feature.tokens), min(feature.token_to_orig_map)
  for _ in range(6):
    peak = first + int(rng.randint(0, num_tokens - 1 - first))
    answer_length = int(rng.randint(0, 12))
    height = np.float32(rng.uniform(4, 12))
    start[peak] += height
    end[min(peak + answer_length, num_tokens - 2)] += height
  null = np.float32(rng.uniform(4, 14))
  start[0] += null
  end[0] += null
  return start, end
