"""Questions drawn from SQuAD files."""

import json
import random


def draw_questions(path, num_questions, drawn_path, other_path=None):
  """Writes a SQuAD file with questions drawn from another, with a fixed seed.

  Articles with a title of the file at other_path are left out. The arguments
  are pathlib.Path.
  """
  content = _read(path)
  others = _read(other_path)["data"] if other_path else ()
  titles = {article["title"] for article in others}
  questions = [
    (article["title"], paragraph["context"], question)
    for article in content["data"]
    if article["title"] not in titles
    for paragraph in article["paragraphs"]
    for question in paragraph["qas"]
  ]
  random.Random(0).shuffle(questions)
  data = [
    {"title": title, "paragraphs": [{"context": context, "qas": [question]}]}
    for title, context, question in questions[:num_questions]
  ]
  text = json.dumps({"version": content.get("version"), "data": data})
  drawn_path.write_text(text, encoding="utf-8")


def _read(path):
  return json.loads(path.read_text(encoding="utf-8"))
