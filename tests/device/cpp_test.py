"""export/cpp gives the tokens, answers and scores of TFLiteSpanExtractor."""

import dataclasses
import functools
import hashlib
import io
import json
import operator
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import unicodedata

import pytest
import tensorflow as tf

from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.presets.span_config import CONFIG_FILE
from bert_span.text.byte_pair_tokenizer import BytePairTokenizer
from bert_span.text.modernbert_tokenizer import ModernBertTokenizer
from bert_span.text.sentencepiece_model import sentence_pieces
from bert_span.text.sentencepiece_tokenizer import SentencePieceTokenizer
from bert_span.text.vocabulary import (
  AddedToken,
  BytePairs,
  ExtendedVocabulary,
  ModernBertPairs,
)
from bert_span.tflite import file as tflite_file
from bert_span.tflite.export import tflite_content
from bert_span.tflite.options import TFLiteOptions
from bert_span.tflite.port_vectors import vector_examples, write_port_vectors
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor
from tests.support.models import (
  CONTEXT,
  QUESTION,
  exported_tflite,
  extractor_of,
  tiny_extractor,
  with_files_of,
  with_wrong_values,
)
from tests.support.squad import (
  HOSTILE,
  assert_answer,
  assert_equal,
  assert_utf16,
  encoded,
)

pytestmark = pytest.mark.large
_SANITIZERS = (
  "-O1 -g -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"
)
_AARCH64_COMPILERS = "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++"
_BIO_DECODERS = {
  "viterbi": {},
  "greedy": {"decoding": "greedy"},
  "threshold": {"threshold": 0.6},
  "unanswerable": {
    "threshold": 0.4,
    "version_2_with_negative": True,
    "null_score_diff_threshold": -50.0,
  },
}
# A program in C, which finds the installed package.
_PROJECT = """\
cmake_minimum_required(VERSION 3.18)
project(consumer LANGUAGES C)
find_package(bert_span 1.0 REQUIRED)
add_executable(consumer consumer.c)
target_compile_options(consumer PRIVATE -Wall -Wextra -Werror -std=c99)
target_link_libraries(consumer bert_span::bert_span)
"""


@pytest.fixture(scope="module")
def build(cmake_build):
  """The folder of programs with sanitizers."""
  return cmake_build(
    f"-DCMAKE_CXX_FLAGS={_SANITIZERS}", "-DBERT_SPAN_PROGRAMS=rows"
  )


@pytest.fixture(scope="module")
def rows(build):
  """A function that runs rows.cc on texts; see there."""
  return functools.partial(_rows, [build / "rows"])


@pytest.fixture(scope="module")
def aarch64_litert():
  """The folder of LiteRT's library for aarch64, or a skip."""
  for program in (*_AARCH64_COMPILERS, "qemu-aarch64"):
    if not shutil.which(program):
      pytest.skip(f"needs {program}")
  litert = os.environ.get("BERT_SPAN_AARCH64_LITERT")
  return litert or pytest.skip(
    "needs BERT_SPAN_AARCH64_LITERT, a folder with libLiteRt.so"
  )


@pytest.fixture(scope="module")
def aarch64_rows(aarch64_litert, cmake_build, tmp_path_factory):
  """The same, compiled for aarch64 and run by QEMU."""
  c, cxx = _AARCH64_COMPILERS
  build = cmake_build(
    *("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64"),
    *(f"-DCMAKE_C_COMPILER={c}", f"-DCMAKE_CXX_COMPILER={cxx}"),
    *("-DCMAKE_CXX_FLAGS=-Werror", "-DBERT_SPAN_PROGRAMS=rows"),
    f"-DLITERT={aarch64_litert}",
  )
  root = tmp_path_factory.mktemp("aarch64")
  (root / "lib").symlink_to("/usr/aarch64-linux-gnu/lib")
  (root / "proc").mkdir()
  # LiteRT ends the process if it is not that of an ARM.
  cpuinfo = "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
  (root / "proc/cpuinfo").write_text(cpuinfo)
  # QEMU 7.2 and LiteRT disagree about SME: other logits of 8-bit weights.
  qemu = "qemu-aarch64", "-cpu", "max,sme=off", "-L", root
  return functools.partial(_rows, [*qemu, build / "rows"])


