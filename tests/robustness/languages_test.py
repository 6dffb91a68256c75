"""Three scripts and long articles through the program, files to files."""

import json

import keras
import pytest
from programs import run_program

from bert_span.extractor import SpanExtractor
from bert_span.modeling.encoder import EncoderConfig, build_encoder
from bert_span.modeling.heads import SpanHead
from bert_span.modeling.span_model import SpanModel
from bert_span.squad.reader import read_squad
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
  keras.utils.set_random_seed(1)
  vocabulary = load_vocabulary(uncased_vocab_file)
  sizes = EncoderConfig(
    vocabulary_size=len(vocabulary),
    num_layers=1,
    num_heads=1,
    hidden_dim=16,
    intermediate_dim=16,
    max_sequence_length=384,
    num_segments=2,
  )
  model = SpanModel(build_encoder(sizes), SpanHead())
  directory = tmp_path_factory.mktemp("languages") / "model"
  SpanExtractor(model, vocabulary).save_to_preset(directory)
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


def test_every_question_of_every_language_gets_a_prediction(
  all_languages, output_dir, read_json
):
  examples = read_squad(all_languages).examples
  predictions = read_json(output_dir / "predictions.json")
  assert len(examples) == sum(_FILES.values())
  assert list(predictions) == [example.qas_id for example in examples]
  for example in examples:
    answer = predictions[example.qas_id]
    assert answer  # SQuAD 1.1: always a span
    assert answer in example.context
  # COVID-QA marks its questions with is_impossible: the metrics are 2.0's.
  scores = read_json(output_dir / "eval_results.json")
  assert scores["total"] == scores["HasAns_total"] == len(examples)


def test_every_n_best_entry_is_a_piece_of_its_passage(
  all_languages, output_dir, read_json
):
  n_best = read_json(output_dir / "nbest_predictions.json")
  for example in read_squad(all_languages).examples:
    entries = n_best[example.qas_id]
    assert 1 <= len(entries) <= 20
    for entry in entries:
      start, end = entry["char_start"], entry["char_end"]
      assert entry["text"] == example.context[start:end] != ""
