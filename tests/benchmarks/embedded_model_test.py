"""The files that the embedded model is made with, and its scores on them."""

import collections
import json

import pytest
from programs import succeeds
from tiny_extractor import shared_model

_KINDS = ("squad1_train", "new_wiki", "reddit", "amazon", "squad2", "qamr")


def _source(kind, num_articles=12):
  """Articles of three passages each."""
  articles = []
  for number in range(num_articles):
    names = [f"{kind}{number}{letter}" for letter in "abc"]
    paragraphs = [_paragraph(kind, name) for name in names]
    articles.append({"title": f"{kind} {number}", "paragraphs": paragraphs})
  return json.dumps({"data": articles})


def _paragraph(kind, name):
  answer = {"text": f"of{name}", "answer_start": 10}
  qas = [
    {"id": f"{i}{name}", "question": f"Who built {name}?", "answers": [answer]}
    for i in range(5)
  ]
  if kind == "squad2":
    qas[0] |= {"is_impossible": True, "answers": []}
  return {"context": f"The miller of{name} built the mill {name}.", "qas": qas}


def _make(sources, output_dir):
  folders = (f"--data_dir={sources}", f"--output_dir={output_dir}")
  shares = ("--neighbouring_share=0.5", "--across_share=0.5")
  succeeds("benchmarks.embedded_model_data", *folders, *shares)
  return {
    path.stem: json.loads(path.read_text())["data"]
    for path in sorted(output_dir.glob("*.json"))
  }


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
  """A folder with a small file of each kind."""
  folder = tmp_path_factory.mktemp("sources")
  for kind in _KINDS:
    (folder / f"{kind}_part.json").write_text(_source(kind))
  (folder / "squad1_dev_half.json").write_text(_source("squad2", 4))
  return folder


@pytest.fixture(scope="module")
def made(sources, tmp_path_factory):
  """The folder of the files made and their articles by name."""
  folder = tmp_path_factory.mktemp("made")
  return folder, _make(sources, folder)


def test_an_article_is_in_one_file(made):
  files = dict(made[1])
  for part in ("select", "held_out"):  # those of all kinds
    kinds = [n for n in files if n.startswith(f"{part}_")]
    assert len(kinds) == 5
    whole = {a["title"] for a in files.pop(part)}
    assert whole == {a["title"] for kind in kinds for a in files[kind]}
  titles = [a["title"] for articles in files.values() for a in articles]
  assert len(titles) == len(set(titles)) == 12 * len(_KINDS)
  trained_on = {a["title"] for a in files["train"]}
  assert not trained_on & {f"squad2 {n}" for n in range(4)}


def test_an_unanswerable_question_is_asked_where_its_answer_is_not(made):
  _, files = made
  for name, articles in files.items():
    questions = [
      (paragraph["context"], question)
      for article in articles
      for paragraph in article["paragraphs"]
      for question in paragraph["qas"]
    ]
    assert len({q["id"] for _, q in questions}) == len(questions)
    sorts = collections.Counter()
    for context, question in questions:
      sort = question["id"].split("/")[1]
      sorts[sort] += 1
      assert question["is_impossible"] == (sort != "answerable")
      name_asked = question["question"].split()[-1].rstrip("?")
      elsewhere = sort in ("neighbouring", "across")
      assert (f"of{name_asked}" in context) != elsewhere
      if sort == "neighbouring":
        assert name_asked[:-1] in context  # the same article
    assert sorts["neighbouring"], name
    has_squad2 = "squad2" in name or name in ("train", "select", "held_out")
    assert has_squad2 == bool(sorts["adversarial"])


def test_the_files_are_the_same_every_time(sources, made, tmp_path):
  assert _make(sources, tmp_path) == made[1]


def test_scores_have_a_row_for_each_kind(made):
  model = shared_model(version_2=True)
  run = succeeds(
    "benchmarks.embedded_model_scores",
    *(f"--model={model}", f"--data={made[0]}", "--questions=4"),
    "--answered=0.5",
  )
  table = run.stdout.split("\n\n")[-1]  # that of --answered
  rows = [line.split("|")[1:-1] for line in table.splitlines()[2:]]
  cells = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
  kinds = ["amazon", "new_wiki", "reddit", "squad1", "squad2"]
  assert list(cells) == [*kinds, "all"]
  assert cells["all"][0] == "20"
  assert float(cells["all"][1]) >= 50
  assert [cells[kind][6] for kind in kinds[:4]] == ["-"] * 4
  assert cells["squad2"][6].endswith(" of 4")
