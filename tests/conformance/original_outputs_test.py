"""All checks on the original's outputs for SQuAD, and on altered outputs."""

import pytest

from tests.conformance import decoding_checks as decoding
from tests.conformance import golden_files
from tests.conformance import model_checks as model
from tests.conformance import text_checks as text

pytestmark = pytest.mark.large

_NUM_WINDOWS = {"a": 5147, "b": 12032, "c": 12924, "d": 27075, "e": 3542}
_NUM_WINDOWS["f"] = _NUM_WINDOWS["e"]
_NUM_QUESTIONS = {"a": 4961, "c": 4961, "f": 3308}


@pytest.fixture(scope="module")
def original(goldens, shared_data):
  """Outputs for SQuAD, or a skip."""
  return golden_files.GoldenFiles(str(goldens), str(shared_data))


def passed(comparisons):
  """(cases, equal) of each comparison by name; all must pass."""
  found = {}
  for comparison in comparisons:
    assert comparison.passes, (comparison.name, comparison.failures)
    found[comparison.name] = comparison.cases, comparison.equal
  return found


def test_all_strings_have_the_originals_tokens(original):
  counts = passed(text.compare_tokens(original)).values()
  assert len(counts) == 4
  assert all(cases == equal > 1000 for cases, equal in counts)


@pytest.mark.parametrize("name", _NUM_WINDOWS)
def test_every_window_is_the_originals(original, name):
  configurations = [original.configurations[name]]
  found = passed(text.compare_windows(original, configurations))
  assert list(found.values()) == [(_NUM_WINDOWS[name], _NUM_WINDOWS[name])]


@pytest.mark.parametrize("name", _NUM_QUESTIONS)
def test_spans_order_texts_and_null_odds_are_the_originals(original, name):
  configurations = [original.configurations[name]]
  odds = passed(decoding.compare_null_odds(original, configurations)).values()
  assert len(odds) == (3 if name == "f" else 0)
  assert all(cases > 3000 for cases, _ in odds)
  found = passed(decoding.compare_decoding(original, configurations))
  cases, equal = found[f"Answers {name}, peaky"]
  assert cases == _NUM_QUESTIONS[name]
  assert cases - equal <= 0.005 * cases
  cases, equal = found[f"Best span and n-best order {name}, peaky"]
  assert cases == equal >= 792


@pytest.mark.parametrize(
  ("compare", "cases"),
  [
    (
      model.compare_model,
      {
        "Model: start_logits": 64,
        "Answering: start_logits": 64,
        "Training: loss of each of 20 steps": 20,
        "Training: weights after 20 steps": 37,
      },
    ),
    (
      model.compare_optimizer,
      {
        "Updates, dense: 9 variables, 40 steps": 40 * 9,
        "Updates, with_embedding: 10 variables, 40 steps": 40 * 10,
      },
    ),
    (text.compare_scores, {}),
  ],
)
def test_every_number_is_the_originals(original, compare, cases):
  found = passed(compare(original))
  assert {name: found[name][0] for name in cases} == cases


# --- One value that differs fails its check.

_EVALUATION = "pred_h_peaky_predictions.json.gz | v1.1 evaluator"
_WINDOW_VALUES = {
  **dict.fromkeys(("sha1_input_ids", "sha1_segment_ids"), "0"),
  **dict.fromkeys(("sha1_orig_map", "sha1_max_context"), "0"),
  "start_position": 0,
  "end_position": 500,
  "n_real_tokens": 5,
}


def _add(values, key, difference):
  values[key] = values[key] + difference


@pytest.mark.parametrize(
  ("compare", "configuration", "file", "alter", "failures"),
  [
    (
      *(text.compare_tokens, None, "tokenization_lower.jsonl.gz"),
      *(lambda rows: rows[7][1].append("x"), {"WordPieces, lower": ""}),
    ),
    *(
      (
        *(text.compare_windows, "i", "features_i.jsonl.gz"),
        lambda rows, name=name, value=value: rows[0].update({name: value}),
        {"Windows i: edge-v2.json, 384/128/64, labelled": "('edge001', 0)"},
      )
      for name, value in _WINDOW_VALUES.items()
    ),
    (
      *(text.compare_windows, "h", "features_h.jsonl.gz", list.reverse),
      {"Windows h: edge.json, 64/16/12": "other windows"},
    ),
    # A question that the original drops has windows here.
    (text.compare_windows, "i", "features_i.jsonl.gz", lambda x: x.pop(1), {}),
    (
      *(text.compare_windows, "g", "summary_g.json"),
      lambda summary: summary["skipped_qas_ids"].insert(0, "edge037"),
      {"Questions lost to training g": "edge037: [None]"},
    ),
    (
      *(decoding.compare_decoding, "j", "pred_j_ties_predictions.json.gz"),
      lambda answers: answers.update(edge001="else"),
      {"Answers j, ties": "edge001: 'else'"},
    ),
    (
      *(decoding.compare_decoding, "j", "pred_j_peaky_nbest_first84.json.gz"),
      lambda lists: lists["edge001"].insert(1, lists["edge001"].pop(0)),
      {"Best span and n-best order j, peaky": "edge001"},
    ),
    (
      *(decoding.compare_decoding, "j", "pred_j_ties_crashed.json"),
      lambda crashed: crashed.update(edge002="IndexError"),
      {"Questions that crash the original j, ties": "edge002"},
    ),
    (
      *(decoding.compare_null_odds, "j", "pred_j_peaky_null_odds.json.gz"),
      *(lambda x: _add(x, "edge001", 2e-4), {"Null odds j, peaky": "edge001"}),
    ),
    (
      *(model.compare_model, None, "model_loss_train_short32.npz"),
      lambda arrays: _add(arrays, "total_loss", 3e-5),
      {"Loss of 32 windows": "our logits"},
    ),
    (
      *(text.compare_scores, None, "eval_results.json"),
      lambda results: _add(results[_EVALUATION], "f1", 1e-6),
      {"Scores of 31 evaluations": _EVALUATION},
    ),
    (
      *(model.compare_optimizer, None, "learning_rate_tables.json"),
      lambda content: _add(content["tables"]["5e-05/1113/111"], 3, 1e-12),
      {"Learning rates: 6 tables": "5e-05/1113/111 at step 3"},
    ),
    (
      *(model.compare_fine_tuning, None, "fine_tuning.npz"),
      lambda arrays: arrays["batches"][3].fill(0),
      {"Losses of 60 steps": "step 3:", "Final weights": ""},
    ),
  ],
)
def test_one_difference_fails(
  monkeypatch, compare, configuration, file, alter, failures
):
  sample = golden_files.sample_goldens()
  method = "arrays" if file.endswith(".npz") else "read"
  original = getattr(golden_files.GoldenFiles, method)

  def read(goldens, name):
    content = original(goldens, name)
    if name == file:
      alter(content)
    return content

  monkeypatch.setattr(golden_files.GoldenFiles, method, read)
  chosen = [sample.configurations[configuration]] if configuration else None
  comparisons = compare(sample, chosen) if chosen else compare(sample)
  found = {c.name: c.failures[0] for c in comparisons if not c.passes}
  assert found.keys() == failures.keys()
  for name, failure in failures.items():
    assert found[name].startswith(failure)
