"""The Task Library's answers to our questions; run by `make test-task-library`.

A program for an environment of its own, which has tflite-support and nothing of
this package:

  python task_library_check.py MODEL.tflite QUESTIONS.json ANSWERS.json

QUESTIONS is a list of [question, context], ANSWERS becomes a list of [text,
score] of the best answer; "" where there is none.
"""

import json
import sys

from tensorflow_lite_support.python.task.text import bert_question_answerer


def main(model_path, questions_path, answers_path):
  """Asks every question and writes the answers."""
  answerer = bert_question_answerer.BertQuestionAnswerer.create_from_file(
    model_path
  )
  with open(questions_path) as file:
    questions = json.load(file)
  answers = []
  for question, context in questions:
    best = answerer.answer(context, question).answers[:1]
    answers.append([best[0].text, best[0].pos.logit] if best else ["", 0.0])
  with open(answers_path, "w") as file:
    json.dump(answers, file)


if __name__ == "__main__":
  main(*sys.argv[1:])
