"""Texts of JSON; tests/squad reads fields."""

import json

from bert_span.storage.json_fields import encodable


def test_a_lone_surrogate_becomes_one_replacement_character():
  text = json.loads(r'"a\ud83d b\ude00c \ud83d\ude00"')
  assert encodable(text) == "a\ufffd b\ufffdc \U0001f600"
  assert encodable("Ada 中 \U0001f600 \x00") == "Ada 中 \U0001f600 \x00"
