r"""Makes the files to train, select and score minilm_squad.

  python -m benchmarks.minilm_squad.data --data_dir=../shared/data \
    --output_dir=DIR

train.json            questions of all kinds
select.json           other articles, to select settings and to calibrate
select_KIND.json      those of one kind
held_out.json         yet other articles, to report scores
held_out_KIND.json    those of one kind

An article is in only one of the three, whichever sources have it, and so is a
passage. Articles whose titles are in squad1_dev_half are not trained on,
because that file is for the final report. QAMR is in train.json only.

A question's id is KIND/SORT/ID: the kind and the ID of its source, and one of
these sorts:
  answerable     as in the source
  adversarial    unanswerable, written to look answerable, from SQuAD 2.0
  altered        an answerable question of which a name, a number or a word
                 was changed; only with --altered_share
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
import random
import re
from itertools import permutations
from typing import NamedTuple

from absl import flags

from benchmarks.tables import print_head, print_row
from bert_span.cli import program
from bert_span.storage.files import read_json


def _define_share(name, default, text):
  return flags.DEFINE_float(
    name, default, text, lower_bound=0.0, upper_bound=1.0
  )


_DATA_DIR = flags.DEFINE_string(
  "data_dir", None, "Folder of the source files.", required=True
)
_OUTPUT_DIR = flags.DEFINE_string(
  "output_dir", None, "Folder for the outputs.", required=True
)
_TRAIN_SHARE = _define_share(
  "train_share", 1.0, "Share of the sources' questions in train.json."
)
_ANSWERABLE_SHARE = _define_share(
  "answerable_share",
  1.0,
  "Share of those that are answerable; the adversarial ones all stay.",
)
_NEIGHBOURING_SHARE = _define_share(
  "neighbouring_share",
  0.1,
  "Share of the training questions asked of another passage of the article.",
)
_ACROSS_SHARE = _define_share(
  "across_share",
  0.05,
  "Share of the training questions asked of a passage of another kind.",
)
_ALTERED_SHARE = _define_share(
  "altered_share",
  0.0,
  "Share of the training questions repeated with a change that leaves them "
  "without an answer.",
)
_QAMR_SHARE = _define_share(
  "qamr_share",
  0.25,
  "Share of QAMR's questions in train.json; a sentence has 35 on average.",
)

# The files of each kind, after n: every n-th article is not trained on. An
# article or passage belongs to the first kind with it. The kept-out articles of
# the first four kinds are those that no earlier minilm_squad was trained on.
_SOURCES = {
  "squad1": (10, "squad1_train_part"),
  "new_wiki": (5, "new_wiki_part"),
  "reddit": (5, "reddit_part"),
  "amazon": (5, "amazon_part"),
  "squad2": (None, "squad2_part"),
  "squad_more": (
    20,
    "squad1_train_official",
    "squad1_train_wiki",
    "squad1_train_sentences",
    "squad2_train_unanswerable",
  ),
  "quoref": (10, "quoref_pieces"),
  "nq": (10, "nq_dev_pieces"),
  "fairytale": (10, "fairytaleqa_extractive"),
  "qamr": (None, "qamr_part"),
}
_FINAL_REPORT = "squad1_dev_half"
# Independent of the flags, so that scores can be compared.
_SCORED_SHARES = (0.25, 0.15)
_RARE = 1 / 200  # Highest share of passages with a rare word.
_ACROSS_CANDIDATES = 50
_SORTS = ("answerable", "adversarial", "altered", "neighbouring", "across")
_OPPOSITES = (
  *("first last", "before after", "most least", "more less", "start end"),
  *("largest smallest", "highest lowest", "oldest youngest", "early late"),
  *("earliest latest", "increase decrease", "north south", "east west"),
  *("male female", "above below", "old new", "maximum minimum"),
)
_OPPOSITE = {a: b for p in _OPPOSITES for a, b in permutations(p.split())}


class _Passage(NamedTuple):
  kind: str
  article: str
  text: str
  words: set
  questions: list


def main(argv):
  """Divides the articles, makes unanswerable questions, writes the files."""
  parts = _divide_articles()
  chance = random.Random("qamr")
  _keep_share(parts["train"]["qamr"], _QAMR_SHARE.value, chance)
  for articles in parts["train"].values():
    _keep_share(articles, _TRAIN_SHARE.value, chance)
    _keep_share(articles, _ANSWERABLE_SHARE.value, chance, _is_answerable)
  train_shares = (_NEIGHBOURING_SHARE.value, _ACROSS_SHARE.value)
  for part, kinds in parts.items():
    passages = [
      _Passage(kind, a["title"], p["context"], _words(p["context"]), p["qas"])
      for kind, articles in kinds.items()
      for a in articles
      for p in a["paragraphs"]
    ]
    shares = train_shares if part == "train" else _SCORED_SHARES
    moved = _ask_elsewhere(passages, *shares, random.Random(part))
    if part == "train":
      _add_altered(passages, _ALTERED_SHARE.value, random.Random("altered"))
    for passage, question in moved:
      passage.questions.append(question)
  os.makedirs(_OUTPUT_DIR.value, exist_ok=True)
  for part, kinds in parts.items():
    _write(part, [a for articles in kinds.values() for a in articles])
    if part != "train":
      for kind, articles in kinds.items():
        _write(f"{part}_{kind}", articles)
  _print_counts(parts)


def _read(name):
  return read_json(os.path.join(_DATA_DIR.value, f"{name}.json"))["data"]


def _divide_articles():
  """Returns a dict from part to kind to articles in SQuAD 2.0's format."""
  final = {_title(article) for article in _read(_FINAL_REPORT)}
  parts = {"train": {}, "select": {}, "held_out": {}}
  part_of_title, part_of_passage = {}, {}
  num_dropped = 0
  for kind, (every, *names) in _SOURCES.items():
    articles = _merge_by_title(kind, [a for name in names for a in _read(name)])
    titles = [title for title in articles if title not in part_of_title]
    for title, part in _assign_parts(titles, every, final):
      part_of_title[title] = part
    # Passages of kept-out articles first: copies of them are not trained on.
    for part in ("held_out", "select", "train"):
      for title, article in articles.items():
        if part_of_title[title] != part:
          continue
        parts[part].setdefault(kind, []).append(article)
        paragraphs = article["paragraphs"]
        article["paragraphs"] = [
          p
          for p in paragraphs
          if part_of_passage.setdefault(_letters(p["context"]), part) == part
        ]
        num_dropped += len(paragraphs) - len(article["paragraphs"])
  print(f"Passages left out because another part has them: {num_dropped:,}\n")
  return parts