def test_the_page_builds_for_aarch64(aarch64_litert, reader):
  commands = reader.block("sh", "qemu-aarch64")
  _, commands = commands.split("build/aarch64_wheel\n", 1)  # A download.
  wheel = reader.folder / "build/aarch64_wheel"
  wheel.mkdir(parents=True)
  (wheel / "ai_edge_litert").symlink_to(aarch64_litert)
  done = reader.run(commands)
  assert done.returncode == 0, done.stderr
  wanted = exported_tflite()[1].answer(
    question="Who built the mill?", context=CONTEXT
  )
  assert done.stdout.splitlines()[-1].startswith(wanted.text or "No answer")


def _rows(command, file, mode, texts):
  content = [encoded(text) for text in texts]
  done = subprocess.run(
    [*command, file, mode],
    input=b"".join(struct.pack("<I", len(t)) + t for t in content),
    capture_output=True,
    check=False,
  )
  assert done.returncode == 0, done.stderr.decode()
  parsed = [json.loads(line) for line in done.stdout.splitlines()]
  if mode == "tokens":
    return [list(tokens.values()) for tokens in parsed]
  return parsed


def _texts(examples):
  return [text for e in examples for text in (e.question, e.context)]


@pytest.mark.parametrize("name", ["uncased", "cased", "newer", "broken"])
def test_tokens_of_all_texts(name, rows, device_files, texts, token_rows):
  file = device_files["cased" if name == "cased" else "uncased"]
  tokens = rows(file.path, "tokens", texts[name])
  rows_of_text = zip(texts[name], tokens, token_rows(name), strict=True)
  assert not [text for text, given, wanted in rows_of_text if given != wanted]


@pytest.mark.parametrize(
  "name", ["minilm", "uncased", "cased", "temperature", "dynamic"]
)
def test_answers(name, device_files, expected_answers, rows):
  file = device_files[name]
  answers = rows(file.path, "answers", _texts(file.examples))
  for given, wanted, example in zip(
    answers, expected_answers[name], file.examples, strict=True
  ):
    assert_answer(given, wanted)
    span = encoded(example.context)[given["byte_start"] : given["byte_end"]]
    assert span.decode("utf-8") == given["text"]
    for span in (given, *given["n_best"]):
      assert_utf16(span, example.context)


@pytest.mark.parametrize("dynamic_length", [False, True])
@pytest.mark.parametrize("processor", ["rows", "aarch64_rows"])
def test_port_vectors_of_the_exporter(
  processor, dynamic_length, request, tmp_path
):
  path, file = exported_tflite(dynamic_length=dynamic_length)[0], tmp_path / "v"
  examples = vector_examples()
  write_port_vectors(path, examples, file)
  expected = json.loads(file.read_text("utf-8"))["vectors"]
  run = request.getfixturevalue(processor)
  vectors = run(path, "vectors", _texts(examples))
  for given, wanted in zip(vectors, expected, strict=True):
    question, context = wanted.pop("question"), wanted.pop("context")
    if processor == "aarch64_rows":  # Rounding orders spans of equal scores.
      for each in (given, wanted):
        each["answer"]["n_best"].sort(key=operator.itemgetter("text"))
    assert_equal(given, wanted, question, context)


def test_hostile_texts_on_aarch64(
  aarch64_rows, device_files, expected_answers, texts, token_rows
):
  file = device_files["temperature"]
  tokens = aarch64_rows(file.path, "tokens", texts["broken"])
  assert tokens == list(token_rows("broken"))
  hostile = slice(-2 * len(HOSTILE), None)
  answers = aarch64_rows(file.path, "answers", _texts(file.examples[hostile]))
  expected = expected_answers["temperature"][hostile]
  for given, wanted in zip(answers, expected, strict=True):
    assert_answer(given, wanted)


@pytest.fixture(scope="module")
def answer(build, tmp_path_factory):
  """A function that runs bert_span_answer on a file."""
  file = tmp_path_factory.mktemp("passage") / "passage.txt"

  def run(path, *arguments, passage=CONTEXT, **options):
    file.write_bytes(passage.encode("utf-8"))
    return subprocess.run(
      [build / "bert_span_answer", str(path), str(file), *arguments],
      capture_output=True,
      text=True,
      check=False,
      **options,
    )

  return run


def test_the_program_answers_an_argument_and_every_line(answer, tmp_path):
  path, extractor = exported_tflite()
  wanted = extractor.answer(question=QUESTION, context=CONTEXT)
  one = answer(path, QUESTION, "--json")
  assert json.loads(one.stdout)["text"] == wanted.text, one.stderr
  many = answer(path, "--json", input=f"{QUESTION}\n\n{QUESTION}\n")
  first, _, third = many.stdout.splitlines(keepends=True)
  assert first == third == one.stdout
  for path in ("missing.tflite", tmp_path):
    run = answer(path, QUESTION)
    assert run.returncode == 1
    assert run.stderr == f"bert_span: cannot read {path}\n"


