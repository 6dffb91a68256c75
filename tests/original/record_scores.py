"""Records what SQuAD's official evaluators say of many prediction files."""

import glob
import gzip
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import zlib

from original_code import questions_of


def record_scores(writer, plan, find, evaluators):
  """Writes eval_*, normalize_answer.json and answer_pair_scores.json."""
  if not evaluators:
    sys.exit("Scores need --evaluators, or leave them out by --parts.")
  scripts = {
    version: os.path.join(evaluators, f"evaluate-{number}.py")
    for version, number in (("v1", "v1.1"), ("v2", "v2.0"))
  }
  results, pairs = {}, []
  for version, script in scripts.items():
    path = find(plan[version]["file"])
    answers = {
      question["id"]: [answer["text"] for answer in question["answers"]]
      for _, question in questions_of(path)
    }
    for name, predictions in _prediction_sets(version, answers):
      writer.write_json(f"eval_set_{name}.json.gz", predictions)
      pairs += [
        [predictions[key], gold]
        for key, golds in answers.items()
        for gold in golds[:1]
        if predictions.get(key)
      ]
    names = sorted(glob.glob(writer.path(f"eval_set_v{version[1]}*")))
    for configuration in plan[version]["configurations"]:
      names += _recorded_predictions(writer, version, configuration)
    if version == "v2":
      writer.write_json("eval_na_prob_correlated.json.gz", _na_probs(answers))
    for name in map(os.path.basename, names):
      for key, options in _evaluations(writer, version, plan):
        found = _run(script, path, writer.path(name), options)
        results[f"{name} | {key}"] = found
  writer.write_json("eval_results.json", results, indent=1)
  _record_functions(writer, scripts, pairs)


def _evaluations(writer, version, plan):
  """(what a key of eval_results.json says, options of the script)."""
  if version == "v1":
    return [("v1.1 evaluator", {})]
  evaluations = [("v2.0 evaluator", {})]
  odds = f"pred_{plan['v2']['configurations'][0]}_peaky_null_odds"
  for name in ("eval_na_prob_correlated", odds):
    options = {"na-prob-file": writer.path(f"{name}.json.gz")}
    evaluations.append((f"v2.0 evaluator, na-prob {name}", options))
  key, options = evaluations[1]
  with_threshold = f"{key}, threshold 0.5", {**options, "na-prob-thresh": 0.5}
  return [*evaluations[:2], with_threshold, evaluations[2]]


def _recorded_predictions(writer, version, configuration):
  """Paths of predictions; the evaluator of version 2 needs all questions."""
  kind = "*" if version == "v1" else "peaky"
  pattern = f"pred_{configuration}_{kind}_predictions*.json.gz"
  paths = sorted(glob.glob(writer.path(pattern)))
  return [p for p in paths if version == "v1" or "nbest5" not in p]


def _run(script, data, predictions, options):
  """Runs an evaluator as a program."""
  with tempfile.TemporaryDirectory() as folder:
    command = [sys.executable, script, data, _unpacked(folder, predictions)]
    for name, value in options.items():
      if str(value).endswith(".gz"):
        value = _unpacked(folder, value)
      command.append(f"--{name}={value}")
    output = subprocess.check_output(command, stderr=subprocess.DEVNULL)
  return json.loads(output.decode("utf-8"))


def _unpacked(folder, path):
  unpacked = os.path.join(folder, os.path.basename(path)[: -len(".gz")])
  with gzip.open(path) as source, open(unpacked, "wb") as target:
    target.write(source.read())
  return unpacked


def _prediction_sets(version, answers):
  first = {key: (golds or [""])[0] for key, golds in answers.items()}
  perturbed = {key: _perturbed(key, text) for key, text in first.items()}
  if version == "v1":
    partial = {k: t for k, t in first.items() if _number(k) % 10 < 6}
    name, more = "v11", ("partial", partial)
  else:
    answered = {k: t or "a word" for k, t in perturbed.items()}
    name, more = "v20", ("perturbed_unanswerable_answered", answered)
  sets = [("first_gold", first), ("perturbed", perturbed), more]
  return [(f"{name}_{kind}", predictions) for kind, predictions in sets]


def _number(key):
  return zlib.crc32(key.encode("utf-8"))


def _perturbed(key, text):
  """Upper case, articles, punctuation, blanks, other words, nothing."""
  if not text:
    return text
  changes = (
    *(text, text.upper(), f"the {text}", f"a {text}.", f"  {text},  "),
    *(f"{text} and more", text.split()[0], "", f'"{text}"', "the"),
  )
  return changes[_number(key) % len(changes)]


def _na_probs(answers):
  """Probabilities of no answer, higher where there is none, with ties."""
  return {
    key: round(0.7 * (_number(key) % 1000 / 1000) + (0.0 if golds else 0.3), 2)
    for key, golds in answers.items()
  }


def _record_functions(writer, scripts, pairs):
  v1, v2 = (_load(name, path) for name, path in sorted(scripts.items()))
  pairs = list(dict.fromkeys(map(tuple, pairs)))
  texts = dict.fromkeys(text for pair in pairs for text in pair)
  writer.write_json(
    "normalize_answer.json", [[t, v1.normalize_answer(t)] for t in texts]
  )
  rows = [
    [
      prediction,
      gold,
      int(v1.exact_match_score(prediction, gold)),
      float(v1.f1_score(prediction, gold)),
      v2.compute_exact(gold, prediction),
      float(v2.compute_f1(gold, prediction)),
    ]
    for prediction, gold in pairs
  ]
  writer.write_json("answer_pair_scores.json", rows)


def _load(name, path):
  spec = importlib.util.spec_from_file_location(f"evaluate_{name}", path)
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module