def _title(article):
  return article["title"].removeprefix("sentences_").replace("_", " ").lower()


def _letters(text):
  """Returns the text without what rebuilt passages differ in."""
  return re.sub(r"\W+", "", text.lower())


def _merge_by_title(kind, sources):
  """Returns a dict from title to the article of all sources."""
  articles = {}
  for source in sources:
    title = _title(source)
    empty = {"title": f"{kind}: {title}", "paragraphs": []}
    paragraphs = articles.setdefault(title, empty)["paragraphs"]
    by_context = {p["context"]: p["qas"] for p in paragraphs}
    for p in source["paragraphs"]:
      if p["context"] not in by_context:
        by_context[p["context"]] = []
        qas = by_context[p["context"]]
        paragraphs.append({"context": p["context"], "qas": qas})
      by_context[p["context"]] += [_question(kind, q) for q in p["qas"]]
  return articles


def _question(kind, question):
  """Returns the question with its new id."""
  impossible = question.get("is_impossible", False)
  sort = "adversarial" if impossible else "answerable"
  return {
    "id": f"{kind}/{sort}/{question['id']}",
    "question": question["question"],
    "answers": question["answers"],
    "is_impossible": impossible,
  }


def _assign_parts(titles, every, final):
  """Yields (title, part) of each article."""
  kept_out = titles[::every] if every else []
  kept_out += [t for t in titles if t in final and t not in kept_out]
  for title in titles:
    if title in kept_out:
      yield title, ("select", "held_out")[kept_out.index(title) % 2]
    else:
      yield title, "train"


