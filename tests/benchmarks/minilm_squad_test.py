"""The files that minilm_squad is made with, and scores on them."""

import collections
import json

import numpy as np
import pytest

from bert_span import FineTuningOptions, SpanExtractor, fine_tune, read_squad
from bert_span.training.checkpoints import checkpoint_names
from tests.support.models import shared_model, tiny_extractor
from tests.support.programs import error_line, run_program, succeeds
from tests.support.squad import spans

pytestmark = pytest.mark.slow  # They make the files of a recipe, or train.

# Kind -> the files of its articles, twelve each with the same titles.
_FILES = {
  "squad1": ["squad1_train_part"],
  "new_wiki": ["new_wiki_part"],
  "reddit": ["reddit_part"],
  "amazon": ["amazon_part"],
  "squad2": ["squad2_part"],
  "squad_more": [
    "squad1_train_official",
    "squad1_train_wiki",
    "squad1_train_sentences",
    "squad2_train_unanswerable",
  ],
  "quoref": ["quoref_pieces"],
  "nq": ["nq_dev_pieces"],
  "fairytale": ["fairytaleqa_extractive"],
  "qamr": ["qamr_part"],
}
_SCORED = sorted(_FILES.keys() - {"qamr"})


def _source(kind, file, titles):
  """Returns the JSON of a file of articles of three passages each."""
  articles = []
  for title in titles:
    names = [f"{kind}{title}{letter}" for letter in "abc"]
    paragraphs = [_paragraph(file, name) for name in names]
    prefix = "sentences_" if "sentences" in file else ""
    articles.append({"title": f"{prefix}{kind}_{title}"})
    articles[-1]["paragraphs"] = paragraphs
  return json.dumps({"data": articles})


def _paragraph(file, name):
  qas = [
    {
      "id": f"{file}{i}{name}",
      "question": f"Who first built {name}?",
      "answers": spans((f"of{name}", 10)),
    }
    for i in range(5)
  ]
  for question in qas if "unanswerable" in file else qas[: "squad2" in file]:
    question |= {"is_impossible": True, "answers": []}
  return {"context": f"The miller of{name} built the mill {name}.", "qas": qas}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
  """The folder of the source files."""
  folder = tmp_path_factory.mktemp("sources")
  for kind, files in _FILES.items():
    for file in files:
      (folder / f"{file}.json").write_text(_source(kind, file, range(12)))
  # An article of squad1 occurs in nq, too, with a passage of its own.
  nq = json.loads((folder / "nq_dev_pieces.json").read_text())
  nq["data"][1]["title"] = "squad1 0"
  (folder / "nq_dev_pieces.json").write_text(json.dumps(nq))
  (folder / "squad1_dev_half.json").write_text(_source("squad2", "", range(4)))
  return folder


def _make(sources, folder, *flags):
  """Returns the articles of the files that are made, by name."""
  succeeds(
    *("benchmarks.minilm_squad.data", f"--output_dir={folder}"),
    *(f"--data_dir={sources}", "--neighbouring_share=0.5"),
    *("--across_share=0.5", *flags),
  )
  return {
    path.stem: json.loads(path.read_text())["data"]
    for path in sorted(folder.glob("*.json"))
  }


@pytest.fixture(scope="module")
def made(sources, tmp_path_factory):
  """The folder of the files that are made, and their articles by name."""
  folder = tmp_path_factory.mktemp("made")
  return folder, _make(sources, folder)


def _passages(articles):
  return [p for article in articles for p in article["paragraphs"]]


def _questions(articles):
  return [q for passage in _passages(articles) for q in passage["qas"]]


def test_an_article_and_a_passage_are_in_one_part(made):
  files = dict(made[1])
  for part in ("select", "held_out"):  # those of all kinds
    whole = files.pop(part)
    kinds = [n for n in files if n.startswith(f"{part}_")]
    assert {a["title"] for a in whole} == {
      a["title"] for kind in kinds for a in files[kind]
    }
  titles = [a["title"] for articles in files.values() for a in articles]
  assert len(titles) == len(set(titles)) == 12 * len(_FILES)
  contexts = {n: {p["context"] for p in _passages(a)} for n, a in files.items()}
  assert sum(map(len, contexts.values())) == len(
    set().union(*contexts.values())
  )
  trained_on = {a["title"] for a in files["train"]}
  assert not trained_on & {f"squad2: squad2 {n}" for n in range(4)}
  # The first article of a kind is kept out, wherever it occurs.
  assert not trained_on & {"squad1: squad1 0", "nq: squad1 0"}


def test_questions_of_all_files_about_a_passage_are_together(made):
  _, files = made
  passages = _passages(files["train"])
  more = [p for p in passages if "squad_more" in p["qas"][0]["id"]]
  assert len(more) == 33  # of 11 articles
  for passage in more:
    counts = collections.Counter(_sort(q) for q in passage["qas"])
    assert (counts["answerable"], counts["adversarial"]) == (15, 5)


def _sort(question):
  return question["id"].split("/")[1]


def test_an_unanswerable_question_is_asked_where_its_answer_is_not(made):
  for name, articles in made[1].items():
    ids = [question["id"] for question in _questions(articles)]
    assert len(set(ids)) == len(ids)
    sorts = collections.Counter(map(_sort, _questions(articles)))
    for passage in _passages(articles):
      for question in passage["qas"]:
        sort = _sort(question)
        assert question["is_impossible"] == (sort != "answerable")
        asked = question["question"].split()[-1].rstrip("?")
        elsewhere = sort in ("neighbouring", "across")
        assert (f"of{asked}" in passage["context"]) != elsewhere
        # The same article.
        assert sort != "neighbouring" or asked[:-1] in passage["context"]
    assert sorts["neighbouring"], name
    has_squad2 = "squad2" in name or "squad_more" in name
    has_squad2 |= name in ("train", "select", "held_out")
    assert has_squad2 == bool(sorts["adversarial"])


