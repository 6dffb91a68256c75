"""Three scripts and long articles through the program, files to files."""

import json

import pytest
from programs import succeeds_here
from tiny_extractor import tiny_extractor

from bert_span.squad.reader import read_squad
from bert_span.storage.files import read_json
from bert_span.text.options import WindowOptions
from bert_span.text.vocabulary import load_vocabulary

pytestmark = pytest.mark.large

# Passages taken of each file; all of COVID-QA's articles, which have up to
# 44,551 characters.
_FILES = {"xquad_en": 50, "xquad_zh": 50, "xquad_ar": 50, "covidqa_part": 12}


@pytest.fixture
def all_languages(shared_data, tmp_path):
  """One SQuAD file with two questions of each passage, ids made distinct."""
  paragraphs = []
  for name, num_passages in _FILES.items():
    articles = read_json(shared_data / f"{name}.json")["data"]
    found = [p for article in articles for p in article["paragraphs"]]
    for paragraph in found[:num_passages]:
      paragraph["qas"] = paragraph["qas"][:2]
      for question in paragraph["qas"]:
        question["id"] = f"{name}-{question['id']}"
      paragraphs.append(paragraph)
  path = tmp_path / "questions.json"
  article = {"title": "All", "paragraphs": paragraphs}
  path.write_text(json.dumps({"version": "1.1", "data": [article]}))
  return path


def test_every_question_gets_a_prediction_from_its_passage(
  all_languages, uncased_vocab_file, tmp_path
):
  model, output_dir = tmp_path / "model", tmp_path / "output"
  vocabulary = load_vocabulary(uncased_vocab_file)
  extractor = tiny_extractor(False, WindowOptions(), vocabulary=vocabulary)
  extractor.save_to_preset(model)
  succeeds_here(
    *("bert_span.run_squad", "--do_predict", "--do_eval"),
    *(f"--preset={model}", f"--predict_file={all_languages}"),
    *(f"--output_dir={output_dir}", "--predict_batch_size=32"),
  )
  examples = read_squad(all_languages).examples
  predictions = read_json(output_dir / "predictions.json")
  n_best = read_json(output_dir / "nbest_predictions.json")
  assert len(examples) > 300
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