def _line(span):
  place = "characters {char_start}-{char_end}".format(**span)
  probability = f"probability {span['probability']:.4f}"
  if not span["text"]:
    return f"No answer  ({probability})"
  return f"{span['text']}  ({probability}, {place})"


def test_the_program_prints_lines_for_people(answer):
  path, _ = exported_tflite()
  for question in (QUESTION, ""):
    limited = answer(path, question, "--json", "--n_best=3")
    best = json.loads(limited.stdout)
    assert len(best["n_best"]) == 3
    first, *listed = map(_line, (best, *best["n_best"]))
    assert answer(path, question).stdout.splitlines() == [first]
    given = answer(path, question, "--n_best=3").stdout.splitlines()
    assert given == [first, *(f"  {line}" for line in listed)]
    whole = answer(path, question, "--json").stdout
    assert len(json.loads(whole)["n_best"]) > 3
  cut = answer(path, 9 * QUESTION, "--json")
  assert json.loads(cut.stdout)["question_truncated"]
  assert f"max_query_length, was not read: {QUESTION}" in cut.stderr
  assert "max_query_length" not in limited.stderr
  # Nothing in a passage commands the terminal.
  passage = CONTEXT.replace(" ", "\n\x1b[31m\x9b1m ")
  printed = answer(path, QUESTION, "--n_best=9", passage=passage).stdout
  assert "[31m" in printed
  assert len(printed.splitlines()) == 10
  assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", printed)


@pytest.mark.parametrize(
  "option", ["--n_best=0", "--n_best=-1", "--n_best=x", "--n_best=", "--other"]
)
def test_a_wrong_option_of_the_program_is_named(option, answer):
  run = answer(exported_tflite()[0], QUESTION, option)
  assert run.returncode == 2
  assert option.rpartition("=")[0] in run.stderr
  assert not run.stdout


def test_damaged_files_are_refused_and_never_crash(answer, tmp_path):
  path, _ = exported_tflite()
  content = pathlib.Path(path).read_bytes()
  size = tflite_file.read_packed_config(path)["tflite"]["model_bytes"]
  rng = random.Random(3)
  copy = tmp_path / "copy.tflite"

  def code_of(damaged):
    copy.write_bytes(damaged)
    run = answer(copy, QUESTION)
    assert run.returncode in (0, 1), run.stderr
    assert run.returncode == 0 or run.stderr.startswith("bert_span: ")
    return run.returncode

  assert code_of(content) == 0
  for end in (0, 1, 21, 22, size, len(content) - 300, len(content) - 1):
    assert code_of(content[:end]) == 1, end
  for place in rng.sample(range(size), 5):
    assert code_of(_changed(content, place)) == 1, place
  for text in (b"[UNK]", b"near", b'"n_best_size"'):
    assert code_of(_changed(content, content.index(text, size))) == 1, text
  # A date in the archive may be any.
  codes = {
    code_of(_changed(content, rng.randrange(size, len(content))))
    for _ in range(40)
  }
  assert 1 in codes


def test_a_wrong_value_in_the_metadata_is_refused_by_its_name(answer, tmp_path):
  path, _ = exported_tflite()
  copy = tmp_path / "copy.tflite"
  about_file = tflite_file.read_packed_config(path)["tflite"]
  for name, content in (
    *with_wrong_values(path),
    # Of the right type, but not those of the model.
    *(
      (name, with_files_of(path, tflite=about_file | {name: value}))
      for name, value in (("max_length", 64), ("dynamic_length", True))
    ),
  ):
    copy.write_bytes(content)
    run = answer(copy, QUESTION)
    assert run.returncode == 1, (name, run.stderr)
    # The runtime may say more before it.
    message = run.stderr.splitlines()[-1]
    assert message.startswith("bert_span: "), (name, run.stderr)
    assert name in message or "tokenizer" in message, (name, message)


def test_sentence_pieces_are_refused_by_name(answer, tmp_path):
  path = tmp_path / "pieces.tflite"
  content = tflite_content(extractor_of("xlm-roberta"), TFLiteOptions())
  path.write_bytes(content)
  run = answer(path, QUESTION)
  assert run.returncode == 1
  assert "SentencePieces" in run.stderr
  assert "-DBERT_SPAN_SENTENCEPIECE=ON" in run.stderr


