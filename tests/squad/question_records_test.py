from bert_span.squad.question_records import question_records
from bert_span.squad.reader import read_squad


def test_questions_and_answers_come_with_their_places():
  first = {"id": 1, "answers": ["x", "y"]}
  second = {"id": 2, "answers": None}
  paragraphs = [{"qas": []}, {"qas": [first, second]}]
  one, two = question_records({"data": [{"paragraphs": paragraphs}]})
  assert one.json_path == "data[0].paragraphs[1].qas[0]"
  assert one.paragraph is paragraphs[1]
  assert one.question is first
  assert list(one.answers()) == [
    ("data[0].paragraphs[1].qas[0].answers[0]", "x"),
    ("data[0].paragraphs[1].qas[0].answers[1]", "y"),
  ]
  assert two.json_path == "data[0].paragraphs[1].qas[1]"
  assert list(two.answers()) == []


def test_the_order_is_the_readers(goldens, read_json):
  path = goldens / "edge-v2.json"
  records = question_records(read_json(path))
  assert [record.question["id"] for record in records] == [
    example.qas_id for example in read_squad(path).examples
  ]
