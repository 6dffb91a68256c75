r"""Makes the files to train, select and score the embedded model.

  python -m benchmarks.minilm_squad.data --data_dir=../shared/data \
    --output_dir=DIR

train.json            questions of all kinds
select.json           other articles, to select settings and to calibrate
select_KIND.json      those of one kind
held_out.json         yet other articles, to report scores
held_out_KIND.json    those of one kind

An article is in only one of the three. Articles of squad2_part whose titles are
in squad1_dev_half are not trained on, because that file is for the final
report. QAMR is in train.json only.

A question's id is KIND/SORT/ID: the kind and the ID of its source, and one of
these sorts:
  answerable     as in the source
  adversarial    unanswerable, written to look answerable, from SQuAD 2.0
  neighbouring   asked of another passage of the same article
  across         asked of a passage of another kind
The last two are answerable questions that are asked a second time. Candidates
are passages without any of the question's answers. The question is asked of the
candidate that shares most of its words, weighted by inverse document frequency.
"What did the author like?" has an answer in many passages, so a question is
asked elsewhere only if it shares a rare word with its own passage.
"""

import collections
import json
import math
import os
import pathlib
import random
import re
from typing import NamedTuple

from absl import flags

from benchmarks.inputs import read_json
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_DATA_DIR = flags.DEFINE_string(
  "data_dir", None, "Folder of the source files.", required=True
)
_OUTPUT_DIR = flags.DEFINE_string(
  "output_dir", None, "Folder for the outputs.", required=True
)
_NEIGHBOURING_SHARE = flags.DEFINE_float(
  "neighbouring_share",
  0.3,
  "Share of the training questions asked of another passage of the article.",
  lower_bound=0.0,
  upper_bound=1.0,
)
_ACROSS_SHARE = flags.DEFINE_float(
  "across_share",
  0.15,
  "Share of the training questions asked of a passage of another kind.",
  lower_bound=0.0,
  upper_bound=1.0,
)
_SQUAD2_COPIES = flags.DEFINE_integer(
  "squad2_copies",
  2,
  "Copies of SQuAD 2.0's questions, the only adversarial ones, in train.json.",
  lower_bound=1,
)
_QAMR_SHARE = flags.DEFINE_float(
  "qamr_share",
  0.25,
  "Share of QAMR's questions in train.json; a sentence has 35 on average.",
  lower_bound=0.0,
  upper_bound=1.0,
)

_FILES = {
  "squad1": "squad1_train_part.json",
  "new_wiki": "new_wiki_part.json",
  "reddit": "reddit_part.json",
  "amazon": "amazon_part.json",
  "squad2": "squad2_part.json",
  "qamr": "qamr_part.json",
}
_FINAL_REPORT = "squad1_dev_half.json"
# Every n-th article is not trained on. For SQuAD 1.1 these are the articles
# that the first embedded model was not trained on, to compare both.
_KEPT_OUT = {"squad1": 10, "new_wiki": 5, "reddit": 5, "amazon": 5}
# Independent of the flags, so that scores can be compared.
_SCORED_SHARES = (0.25, 0.15)
_RARE = 1 / 200  # Highest share of passages with a rare word.
_ACROSS_CANDIDATES = 50
_SORTS = ("answerable", "adversarial", "neighbouring", "across")


class _Passage(NamedTuple):
  kind: str
  article: str
  text: str  # lower case
  words: set
  questions: list


def main(argv):
  """Divides the articles, makes unanswerable questions, writes the files."""
  final = {article["title"] for article in _read(_FINAL_REPORT)}
  parts = {"train": {}, "select": {}, "held_out": {}}
  for kind, name in _FILES.items():
    for part, articles in _divide(kind, _read(name), final).items():
      parts[part][kind] = [_copy(kind, article) for article in articles]
  _reduce(parts["train"]["qamr"], _QAMR_SHARE.value, random.Random("qamr"))
  train_shares = (_NEIGHBOURING_SHARE.value, _ACROSS_SHARE.value)
  for part, kinds in parts.items():
    shares = train_shares if part == "train" else _SCORED_SHARES
    _add_unanswerable(kinds, *shares, random.Random(part))
  _repeat(parts["train"]["squad2"], _SQUAD2_COPIES.value)
  os.makedirs(_OUTPUT_DIR.value, exist_ok=True)
  for part, kinds in parts.items():
    _write(part, [a for articles in kinds.values() for a in articles])
    if part != "train":
      for kind, articles in kinds.items():
        _write(f"{part}_{kind}", articles)
  _print_counts(parts)


def _read(name):
  return read_json(pathlib.Path(_DATA_DIR.value, name))["data"]