@pytest.fixture(scope="module")
def byte_pairs(texts):
  """Byte pairs of some of the texts, with merges of spaces and of others."""
  tokenizers = pytest.importorskip("tokenizers")
  trainer = tokenizers.ByteLevelBPETokenizer()
  some = [encoded(text).decode() for text in texts["uncased"][:-2500:20]]
  special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
  trainer.train_from_iterator(
    [*some, *_SPACES], 3_000, special_tokens=special, show_progress=False
  )
  model = json.loads(trainer.to_str())["model"]
  merges = [" ".join(merge) for merge in model["merges"]]
  return BytePairs(sorted(model["vocab"], key=model["vocab"].get), merges)


# Runs of white space, of which one space belongs to the word after it, and
# contractions.
_SPACES = [
  *("a  b", "a \n b", "a\n\n  b ", "  ", " ", "\n", "a \t"),
  "\u3000 x\x0b\x85y",
  *("it's 's ''s 'S 'll'll I've don't '", "he'd've 're'", " '", "' t", "x' s"),
  *("a" + 500 * " " + "b" + 300 * "\n", 3_000 * "ab", "1½Ⅷ٣ 12a", "_a_ -1"),
]


@pytest.fixture(scope="module")
def pairs_file(byte_pairs, tmp_path_factory):
  """A file with these byte pairs."""
  path = tmp_path_factory.mktemp("pairs") / "pairs.tflite"
  extractor = extractor_of("roberta", version_2=True, vocabulary=byte_pairs)
  path.write_bytes(tflite_content(extractor, TFLiteOptions()))
  return path


def _assert_tokens(rows, path, tokenizer, texts):
  """Compares the tokens of a file's library with those of a tokenizer."""
  texts = [encoded(text) for text in texts]
  for begin in range(0, len(texts), 5000):
    batch = texts[begin : begin + 5000]
    parts = (part.to_list() for part in tokenizer(tf.constant(batch)))
    wanted = map(list, zip(*parts, strict=True))
    pairs = zip(batch, rows(path, "tokens", batch), wanted, strict=True)
    assert not [text for text, row, other in pairs if row != other]


@pytest.mark.parametrize("name", ["uncased", "newer", "broken"])
def test_byte_pairs_of_all_texts(name, rows, byte_pairs, pairs_file, texts):
  tokenizer = BytePairTokenizer(*byte_pairs)
  _assert_tokens(rows, pairs_file, tokenizer, [*_SPACES, *texts[name]])


# As the published tokenizer.json, and some that begin like others.
_ADDED = [
  *("|||IP_ADDRESS|||", "|||EMAIL_ADDRESS|||", "|||PHONE_NUMBER|||"),
  *(" " * n for n in range(2, 25)),
  *(f"[unused{n}]" for n in range(83)),
  *("\n\n", "[un", "жж", "한"),
]


@pytest.fixture(scope="module")
def modernbert_pairs(byte_pairs):
  """These byte pairs with the added tokens of ModernBERT."""
  special = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"]
  of_words = byte_pairs.tokens[5:]
  added = [token for token in _ADDED if token not in of_words]
  return ExtendedVocabulary(
    ModernBertPairs([*special, *of_words, *added], byte_pairs.merges),
    tuple(AddedToken(token, normalized=True) for token in added),
  )


@pytest.fixture(scope="module")
def modernbert_file(modernbert_pairs, tmp_path_factory):
  """A file with these."""
  path = tmp_path_factory.mktemp("modernbert") / "modernbert.tflite"
  extractor = extractor_of(
    "modernbert", version_2=True, vocabulary=modernbert_pairs
  )
  path.write_bytes(tflite_content(extractor, TFLiteOptions()))
  return path


def _combining_texts():
  """Random strings of letters and marks that NFC joins or reorders."""
  rng = random.Random(7)
  # Some are of Unicode 16, which Python may not know.
  marks = ["\u0897", "\U000113c2", "\U000113c9", "\U00016d67"]
  letters = ["a", "e", " ", "각", "가", "\u1100", "\u1161", "\u11a8"]
  letters += ["\U000113c2", "\U00016d63", "\U00016d67"]
  for code in range(0x20000):
    character = chr(code)
    if unicodedata.category(character)[0] == "M":
      marks.append(character)
    elif unicodedata.decomposition(character)[:1] not in ("", "<"):
      letters += unicodedata.normalize("NFD", character)[0], character
  return [
    "".join(
      rng.choices((*rng.choices(marks, k=9), *rng.choices(letters, k=5)), k=12)
    )
    for _ in range(20_000)
  ]


