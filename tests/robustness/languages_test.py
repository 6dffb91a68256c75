"""Three scripts and long articles through the program, files to files."""

import json

import pytest
from programs import run_program
from tiny_extractor import tiny_extractor

from bert_span.squad.reader import read_squad
from bert_span.text.options import WindowOptions
from bert_span.text.vocabulary import load_vocabulary

pytestmark = pytest.mark.large

# Questions taken of each file; COVID-QA's articles have up to 44,551
# characters.
_FILES = {"xquad_en": 300, "xquad_zh": 300, "xquad_ar": 300, "covidqa_part": 97}


@pytest.fixture(scope="module")
def all_languages(shared_data, read_json, tmp_path_factory):
  """One SQuAD file with the first questions of each file, ids made distinct."""
  articles = []
  for name, num_questions in _FILES.items():
    left = num_questions
    for article in read_json(shared_data / f"{name}.json")["data"]:
      for paragraph in article["paragraphs"]:
        paragraph["qas"] = paragraph["qas"][:left]
        left -= len(paragraph["qas"])
        for question in paragraph["qas"]:
          question["id"] = f"{name}-{question['id']}"
      articles.append(article)
  path = tmp_path_factory.mktemp("languages") / "questions.json"
  path.write_text(json.dumps({"version": "1.1", "data": articles}))
  return path


@pytest.fixture(scope="module")
def model_directory(uncased_vocab_file, tmp_path_factory):
  """A random model of one layer, with the vocabulary of the uncased BERTs."""
  directory = tmp_path_factory.mktemp("languages") / "model"
  tiny_extractor(
    window_options=WindowOptions(),
    vocabulary=load_vocabulary(uncased_vocab_file),
  ).save_to_preset(directory)
  return directory


@pytest.fixture(scope="module")
def output_dir(all_languages, model_directory):
  """What run_squad --do_predict --do_eval wrote about all questions."""
  folder = all_languages.parent / "output"
  result = run_program(
    "bert_span.run_squad",
    *("--do_predict", "--do_eval", "--predict_batch_size=32"),
    *(f"--preset={model_directory}", f"--predict_file={all_languages}"),
    f"--output_dir={folder}",
  )
  assert result.returncode == 0, result.stderr
  return folder


def test_every_question_gets_a_prediction_from_its_passage(
  all_languages, output_dir, read_json
):
  examples = read_squad(all_languages).examples
  predictions = read_json(output_dir / "predictions.json")
  n_best = read_json(output_dir / "nbest_predictions.json")
  assert len(examples) == sum(_FILES.values())
  assert list(predictions) == [example.qas_id for example in examples]
  for example in examples:
    answer = predictions[example.qas_id]
    assert answer  # SQuAD 1.1: always a span
    assert answer in example.context
    entries = n_best[example.qas_id]
    assert 1 <= len(entries) <= 20
    for entry in entries:
      start, end = entry["char_start"], entry["char_end"]
      assert entry["text"] == example.context[start:end] != ""
  # COVID-QA marks its questions with is_impossible: the metrics are 2.0's.
  scores = read_json(output_dir / "eval_results.json")
  assert scores["total"] == scores["HasAns_total"] == len(examples)