def _divide(kind, articles, final):
  """The articles of one kind by part."""
  if kind == "qamr":
    return {"train": articles}
  if kind == "squad2":
    kept_out = [a for a in articles if a["title"] in final]
  else:
    kept_out = articles[:: _KEPT_OUT[kind]]
  return {
    "train": [a for a in articles if a not in kept_out],
    "select": kept_out[::2],
    "held_out": kept_out[1::2],
  }


def _copy(kind, article):
  """An article in SQuAD 2.0's format, with the new ids."""

  def copy(question):
    impossible = question.get("is_impossible", False)
    sort = "adversarial" if impossible else "answerable"
    return {
      "id": f"{kind}/{sort}/{question['id']}",
      "question": question["question"],
      "answers": question["answers"],
      "is_impossible": impossible,
    }

  paragraphs = [
    {"context": p["context"], "qas": [copy(q) for q in p["qas"]]}
    for p in article["paragraphs"]
  ]
  return {"title": article["title"], "paragraphs": paragraphs}


def _add_unanswerable(kinds, neighbouring_share, across_share, chance):
  """Asks some questions of a second passage that does not answer them."""
  passages = [
    _Passage(kind, a["title"], text, _words(text), paragraph["qas"])
    for kind, articles in kinds.items()
    for a in articles
    for paragraph in a["paragraphs"]
    for text in [paragraph["context"].lower()]
  ]
  counts = collections.Counter(word for p in passages for word in p.words)
  weights = {word: math.log(len(passages) / n) for word, n in counts.items()}
  rare = max(1, _RARE * len(passages))
  neighbours = collections.defaultdict(list)
  for passage in passages:
    neighbours[passage.kind, passage.article].append(passage)
  added = []
  for own in passages:
    for question in own.questions:
      draw = chance.random() - neighbouring_share
      shared = _words(question["question"]) & own.words
      if (
        question["is_impossible"]
        or draw >= across_share
        or min(map(counts.get, shared), default=math.inf) > rare
      ):
        continue
      if draw < 0:
        sort, candidates = "neighbouring", neighbours[own.kind, own.article]
      else:
        size = min(_ACROSS_CANDIDATES, len(passages))
        sort, candidates = "across", chance.sample(passages, size)
        candidates = [p for p in candidates if p.kind != own.kind]
      other = _most_alike(question, own, candidates, weights)
      if other:
        added.append((other, sort, question))
  for passage, sort, question in added:
    new = {"id": question["id"].replace("answerable", sort, 1)}
    new |= {"answers": [], "is_impossible": True}
    passage.questions.append({**question, **new})


def _words(text):
  return set(re.findall(r"\w+", text.lower()))


def _most_alike(question, own, candidates, weights):
  """The most similar passage without the question's answers, or None."""
  answers = [answer["text"].lower() for answer in question["answers"]]
  asked = _words(question["question"])
  # fsum is exact, so that the order of the set does not matter.
  return max(
    (
      passage
      for passage in candidates
      if passage.text != own.text
      and not any(answer in passage.text for answer in answers)
    ),
    key=lambda passage: math.fsum(weights[w] for w in asked & passage.words),
    default=None,
  )


def _reduce(articles, share, chance):
  """Keeps a random share of the questions."""
  for article in articles:
    for paragraph in article["paragraphs"]:
      qas = paragraph["qas"]
      paragraph["qas"] = [q for q in qas if chance.random() < share]


def _repeat(articles, copies):
  """Adds copies of every question, with their own ids."""
  for article in articles:
    for paragraph in article["paragraphs"]:
      paragraph["qas"] += [
        {**question, "id": f"{question['id']}-{copy}"}
        for copy in range(2, copies + 1)
        for question in paragraph["qas"]
      ]


def _write(name, articles):
  path = os.path.join(_OUTPUT_DIR.value, f"{name}.json")
  with open(path, "w", encoding="utf-8") as file:
    json.dump({"version": "v2.0", "data": articles}, file)


def _print_counts(parts):
  columns = ("part", "kind", "articles", "passages", *_SORTS)
  print_head(*columns, text=columns[:2])
  for part, kinds in parts.items():
    for kind, articles in kinds.items():
      paragraphs = [p for a in articles for p in a["paragraphs"]]
      sorts = collections.Counter(
        q["id"].split("/")[1] for p in paragraphs for q in p["qas"]
      )
      counts = [len(articles), len(paragraphs), *(sorts[s] for s in _SORTS)]
      print_row(part, kind, *(f"{count:,}" for count in counts))


if __name__ == "__main__":
  program.run_program(main)