def test_byte_pairs_of_modernbert_of_all_texts(
  rows, modernbert_pairs, modernbert_file, texts
):
  pairs, added = modernbert_pairs
  tokenizer = ModernBertTokenizer(*pairs, added)
  rng, some = random.Random(3), texts["uncased"]
  mixed = [
    "".join(
      rng.choices([*_SPACES[:13], *_ADDED, "e\u0301", "\u0301", "x"], k=9)
    )
    for _ in range(5_000)
  ]
  forms = [
    unicodedata.normalize(form, encoded(text).decode())
    for text in (*some[::8], *some[-2_100:])
    for form in ("NFD", "NFC")
  ]
  every = [*_SPACES, *_combining_texts(), *mixed, *forms]
  every += [*some, *texts["newer"], *texts["broken"]]
  _assert_tokens(rows, modernbert_file, tokenizer, every)


@pytest.mark.parametrize("name", ["pairs_file", "modernbert_file"])
def test_answers_of_byte_pairs(name, rows, device_files, request):
  path, examples = request.getfixturevalue(name), device_files["cased"].examples
  answers = rows(path, "answers", _texts(examples))
  expected = TFLiteSpanExtractor(path).predictions(examples)
  for given, wanted in zip(answers, expected, strict=True):
    assert_answer(given, wanted)


def test_byte_pairs_that_do_not_fit_are_named(answer, pairs_file, tmp_path):
  copy = tmp_path / "copy.tflite"
  about_file = tflite_file.read_packed_config(pairs_file)["tflite"]
  for merges, named in (
    ("i n", "merges"),
    ([5], "merges"),
    (["in"], "merges"),
    (["i n n"], "merges"),
    ([" n"], "merges"),
    (["\u3042 n"], "merges"),
    (["q \u0141"], "q\u0141"),
  ):
    changes = {"tflite": about_file | {"merges": merges}}
    copy.write_bytes(with_files_of(pairs_file, **changes))
    run = answer(copy, QUESTION)
    assert run.returncode == 1
    assert run.stderr.startswith("bert_span: ")
    assert named in run.stderr


def _set(values, path, value):
  """Sets a value of nested objects by the names on the way to it."""
  *parents, name = path
  for parent in parents:
    values = values[parent]
  values[name] = value


@pytest.mark.parametrize(
  ("path", "value", "named"),
  [
    (["normalizer"], None, "normalizer.type"),
    (["normalizer", "type"], "NFKC", "NFKC"),
    (["pre_tokenizer", "type"], "Split", "Split"),
    (["pre_tokenizer", "add_prefix_space"], True, "add_prefix_space"),
    (["model", "type"], "Unigram", "Unigram"),
    (["model", "vocab"], ["a"], "model.vocab"),
    (["model", "vocab", "a"], -1, "model.vocab, a"),
    (["model", "merges"], ["i n"], "model.merges"),
    (["model", "merges"], [["i", "n", "n"]], "model.merges"),
    (["model", "merges"], [["i n", "n"]], "model.merges"),
    (["model", "merges"], [["q", "\u0141"]], "q\u0141"),
    (["model", "merges"], [["\u3042", "n"]], "\u3042 n"),
    (["added_tokens"], {}, "added_tokens"),
    (["added_tokens", -1, "content"], "", "content"),
    (["added_tokens", -1, "content"], 5, "content"),
    (["added_tokens", -1, "id"], "5", "id"),
    (["added_tokens", -1, "normalized"], False, "normalized"),
    (["added_tokens", -1, "single_word"], True, "single_word"),
    (["added_tokens", -1, "lstrip"], True, "lstrip"),
    (["added_tokens", -1, "rstrip"], True, "rstrip"),
    (["added_tokens"], [], "[CLS]"),
  ],
)
def test_a_tokenizer_json_that_gives_other_tokens_is_refused_by_name(
  path, value, named, answer, modernbert_file, tmp_path
):
  files = tflite_file.read_files(modernbert_file)
  values = json.loads(files[tflite_file.JSON_FILE])
  _set(values, path, value)
  run = _answer_with_tokenizer(values, answer, modernbert_file, tmp_path)
  assert run.returncode == 1
  message = run.stderr.splitlines()[-1]
  assert message.startswith("bert_span: tokenizer.json")
  assert named in message


