"""Questions, n-best lists and predictions joined, scored one by one."""

import numpy as np
import pytest

from bert_span.answers.files.prediction_reader import ListedAnswer
from bert_span.answers.scoring.official_scores import official_scores
from bert_span.reporting.question_results import first_texts, question_results
from bert_span.squad.example import Answer, SquadExample
from bert_span.squad.reader import SquadFile, read_squad

_CONTEXT = "Ada met Bea. Bea met Ada."


def _example(qas_id, *golds):
  answers = tuple(Answer(gold, _CONTEXT.find(gold)) for gold in golds)
  return SquadExample(qas_id, "Who?", _CONTEXT, answers, not golds)


def _results(file, n_best):
  return question_results(file, n_best, first_texts(n_best))


def _file(*examples, version_2=False):
  return SquadFile("dev.json", examples, version_2)


def test_a_result_has_the_probability_and_the_place_of_the_prediction():
  n_best = {
    "q": (
      ListedAnswer("Ada", 0.6, 21, 24),
      ListedAnswer("Bea met", 0.4, 13, 20),
    )
  }
  file = _file(_example("q", "Bea", "Bea met Ada"))
  (result,) = question_results(file, n_best, {"q": "Bea met"})
  assert result.prediction == "Bea met"
  assert result.probability == 0.4
  assert result.span == (13, 20)
  # "bea met" and "bea met ada": precision 1, recall 2/3.
  assert (result.exact, result.f1) == (0, pytest.approx(0.8))
  assert result.n_best == n_best["q"]
  assert result.has_answer


def test_without_predictions_the_first_entry_counts():
  n_best = {"q": (ListedAnswer("Ada", 0.6, 0, 3), ListedAnswer("Bea", 0.4))}
  assert first_texts(n_best) == {"q": "Ada"}
  (result,) = _results(_file(_example("q", "Ada")), n_best)
  assert (result.prediction, result.exact, result.f1) == ("Ada", 1, 1.0)


def test_an_answer_without_offsets_is_found_by_its_text():
  n_best = {"a": (ListedAnswer("Bea", 1.0),), "b": (ListedAnswer("Eve", 1.0),)}
  file = _file(_example("a", "Ada"), _example("b", "Ada"))
  assert [r.span for r in _results(file, n_best)] == [(8, 11), None]


def test_no_answer_is_right_where_there_is_none():
  n_best = {
    "none": (ListedAnswer("", 0.9), ListedAnswer("Ada", 0.1, 0, 3)),
    "some": (ListedAnswer("", 0.7), ListedAnswer("Ada", 0.3, 0, 3)),
  }
  file = _file(_example("none"), _example("some", "Ada"), version_2=True)
  right, wrong = _results(file, n_best)
  assert (right.exact, right.f1, right.span) == (1, 1.0, None)
  assert (wrong.exact, wrong.f1, wrong.probability) == (0, 0.0, 0.7)


def test_a_question_without_prediction_counts_0():
  (result,) = _results(_file(_example("q", "Ada")), {})
  assert (result.prediction, result.exact, result.f1) == (None, 0, 0.0)
  assert result.probability is None


def test_predictions_of_another_run_are_refused():
  n_best = {"q": (ListedAnswer("Ada", 1.0, 0, 3),)}
  with pytest.raises(ValueError, match="'q'"):
    question_results(_file(_example("q", "Ada")), n_best, {"q": "Bea"})


def test_offsets_of_another_passage_are_refused():
  n_best = {"q": (ListedAnswer("Ada", 1.0, 8, 11),)}
  with pytest.raises(ValueError, match=r"'q': .*'Ada'.* 8 to 11"):
    _results(_file(_example("q", "Ada")), n_best)


@pytest.mark.parametrize("name", ["squad1_dev_half", "squad2_part"])
def test_the_mean_is_what_the_official_evaluator_gives(shared_data, name):
  file = read_squad(shared_data / f"{name}.json")
  examples = file.examples[:500]
  file = SquadFile(name, examples, file.version_2)
  # Words of the passages: some right, some half right, some wrong, some empty.
  texts = {
    e.qas_id: e.answers[0].text if i % 3 and e.answers else e.context[:9]
    for i, e in enumerate(examples)
  }
  texts.update((e.qas_id, "") for e in examples[::7])
  n_best = {q: (ListedAnswer(text, 0.5),) for q, text in texts.items()}
  results = _results(file, n_best)
  scores = official_scores(file, texts)
  exact = scores["exact" if file.version_2 else "exact_match"]
  assert 20 < exact < 80
  assert 100 * np.mean([r.exact for r in results]) == pytest.approx(exact)
  assert 100 * np.mean([r.f1 for r in results]) == pytest.approx(scores["f1"])
