"""Texts that ports of the TFLite runner are compared on, and how closely."""

import random
import re

from bert_span.squad.reader import read_squad
from bert_span.storage.files import encodable

SCORE_TOLERANCE = 1e-4

# Characters of Unicode 14 to 17 that browsers read by newer tables than
# TensorFlow's, which lower-case by Unicode 13 and know the categories of 15.
NEWER = re.compile(
  "[\u0897\u1acf-\u1aeb\u1c89\u2c2f\ua7c0\ua7cb-\ua7dc\U00010570-\U00010595"
  "\U00010d50-\U00010d6d\U00010ed0\U00010efa-\U00010efc\U00011385-\U000113e2"
  "\U0001171e\U00011b60-\U00011b66\U00011f5a\U0001611e-\U0001612f"
  "\U00016ea0-\U00016eb8\U0001e5ee\U0001e5ef\U0001e6e3-\U0001e6f5]"
)

# Letters whose case depends on neighbours, words of over 200 characters, and
# what is not text.
HOSTILE = (
  *("", " \t\n", "\0", "a\0b", "\ud83d", "a\udfff\ud800b", "\ufffd", "\ufeffa"),
  *("ΑΣ ΑΣΑ Σ", "ΑΣ\u0301 ΑΣ\u00adΑ ʰΣ", "İstanbul I", "x" * 199, "x" * 200),
  *("x" * 201 + " z", "\u0301" + "y" * 201 + "\u200b z", "é" * 200, "한" * 100),
  *("e\u0301 \u0301 e", "日本語テスト", "1\ufe0f\u20e3", "[SEP] [UNK]"),
)


def texts_to_tokenize(folder):
  """Lists of texts, by name: what the model is, or what the texts are.

  Among them are the questions and passages of the SQuAD files in a folder.
  """
  examples = [e for p in folder.glob("*.json") for e in read_squad(p).examples]
  real = {text for e in examples for text in (e.question, e.context)}
  characters = "".join(map(chr, range(0x20000)))
  # High surrogates end a row, so none has a low one after it.
  rows = [characters[i : i + 64] for i in range(0, 0x20000, 64)]
  hostile = [*HOSTILE, *(f"a{NEWER.sub('', row)}b" for row in rows)]
  texts = [*sorted(real), *hostile]
  return {
    "uncased": texts,
    "cased": texts,
    "newer": ["".join(NEWER.findall(characters))],
    "broken": _broken_texts(),
  }


def _broken_texts():
  """22,000 random strings of bytes, most of them not UTF-8."""
  rng = random.Random(5)
  alphabet = bytes.fromhex("6120007f80bfc0c3e0e6a0edf090f48ff8ff")
  texts = [bytes(rng.choices(alphabet, k=12)) for _ in range(20000)]
  return texts + [rng.randbytes(rng.randrange(60)) for _ in range(2000)]


def encoded(text):
  """A text as UTF-8; bytes as they are."""
  is_bytes = isinstance(text, bytes)
  return text if is_bytes else encodable(text).encode("utf-8")


def assert_equal(given, wanted, *place):
  """Compares all that is wanted, numbers within the tolerance."""
  if isinstance(wanted, dict):
    for name, value in wanted.items():
      assert_equal(given[name], value, *place, name)
  elif isinstance(wanted, list):
    assert len(given) == len(wanted), place
    for i, pair in enumerate(zip(given, wanted, strict=True)):
      assert_equal(*pair, *place, i)
  elif isinstance(wanted, float):
    error = SCORE_TOLERANCE * max(1, abs(wanted))
    assert abs(given - wanted) <= error, (given, wanted, *place)
  else:
    wanted = encodable(wanted) if isinstance(wanted, str) else wanted
    assert given == wanted, (given, wanted, *place)


def assert_answer(given, wanted):
  """Compares an answer, with keys like the fields, with a `Prediction`."""
  answer = wanted.answer
  _assert_fields(given, answer, wanted.qas_id, "null_odds")
  assert given["is_answerable"] == bool(answer.char_end)
  assert given["question_truncated"] == answer.question_truncated
  for entry, other in zip(given["n_best"], wanted.n_best, strict=True):
    _assert_fields(entry, other, wanted.qas_id, "start_logit", "end_logit")


def assert_utf16(span, text):
  """Compares the offsets of a span in UTF-16 units with those in characters."""
  for end in ("start", "end"):
    before = encodable(text[: span[f"char_{end}"]]).encode("utf-16-le")
    assert 2 * span[f"utf16_{end}"] == len(before), (span, text)


def _assert_fields(given, wanted, place, *more):
  span = ("text", "char_start", "char_end", "score", "probability")
  for name in (*span, *more):
    assert_equal(given[name], getattr(wanted, name), place, name)
