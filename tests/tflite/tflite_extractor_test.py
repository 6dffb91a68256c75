"""A TFLite file answers as the model does, whatever the passage."""

import pathlib
import random
import zipfile

import pytest
from exported_tflite import TEXT_FILE, exported_tflite, opened_tflite
from tiny_extractor import CONTEXT, QUESTION, VOCABULARY

from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.decoding.options import DecoderOptions
from bert_span.heads.bio import BIO_HEAD
from bert_span.text.options import WindowOptions
from bert_span.tflite.file import (
  read_span_config,
  read_vocabulary,
  with_files,
)
from bert_span.tflite.tflite_extractor import (
  TFLiteSpanExtractor,
  TFLiteTextExtractor,
  open_tflite,
)

pytestmark = pytest.mark.large

_PASSAGES = [
  CONTEXT,
  # Many windows, and no two of the same words, whose logits would be equal.
  "É 🙂 " + " ".join(random.Random(0).choices(VOCABULARY[5:], k=150)),
  "Cafe\u0301 日 was built by ANNA.",
  "mill",
  "",
  " \n\t ",
]


@pytest.mark.parametrize(
  "file",
  [
    {"temperature": 1.7, "log_odds_shift": 0.8},
    {"dynamic_length": True, "head": BIO_HEAD},
    TEXT_FILE,
  ],
)
def test_answers_are_those_of_the_model(file):
  _, model = exported_tflite(**file)
  extractor = opened_tflite(**file)
  kind = TFLiteTextExtractor if file is TEXT_FILE else TFLiteSpanExtractor
  assert isinstance(extractor, kind)
  assert extractor.decoder_options == model.decoder_options
  assert extractor.window_options == model.window_options
  questions = [QUESTION] * len(_PASSAGES)
  expected = model.answers(questions, _PASSAGES)
  given = extractor.answers(questions, _PASSAGES)
  assert any(expected)
  if model.head.scores_ends:
    expected += model.answer(questions, _PASSAGES, n_best=4)
    given += extractor.answer(questions, _PASSAGES, n_best=4)
  for wanted, answers in zip(expected, given, strict=True):
    assert [a[:3] for a in answers] == [w[:3] for w in wanted]
    for answer, other in zip(answers, wanted, strict=True):
      assert answer[3:] == pytest.approx(other[3:], abs=1e-4)


@pytest.mark.parametrize("question", ["", " ", "\u200b"])
def test_a_question_without_a_token_has_no_answer(question):
  found = opened_tflite(**TEXT_FILE).columns(question, CONTEXT)
  assert (found["byte_start"], found["byte_end"]) == (0, 0)
  assert not found["is_answerable"]
  assert found["null_odds"] == NO_SPAN_NULL_ODDS
  assert found["probability"] == 1.0


def test_any_text_gives_offsets_within_the_passage():
  extractor = opened_tflite(**TEXT_FILE)
  rng = random.Random(1)
  characters = "ab .,?é日🙂\u0301\u200b\0\n\ufeff가ß\ud800Σ" + "mill "
  for length in (0, 1, 2, 3, 5, 8, 13, 40, 100, 400, 1500):
    question = "".join(rng.choices(characters, k=rng.randint(0, 30)))
    context = "".join(rng.choices(characters, k=length))
    answer = extractor.answer(question, context)
    assert 0 <= answer.char_start <= answer.char_end <= len(context)
    assert answer.text == context[answer.char_start : answer.char_end]
    assert 0 <= answer.probability <= 1 + 1e-5


def test_options_replace_those_of_the_file():
  path, _ = exported_tflite()
  extractor = TFLiteSpanExtractor(
    path, WindowOptions(24, 4, 8), DecoderOptions(max_answer_length=1)
  )
  answer = extractor.answer(QUESTION, CONTEXT)
  assert answer.text in CONTEXT
  assert " " not in answer.text
  with pytest.raises(ValueError, match="max_seq_length must be at most 32"):
    TFLiteSpanExtractor(path, WindowOptions(33, 8, 8))


def test_options_of_a_text_file_are_fixed():
  path, model = exported_tflite(**TEXT_FILE)
  TFLiteTextExtractor(path, model.window_options, model.decoder_options)
  with pytest.raises(ValueError, match="doc_stride was 8, is now 4"):
    TFLiteTextExtractor(path, WindowOptions(32, 4, 8))
  with pytest.raises(ValueError, match="on_logits"):
    list(TFLiteTextExtractor(path).predict([], on_logits=print))


def test_files_that_are_not_a_model_are_refused(tmp_path):
  path = tmp_path / "no.tflite"
  without_options = b'{"format": 1, "head": "span"}'
  files = {"span_config.json": without_options, "vocab.txt": b""}
  for content, message in (
    (b"0123456789", r"no\.tflite is not a TFLite file"),
    (b"0000TFL3", r"no\.tflite: span_config\.json"),
    (with_files(b"0000TFL3", files), r"no\.tflite, span_config\.json"),
  ):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
      TFLiteSpanExtractor(path)
  with pytest.raises(OSError, match=r"missing\.tflite"):
    TFLiteSpanExtractor(tmp_path / "missing.tflite")


def test_packed_files_are_refused_unless_they_are_stored_and_small(tmp_path):
  """A few compressed bytes may be gigabytes, or raise errors of zlib."""
  path = tmp_path / "bomb.tflite"
  for compression, size in (
    (zipfile.ZIP_DEFLATED, 10**8),
    (zipfile.ZIP_LZMA, 10),
    (zipfile.ZIP_STORED, 10**8),
  ):
    path.write_bytes(b"0000TFL3")
    with zipfile.ZipFile(path, "a", compression) as archive:
      archive.writestr("foreign", bytes(100))
      archive.writestr("span_config.json", bytes(size))
    with pytest.raises(ValueError, match=r"bomb\.tflite: span_config\.json"):
      open_tflite(path)


def test_flipped_bits_of_the_packed_files_are_refused(tmp_path):
  content = pathlib.Path(exported_tflite()[0]).read_bytes()
  begin = content.index(b"PK\x03\x04")
  path = tmp_path / "flipped.tflite"
  rng = random.Random(0)
  for _ in range(200):
    flipped = bytearray(content)
    flipped[rng.randrange(begin, len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(flipped)
    try:
      config = read_span_config(path)
      assert read_vocabulary(path) == VOCABULARY
      assert config["tflite"]["max_length"] == 32
    except ValueError as error:
      assert str(path) in str(error)


def test_a_damaged_or_another_kind_of_file_is_refused(tmp_path):
  """A runtime would end the process on a damaged file."""
  copy = tmp_path / "damaged.tflite"
  for kind, other, file in (
    (TFLiteSpanExtractor, TFLiteTextExtractor, {}),
    (TFLiteTextExtractor, TFLiteSpanExtractor, TEXT_FILE),
  ):
    path, _ = exported_tflite(**file)
    content = bytearray(pathlib.Path(path).read_bytes())
    content[100:140] = bytes(40)  # in the model
    copy.write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged\.tflite is damaged"):
      kind(copy)
    with pytest.raises(ValueError, match=kind.__name__):
      other(path)