def test_shares_change_the_training_questions_only(made, sources, tmp_path):
  flags = ("--train_share=0.5", "--altered_share=1")
  files = _make(sources, tmp_path, *flags)
  before = dict(made[1])
  train, whole = files.pop("train"), before.pop("train")
  assert files == before
  sorts = collections.Counter(map(_sort, _questions(train)))
  all_sorts = collections.Counter(map(_sort, _questions(whole)))
  assert 0.4 < sorts["answerable"] / all_sorts["answerable"] < 0.6
  altered = [q for q in _questions(train) if _sort(q) == "altered"]
  assert len(altered) == sorts["answerable"]  # "first" has an opposite
  assert all(q["question"].startswith("Who last") for q in altered)


def test_scores_have_a_row_for_each_kind(made):
  run = succeeds(
    *("benchmarks.minilm_squad.scores", f"--data={made[0]}"),
    *(f"--model={shared_model(version_2=True)}", "--questions=4"),
    "--answered=0.5",
  )
  *_, table, curve = run.stdout.split("\n\n")
  rows = [line.split("|")[1:-1] for line in table.splitlines()[2:]]
  cells = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
  assert list(cells) == [*_SCORED, "all"]
  assert cells["all"][0] == "36"
  assert float(cells["all"][1]) >= 50
  for kind in _SCORED:
    has_adversarial = kind in ("squad2", "squad_more")
    assert cells[kind][6] == ("-" if not has_adversarial else cells[kind][6])
    assert cells[kind][6].endswith("of 4") == has_adversarial
  shares = [float(line.split("|")[2]) for line in curve.splitlines()[2:]]
  assert shares == sorted(shares, reverse=True)
  assert shares[0] >= 99


def test_each_setting_for_own_questions_has_a_row(made):
  run = succeeds(
    *("benchmarks.minilm_squad.own_questions", f"--data={made[0]}"),
    *(f"--model={shared_model(version_2=True)}", "--questions=4"),
    *("--scored=8", "--seeds=1", "--learning_rate=1e-2", "--replay=4"),
    *("--num_train_epochs=2", "--num_train_epochs=15", "--kind=reddit"),
  )
  _, _, start, *rows = (
    [cell.strip() for cell in line.split("|")[1:-1]]
    for line in run.stdout.splitlines()
    if line.startswith("|")
  )
  assert start[:4] == ["-"] * 4
  assert [row[:4] for row in rows] == [
    ["0.01", epochs, "4", "1.0"] for epochs in ("2.0", "15.0")
  ]
  figures = np.float64([row[4:] for row in (start, *rows)])
  assert figures.min() >= 0
  assert figures.max() <= 100
  assert (figures[0] != figures[2]).any()


def test_the_average_has_the_mean_of_the_weights(tmp_path):
  other = tiny_extractor(version_2=True, seed=8)
  other.save_to_preset(tmp_path / "other")
  succeeds(
    *("benchmarks.minilm_squad.average", f"--output={tmp_path / 'mean'}"),
    *(f"--model={shared_model(version_2=True)}", f"--model={tmp_path}/other"),
  )
  paths = (shared_model(version_2=True), tmp_path / "other", tmp_path / "mean")
  for one, two, mean in zip(
    *(SpanExtractor.from_preset(path).weights for path in paths),
    strict=True,
  ):
    expected = (one.numpy() + two.numpy()) / 2
    np.testing.assert_allclose(mean.numpy(), expected, atol=1e-6)
  tiny_extractor(num_layers=2).save_to_preset(tmp_path / "deeper")
  run = run_program(
    *("benchmarks.minilm_squad.average", f"--output={tmp_path / 'mean'}"),
    *(f"--model={tmp_path}/other", f"--model={tmp_path}/deeper"),
  )
  assert "different weights" in error_line(run)


def test_the_average_of_checkpoints_takes_the_place_of_the_model(
  squad_folder, tmp_path
):
  extractor = tiny_extractor(version_2=True, seed=8)
  options = FineTuningOptions(
    num_train_epochs=1.0, train_batch_size=2, save_checkpoints_steps=1
  )
  questions = read_squad(squad_folder / "v2.json").examples
  fine_tune(extractor, questions, options, tmp_path / "run")
  checkpoints = [
    tmp_path / "run" / n for n in checkpoint_names(tmp_path / "run")
  ]
  means = []
  for paths in (checkpoints[-1:], checkpoints[-2:]):
    succeeds(
      *("benchmarks.minilm_squad.average", f"--output={tmp_path / 'mean'}"),
      f"--model={shared_model(version_2=True)}",
      *(f"--checkpoint={path}" for path in paths),
    )
    mean = SpanExtractor.from_preset(tmp_path / "mean")
    means.append([weight.numpy() for weight in mean.weights])
  last, mean_of_two = means
  differences = []
  for weight, one, two in zip(
    extractor.weights, last, mean_of_two, strict=True
  ):
    np.testing.assert_array_equal(weight.numpy(), one)
    differences.append(np.max(np.abs(one - two)))
  assert 0 < max(differences) < 0.1
