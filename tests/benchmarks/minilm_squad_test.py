"""The files that the embedded model is made with, and its scores on them."""

import collections
import json

import pytest
from programs import succeeds
from squad_content import spans
from tiny_extractor import shared_model

_KINDS = ("squad1_train", "new_wiki", "reddit", "amazon", "squad2", "qamr")


def _source(kind, num_articles=12):
  """A SQuAD file of articles of three passages each."""
  articles = []
  for number in range(num_articles):
    names = [f"{kind}{number}{letter}" for letter in "abc"]
    paragraphs = [_paragraph(kind, name) for name in names]
    articles.append({"title": f"{kind} {number}", "paragraphs": paragraphs})
  return json.dumps({"data": articles})


def _paragraph(kind, name):
  question = {
    "question": f"Who built {name}?",
    "answers": spans((f"of{name}", 10)),
  }
  qas = [{"id": f"{i}{name}", **question} for i in range(5)]
  if kind == "squad2":
    qas[0] |= {"is_impossible": True, "answers": []}
  return {"context": f"The miller of{name} built the mill {name}.", "qas": qas}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
  """The folder of the files that are made, and their articles by name."""
  sources, made = (tmp_path_factory.mktemp(x) for x in ("sources", "made"))
  for kind in _KINDS:
    (sources / f"{kind}_part.json").write_text(_source(kind))
  (sources / "squad1_dev_half.json").write_text(_source("squad2", 4))

  def make(output_dir):
    succeeds(
      *("benchmarks.minilm_squad.data", f"--output_dir={output_dir}"),
      *(f"--data_dir={sources}", "--neighbouring_share=0.5"),
      "--across_share=0.5",
    )
    return {
      path.stem: json.loads(path.read_text())["data"]
      for path in sorted(output_dir.glob("*.json"))
    }

  files = make(made)
  assert make(tmp_path_factory.mktemp("again")) == files
  return made, files


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
  for name, articles in made[1].items():
    paragraphs = [p for article in articles for p in article["paragraphs"]]
    ids = [question["id"] for p in paragraphs for question in p["qas"]]
    assert len(set(ids)) == len(ids)
    sorts = collections.Counter(qas_id.split("/")[1] for qas_id in ids)
    for context, qas in ((p["context"], p["qas"]) for p in paragraphs):
      for question in qas:
        sort = question["id"].split("/")[1]
        assert question["is_impossible"] == (sort != "answerable")
        asked = question["question"].split()[-1].rstrip("?")
        elsewhere = sort in ("neighbouring", "across")
        assert (f"of{asked}" in context) != elsewhere
        # The same article.
        assert sort != "neighbouring" or asked[:-1] in context
    assert sorts["neighbouring"], name
    has_squad2 = "squad2" in name or name in ("train", "select", "held_out")
    assert has_squad2 == bool(sorts["adversarial"])


def test_scores_have_a_row_for_each_kind(made):
  run = succeeds(
    *("benchmarks.minilm_squad.scores", f"--data={made[0]}"),
    *(f"--model={shared_model(version_2=True)}", "--questions=4"),
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
