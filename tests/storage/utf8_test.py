"""Text that can be written as UTF-8."""

import json

from bert_span.storage.utf8 import encodable


def test_text_without_surrogates_stays():
  assert encodable("Ada 中 \U0001f600 \x00") == "Ada 中 \U0001f600 \x00"
  assert encodable("") == ""


def test_a_lone_surrogate_becomes_one_replacement_character():
  text = json.loads(r'"a\ud83d b\ude00c"')
  assert encodable(text) == "a\ufffd b\ufffdc"
  assert len(encodable(text)) == len(text)
  assert encodable(text).encode("utf-8").decode("utf-8") == encodable(text)


def test_a_pair_of_surrogates_in_json_is_one_character_and_stays():
  assert encodable(json.loads(r'"\ud83d\ude00"')) == "\U0001f600"