def _answer_with_tokenizer(values, answer, path, folder):
  """Asks a copy of a file with another tokenizer.json."""
  content = json.dumps(values).encode()
  config = tflite_file.read_packed_config(path)
  config["tflite"]["vocabulary_sha256"] = hashlib.sha256(content).hexdigest()
  size = config["tflite"]["model_bytes"]
  files = {
    tflite_file.JSON_FILE: content,
    CONFIG_FILE: json.dumps(config).encode(),
  }
  copy = folder / "copy.tflite"
  copy.write_bytes(tflite_file.with_files(path.read_bytes()[:size], files))
  return answer(copy, QUESTION)


def test_what_the_library_does_not_know_about_a_file_is_named(answer, tmp_path):
  path, _ = exported_tflite()
  about_file = tflite_file.read_packed_config(path)["tflite"]
  copy = tmp_path / "copy.tflite"
  copy.write_bytes(with_files_of(path, tflite=about_file | {"added": ["[Q]"]}))
  run = answer(copy, QUESTION)
  assert run.returncode == 1
  assert run.stderr.startswith("bert_span: ")
  assert "tflite.added" in run.stderr


@pytest.fixture(scope="module")
def piece_rows(cmake_build):
  """The function `rows` of a library that reads SentencePieces."""
  header = "-include", "sentencepiece_processor.h", "-E", "-x", "c++"
  compiler = shutil.which("c++") or pytest.skip("needs a C++ compiler")
  found = subprocess.run(
    [compiler, *header, "/dev/null"], capture_output=True, check=False
  )
  if found.returncode:
    pytest.skip("needs sentencepiece_processor.h")
  build = cmake_build(
    f"-DCMAKE_CXX_FLAGS={_SANITIZERS}",
    *("-DBERT_SPAN_SENTENCEPIECE=ON", "-DBERT_SPAN_PROGRAMS=rows"),
  )
  return functools.partial(_rows, [build / "rows"])


@pytest.fixture(scope="module", params=[False, True])
def pieces(texts, request):
  """A Unigram model of some of the texts, normalized as XLM-R's."""
  sentencepiece = pytest.importorskip("sentencepiece")
  content = io.BytesIO()
  text = b"\n".join(encoded(text) for text in texts["uncased"][:-2500:20])
  sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(text.decode().split("\n")),
    model_writer=content,
    byte_fallback=request.param,
    vocab_size=3_000,
    minloglevel=2,
    unk_id=0,
    bos_id=1,
    eos_id=2,
  )
  return sentence_pieces(content.getvalue(), "xlm-roberta", "pieces")


def test_sentence_pieces_of_all_texts(piece_rows, pieces, texts, tmp_path):
  path = tmp_path / "pieces.tflite"
  extractor = extractor_of("xlm-roberta", vocabulary=pieces)
  path.write_bytes(tflite_content(extractor, TFLiteOptions()))
  tokenizer = SentencePieceTokenizer(*pieces)
  for name in ("uncased", "broken"):
    _assert_tokens(piece_rows, path, tokenizer, texts[name])


@pytest.mark.parametrize("decoder", [{}, {"temperature": 1.7}])
def test_answers_of_sentence_pieces(
  decoder, piece_rows, pieces, device_files, tmp_path
):
  path, examples = tmp_path / "pieces.tflite", device_files["cased"].examples
  extractor = extractor_of("xlm-roberta", version_2=True, vocabulary=pieces)
  path.write_bytes(tflite_content(extractor, TFLiteOptions()))
  decoder = dataclasses.asdict(extractor.decoder_options) | decoder
  path.write_bytes(with_files_of(path, decoder=decoder))
  answers = piece_rows(path, "answers", _texts(examples))
  expected = TFLiteSpanExtractor(path).predictions(examples)
  for given, wanted in zip(answers, expected, strict=True):
    assert_answer(given, wanted)


@pytest.mark.parametrize("family", ["xlm-roberta", "camembert", "deberta-v2"])
def test_port_vectors_of_sentence_pieces(family, piece_rows, tmp_path):
  _compare_vectors(extractor_of(family), piece_rows, tmp_path)


@pytest.mark.parametrize(
  ("architecture", "pairs"),
  [("roberta", "byte_pairs"), ("modernbert", "modernbert_pairs")],
)
def test_port_vectors_of_byte_pairs(
  architecture, pairs, rows, request, tmp_path
):
  vocabulary = request.getfixturevalue(pairs)
  extractor = extractor_of(architecture, version_2=True, vocabulary=vocabulary)
  _compare_vectors(extractor, rows, tmp_path)


@pytest.fixture(scope="module")
def bio_file(tmp_path_factory):
  """A file of a B/I/O head whose tags are not certain."""
  path = tmp_path_factory.mktemp("bio") / "bio.tflite"
  extractor = tiny_extractor(kind=BioExtractor)
  extractor.head.kernel.assign(0.1 * extractor.head.kernel)
  path.write_bytes(
    tflite_content(extractor, TFLiteOptions(dynamic_length=True))
  )
  return path


