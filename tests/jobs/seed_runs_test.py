"""Several seeds: mean and deviation by hand, finished runs are not repeated."""

import json
from unittest import mock

import pytest

from bert_span.jobs import seed_runs
from bert_span.jobs.seed_runs import run_seeds, summary

_F1 = {5: 70.0, 6: 72.0, 7: 77.0}


def test_a_score_that_one_run_lacks_has_no_mean():
  runs = [{"scores": {"f1": 1.0, "em": 2.0}}, {"scores": {"f1": 3.0}}]
  assert summary(runs)["mean"] == {"f1": 2.0}


def test_runs_are_made_once_and_summed_up(tmp_path, capsys, monkeypatch):
  # It takes seconds in a process of many tests.
  monkeypatch.setattr(seed_runs.gc, "collect", lambda: None)
  run_one = mock.Mock(
    side_effect=lambda seed, _: {"exact_match": _F1[seed] / 2, "f1": _F1[seed]}
  )

  def seeds_made(seeds, setting):
    run_one.reset_mock()
    run_seeds(seeds, str(tmp_path), run_one, [setting])
    return [call.args[0] for call in run_one.call_args_list]

  for seed in _F1:  # The trainings make the folders.
    (tmp_path / f"seed_{seed}").mkdir()
  assert seeds_made([5, 6], "--x=1") == [5, 6]
  assert run_one.call_args.args == (6, f"{tmp_path}/seed_6")
  # One more seed: only it is trained.
  assert seeds_made([5, 6, 7], "--x=1") == [7]
  result = json.loads((tmp_path / "seeds.json").read_text())
  assert [run["scores"]["f1"] for run in result["runs"]] == [70, 72, 77]
  # ((-3)^2 + (-1)^2 + 4^2) / 2 = 13
  assert result["deviation"]["f1"] == pytest.approx(13**0.5)
  table = capsys.readouterr().out.splitlines()[-6:]
  assert [line.split() for line in table] == [
    ["seed", "exact_match", "f1"],
    ["5", "35.00", "70.00"],
    ["6", "36.00", "72.00"],
    ["7", "38.50", "77.00"],
    ["mean", "36.50", "73.00"],
    ["deviation", "1.80", "3.61"],
  ]
  # Other settings: all are. One that is stopped is made again.
  run_one.side_effect = [{"f1": 70.0}, SystemExit(42)]
  with pytest.raises(SystemExit):
    seeds_made([5, 6], "--x=2")
  run_one.side_effect = [{"f1": 72.0}]
  assert seeds_made([5, 6], "--x=2") == [6]


def test_a_damaged_result_is_named_and_one_without_scores_is_made_again(
  tmp_path,
):
  (tmp_path / "seed_5").mkdir()
  path = tmp_path / "seed_5" / "seed_result.json"
  run_one = mock.Mock(side_effect=lambda seed, _: {"f1": float(seed)})
  path.write_text("[]")
  with pytest.raises(ValueError, match=r"seed_result\.json"):
    run_seeds([5], str(tmp_path), run_one, ["--x=1"])
  (tmp_path / "seed_6").mkdir()
  path.write_text('{"settings": ["--x=1"]}')
  run_seeds([5, 6], str(tmp_path), run_one, ["--x=1"])
  assert json.loads(path.read_text())["scores"] == {"f1": 5.0}