def _keep_share(articles, share, chance, drawn=lambda question: True):
  """Keeps a random share of the questions that are drawn, and all others."""
  for article in articles:
    for paragraph in article["paragraphs"]:
      paragraph["qas"] = [
        q for q in paragraph["qas"] if not drawn(q) or chance.random() < share
      ]


def _is_answerable(question):
  return not question["is_impossible"]


def _ask_elsewhere(passages, neighbouring_share, across_share, chance):
  """Returns (passage, question) pairs without an answer."""
  counts = collections.Counter(word for p in passages for word in p.words)
  weights = {word: math.log(len(passages) / n) for word, n in counts.items()}
  rare = max(1, _RARE * len(passages))
  neighbours = collections.defaultdict(list)
  for passage in passages:
    neighbours[passage.kind, passage.article].append(passage)
  moved = []
  for source in passages:
    for question in source.questions:
      draw = chance.random() - neighbouring_share
      shared = _words(question["question"]) & source.words
      if (
        question["is_impossible"]
        or draw >= across_share
        or min(map(counts.get, shared), default=math.inf) > rare
      ):
        continue
      if draw < 0:
        sort, candidates = "neighbouring", neighbours[source[:2]]
      else:
        size = min(_ACROSS_CANDIDATES, len(passages))
        sort, candidates = "across", chance.sample(passages, size)
        candidates = [p for p in candidates if p.kind != source.kind]
      passage = _most_alike(question, source, candidates, weights)
      if passage:
        moved.append((passage, _unanswerable(question, sort)))
  return moved


def _words(text):
  return set(re.findall(r"\w+", text.lower()))


def _most_alike(question, source, candidates, weights):
  """Returns the most similar passage without the answers, or None."""
  answers = [answer["text"].lower() for answer in question["answers"]]
  asked = _words(question["question"])
  # fsum is exact, so that the order of the set does not matter.
  return max(
    (
      passage
      for passage in candidates
      if passage.text != source.text
      and not any(answer in passage.text.lower() for answer in answers)
    ),
    key=lambda passage: math.fsum(weights[w] for w in asked & passage.words),
    default=None,
  )


def _unanswerable(question, sort):
  """Returns a copy of an answerable question."""
  new_id = question["id"].replace("answerable", sort, 1)
  return {**question, "id": new_id, "answers": [], "is_impossible": True}


def _add_altered(passages, share, chance):
  """Repeats some questions with one change that leaves them unanswerable."""
  for passage in passages:
    for question in list(passage.questions):
      if question["is_impossible"] or chance.random() >= share:
        continue
      text = _alter(question["question"], passage.text, chance)
      if text:
        altered = {**question, "question": text}
        passage.questions.append(_unanswerable(altered, "altered"))


def _alter(question, passage, chance):
  """Returns the question with a name, number or word replaced, or None.

  A name becomes another one of the passage, a number one that is not in the
  passage, and a word like "first" its opposite.
  """
  changes = []
  name = r"(?<=\w )[A-Z]\w+(?: [A-Z]\w+)*"  # not at the start
  names = [n for n in re.findall(name, passage) if n not in question]
  for match in re.finditer(name, question):
    if names and match[0] in passage:
      changes.append((match, chance.choice(names)))
  for match in re.finditer(r"(?<![\w.,])\d+(?![\w.,]\d)", question):
    number = str(int(match[0]) + chance.randint(1, 9))
    if number not in passage:
      changes.append((match, number))
  for match in re.finditer(r"\b[a-z]+\b", question):
    if match[0] in _OPPOSITE and _OPPOSITE[match[0]] not in passage:
      changes.append((match, _OPPOSITE[match[0]]))
  if not changes:
    return None
  match, new = chance.choice(changes)
  return question[: match.start()] + new + question[match.end() :]


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