@pytest.mark.parametrize("decoder", [*_BIO_DECODERS])
def test_port_vectors_of_a_bio_head(decoder, rows, bio_file, tmp_path):
  path = tmp_path / "bio.tflite"
  options = tflite_file.read_packed_config(bio_file)["decoder"]
  options |= _BIO_DECODERS[decoder]
  path.write_bytes(with_files_of(bio_file, decoder=options))
  answered = set()
  for given, wanted, context in _vectors(path, rows, tmp_path):
    for vector in (given, wanted):
      _without_ties(vector["answer"], context)
    assert_equal(given, wanted, context)
    if wanted["windows"]:
      answered.add(bool(wanted["answer"]["spans"]))
  assert answered == {True, decoder != "unanswerable"}


def _without_ties(answer, context):
  """Orders spans, and drops what rounding decides: one of equal scores.

  The score of a text that a passage repeats is the same wherever the model
  reads the same around it.
  """
  score, spans = answer["score"], answer["spans"]
  ties = [span for span in spans if abs(span["score"] - score) < 1e-6]
  if len(ties) > 1 or context.count(answer["text"]) > 1:
    for name in ("text", "char_start", "char_end", "probability"):
      del answer[name]
  spans.sort(key=operator.itemgetter("text"))
  for span in spans:
    text = context[span.pop("char_start") : span.pop("char_end")]
    assert text == span["text"]
    if context.count(text) > 1:
      del span["probability"]


@pytest.mark.parametrize(
  ("name", "value"),
  [
    ("decoding", "other"),
    ("threshold", 1.5),
    ("threshold", None),
    ("version_2_with_negative", "yes"),
    ("null_score_diff_threshold", "0"),
  ],
)
def test_a_wrong_option_of_a_bio_head_is_named(
  name, value, answer, bio_file, tmp_path
):
  options = tflite_file.read_packed_config(bio_file)["decoder"]
  copy = tmp_path / "copy.tflite"
  copy.write_bytes(with_files_of(bio_file, decoder=options | {name: value}))
  run = answer(copy, QUESTION)
  assert run.returncode == 1
  assert name in run.stderr


def _compare_vectors(extractor, rows, folder):
  """Compares every step of the test vectors of an extractor's file."""
  path = folder / "device.tflite"
  path.write_bytes(tflite_content(extractor, TFLiteOptions()))
  for given, wanted, context in _vectors(path, rows, folder):
    assert_equal(given, wanted, context)


def _vectors(path, rows, folder):
  """Yields each test vector as given and as wanted, and its passage."""
  file, examples = folder / "vectors.json", vector_examples()
  write_port_vectors(path, examples, file)
  expected = json.loads(file.read_text("utf-8"))["vectors"]
  vectors = rows(path, "vectors", _texts(examples))
  for given, wanted in zip(vectors, expected, strict=True):
    del wanted["question"]
    yield given, wanted, wanted.pop("context")


def _cmake(folder, *options, **environment):
  """Configures export/cpp in a folder that has it."""
  return subprocess.run(
    ["cmake", "-S", "export/cpp", "-B", "build/cpp", *options],
    cwd=folder,
    env={**os.environ, **environment},
    capture_output=True,
    text=True,
    check=False,
  )


@pytest.mark.parametrize("version", [None, "2.1.0", "3.0.0"])
def test_cmake_says_what_to_install(version, reader, tmp_path):
  python = tmp_path / "python3"
  python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
  python.chmod(0o755)
  if version:
    wheel = tmp_path / f"ai_edge_litert-{version}.dist-info"
    wheel.mkdir()
    metadata = (
      f"Metadata-Version: 2.1\nName: ai-edge-litert\nVersion: {version}\n"
    )
    (wheel / "METADATA").write_text(metadata)
  path = f"{tmp_path}:{os.environ['PATH']}"
  run = _cmake(reader.folder, PATH=path, PYTHONPATH=str(tmp_path))
  assert run.returncode != 0
  assert "pip install 'ai-edge-litert==2.3.*'" in run.stderr
  assert "-DLITERT=" in run.stderr


