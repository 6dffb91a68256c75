"""Several seeds: mean and deviation by hand, finished runs are not repeated."""

import json

import pytest

from bert_span.jobs.training.seed_runs import format_summary, run_seeds, summary

_F1 = {5: 70.0, 6: 72.0, 7: 77.0}


def _run_one(made):
  def run(seed, folder):
    made.append((seed, folder))
    return {"f1": _F1[seed]}

  return run


def test_mean_and_sample_deviation_by_hand_and_as_a_table():
  runs = [
    {"seed": seed, "scores": {"exact_match": f1 / 2, "f1": f1}}
    for seed, f1 in _F1.items()
  ]
  result = summary(runs)
  assert result["mean"] == {"exact_match": 36.5, "f1": 73.0}
  # ((-3)^2 + (-1)^2 + 4^2) / 2 = 13
  assert result["deviation"]["f1"] == pytest.approx(13**0.5)
  assert result["deviation"]["exact_match"] == pytest.approx(13**0.5 / 2)
  assert result["runs"] == runs
  assert [line.split() for line in format_summary(result).split("\n")] == [
    ["seed", "exact_match", "f1"],
    ["5", "35.00", "70.00"],
    ["6", "36.00", "72.00"],
    ["7", "38.50", "77.00"],
    ["mean", "36.50", "73.00"],
    ["deviation", "1.80", "3.61"],
  ]
  # A score that one run lacks has no mean.
  runs = [{"scores": {"f1": 1.0, "em": 2.0}}, {"scores": {"f1": 3.0}}]
  assert summary(runs)["mean"] == {"f1": 2.0}


def test_runs_are_made_once_and_written(tmp_path, capsys):
  folder, made = tmp_path, []
  for seed in _F1:  # The trainings make the folders.
    (folder / f"seed_{seed}").mkdir()
  run_seeds([5, 6], str(folder), _run_one(made), ["--x=1"])
  assert made == [(seed, f"{folder}/seed_{seed}") for seed in (5, 6)]
  assert json.loads((folder / "seeds.json").read_text())["mean"]["f1"] == 71
  # One more seed: only it is trained.
  made.clear()
  run_seeds([5, 6, 7], str(folder), _run_one(made), ["--x=1"])
  assert [seed for seed, _ in made] == [7]
  result = json.loads((folder / "seeds.json").read_text())
  assert [run["scores"]["f1"] for run in result["runs"]] == [70, 72, 77]
  assert "deviation" in capsys.readouterr().out
  # Other settings: all are. One that is stopped is made again.
  made.clear()

  def stopped(seed, folder):
    if seed == 6:
      raise SystemExit(42)
    return _run_one(made)(seed, folder)

  with pytest.raises(SystemExit):
    run_seeds([5, 6], str(folder), stopped, ["--x=2"])
  run_seeds([5, 6], str(folder), _run_one(made), ["--x=2"])
  assert [seed for seed, _ in made] == [5, 6]
