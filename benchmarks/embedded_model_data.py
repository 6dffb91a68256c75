r"""Makes the files that the embedded model is trained, chosen and scored on.

  python -m benchmarks.embedded_model_data --output_dir=DIR \
    --squad1_train=squad1_train_part.json --squad1_dev=squad1_dev_half.json \
    --squad2=squad2_part.json

train.json     the articles of --squad1_train, without those of select.json, and
               the articles of --squad2 whose titles --squad1_dev does not have
select.json    every tenth article of --squad1_train, to choose settings by
held_out.json  the other articles of --squad2, to score on

SQuAD 1.1 has no question without an answer. So a share of its questions is
asked a second time, of another passage of the same article: of those that
contain none of the question's answers the one that shares most of its words
with the question, rare words counting more (inverse document frequency in the
article).
"""

import collections
import json
import math
import os
import random
import re

from absl import app, flags

_OUTPUT_DIR = flags.DEFINE_string(
  "output_dir", None, "Folder of the three files.", required=True
)
_SQUAD1_TRAIN = flags.DEFINE_string(
  "squad1_train", None, "SQuAD 1.1 file to train on.", required=True
)
_SQUAD1_DEV = flags.DEFINE_string(
  "squad1_dev", None, "SQuAD 1.1 file to score on later.", required=True
)
_SQUAD2 = flags.DEFINE_string(
  "squad2", None, "SQuAD 2.0 file, to train on and to hold out.", required=True
)
_SHARE = flags.DEFINE_float(
  "unanswerable_share",
  0.33,
  "Share of the questions of --squad1_train asked of another passage as well.",
  lower_bound=0.0,
  upper_bound=1.0,
)
_SELECT_EVERY = 10


def main(argv):
  """Divides the articles, makes the unanswerable questions, writes."""
  del argv
  chance = random.Random(0)
  squad1 = [
    _with_unanswerable(article, chance)
    for article in _read(_SQUAD1_TRAIN.value)
  ]
  titles = {article["title"] for article in _read(_SQUAD1_DEV.value)}
  squad2 = _read(_SQUAD2.value)
  files = {
    "train": [a for n, a in enumerate(squad1) if n % _SELECT_EVERY]
    + [a for a in squad2 if a["title"] not in titles],
    "select": squad1[::_SELECT_EVERY],
    "held_out": [a for a in squad2 if a["title"] in titles],
  }
  os.makedirs(_OUTPUT_DIR.value, exist_ok=True)
  for name, articles in files.items():
    path = os.path.join(_OUTPUT_DIR.value, f"{name}.json")
    with open(path, "w", encoding="utf-8") as file:
      json.dump({"version": "v2.0", "data": articles}, file)
    questions = [q for a in articles for p in a["paragraphs"] for q in p["qas"]]
    impossible = sum(q["is_impossible"] for q in questions)
    print(
      f"{path}: {len(articles)} articles, {len(questions)} questions, "
      f"{impossible} of them without an answer"
    )


def _read(path):
  with open(path, encoding="utf-8") as file:
    return json.load(file)["data"]


def _with_unanswerable(article, chance):
  """A SQuAD 1.1 article with questions asked of other passages as well."""
  contexts = [paragraph["context"] for paragraph in article["paragraphs"]]
  bags = [_words(context) for context in contexts]
  counts = collections.Counter(word for bag in bags for word in bag)
  weights = {word: math.log(len(bags) / n) for word, n in counts.items()}
  questions = [
    [{**question, "is_impossible": False} for question in paragraph["qas"]]
    for paragraph in article["paragraphs"]
  ]
  for number, paragraph in enumerate(article["paragraphs"]):
    for question in paragraph["qas"]:
      if chance.random() >= _SHARE.value:
        continue
      other = _nearest_passage(question, contexts, bags, weights, number)
      if other is not None:
        questions[other].append(_unanswerable(question))
  paragraphs = [
    {"context": context, "qas": qas}
    for context, qas in zip(contexts, questions, strict=True)
  ]
  return {"title": article["title"], "paragraphs": paragraphs}


def _words(text):
  return set(re.findall(r"\w+", text.lower()))


def _nearest_passage(question, contexts, bags, weights, own):
  """Index of the passage most like a question but without its answer."""
  answers = [answer["text"].lower() for answer in question["answers"]]
  asked = _words(question["question"])
  candidates = [
    (sum(weights[word] for word in asked & bags[n]), -n)
    for n, context in enumerate(contexts)
    if n != own and not any(text in context.lower() for text in answers)
  ]
  return -max(candidates)[1] if candidates else None


def _unanswerable(question):
  return {
    "id": f"{question['id']}-elsewhere",
    "question": question["question"],
    "answers": [],
    "is_impossible": True,
  }


if __name__ == "__main__":
  app.run(main)