def test_cmake_names_what_is_missing(reader, litert_folder):
  litert = f"-DLITERT={litert_folder}"
  for options, name in (
    (["-DLITERT=missing"], str(reader.folder / "missing")),
    ([f"{litert}/libLiteRt.so"], str(litert_folder / "libLiteRt.so")),
    (
      [litert, "-DBERT_SPAN_JNI=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_JNI=ON"],
      "JAVA_HOME",
    ),
    (
      [litert, "-DBERT_SPAN_SENTENCEPIECE=ON", "-DSENTENCEPIECE_INCLUDE="],
      "libsentencepiece-dev",
    ),
  ):
    run = _cmake(reader.folder, *options)
    assert run.returncode != 0
    assert name in run.stderr


def test_the_page_builds_installs_and_answers(reader):
  code = reader.block("c", "main.c")
  (reader.folder / "main.c").write_text(code)
  commands = reader.block("sh", "build/main")
  done = reader.run(commands)
  assert done.returncode == 0, done.stderr
  question, passage = re.findall(r'\[\] = "(.*)";', code)
  wanted = exported_tflite()[1].answer(question=question, context=passage)
  assert done.stdout.splitlines()[-1] == (wanted.text or "No answer")

  # An error is printed and ends with another status.
  compiled = commands[commands.index("cc main.c") :]
  for changed, message in (
    (code.replace("qa.tflite", "missing.tflite"), "cannot read missing.tflite"),
    (code.replace("strlen(question)", "(size_t)-1"), "question"),
  ):
    (reader.folder / "main.c").write_text(changed)
    done = reader.run(compiled)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("bert_span: ")
    assert message in done.stderr


def test_a_library_of_a_relative_folder_is_moved(reader, litert_folder):
  folder = reader.folder / "litert"
  folder.mkdir()
  library = folder / "libLiteRt.so"
  library.symlink_to(litert_folder / "libLiteRt.so")
  build = "cmake -S export/cpp -B build/cpp -DLITERT=litert"
  install = "cmake --install build/cpp --prefix installed"
  done = reader.run(f"{build}\ncmake --build build/cpp\n{install}")
  assert done.returncode == 0, done.stderr
  ask = f"installed/bin/bert_span_answer qa.tflite passage.txt '{QUESTION}'"
  in_place = reader.run(
    f"cd /\n{reader.folder}/{ask.replace(' ', ' $OLDPWD/', 2)}"
  )
  assert in_place.returncode == 0, in_place.stderr
  library.rename(reader.folder / library.name)
  assert library.name in reader.run(ask).stderr
  moved = reader.run(f"cp {library.name} installed/lib*\n{ask}")
  assert moved.stdout == in_place.stdout


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_an_installed_library_answers_a_program_in_c(
  compiler, cmake_build, tmp_path
):
  if not shutil.which(compiler):
    pytest.skip(f"needs {compiler}")
  build = cmake_build(
    f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_CXX_FLAGS=-Werror"
  )
  installed, project = tmp_path / "installed", tmp_path / "project"
  subprocess.run(
    ["cmake", "--install", build, "--prefix", installed], check=True
  )
  project.mkdir()
  (project / "CMakeLists.txt").write_text(_PROJECT)
  shutil.copy(pathlib.Path(__file__).with_name("consumer.c"), project)
  subprocess.run(
    [
      *("cmake", "-S", project, "-B", project),
      f"-DCMAKE_PREFIX_PATH={installed}",
    ],
    check=True,
  )
  subprocess.run(["cmake", "--build", project], check=True)
  path, extractor = exported_tflite()
  wanted = extractor.answer(question=QUESTION, context=CONTEXT)
  run = subprocess.run(
    [project / "consumer", path, QUESTION, CONTEXT],
    capture_output=True,
    text=True,
    check=True,
  )
  num_windows, text, *errors = run.stdout.splitlines()
  assert int(num_windows) > 0
  assert text == wanted.text
  assert errors == [
    "bert_span: the question was stopped",
    "bert_span: cannot read \ufffdmissing",
    "bert_span: num_threads must be from 0 to 256. Received: 100000",
    "bert_span: num_threads must be from 0 to 256. Received: -1",
    "bert_span: accelerator must be from 0 to 2. Received: 7",
    "bert_span: null_score_diff_threshold must be a finite number. Received: "
    "inf",
    "bert_span: path is NULL",
    *["bert_span: bytes is NULL"] * 2,
    *["bert_span: question is NULL", "bert_span: context is NULL"] * 2,
    *["bert_span: question has an impossible size: 18446744073709551615"] * 2,
    *["bert_span: extractor is NULL: bert_span_open failed, read its error"]
    * 4,
  ]


def _changed(content, place):
  return content[:place] + bytes([content[place] ^ 0x15]) + content[place + 1 :]
