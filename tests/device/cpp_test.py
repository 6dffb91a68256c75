"""export/cpp gives the tokens, answers and scores of TFLiteSpanExtractor."""

import dataclasses
import functools
import hashlib
import json
import operator
import pathlib
import random
import re
import shutil
import subprocess
import unicodedata

import pytest
import tensorflow as tf

from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.presets.span_config import CONFIG_FILE
from bert_span.text.byte_pair_tokenizer import BytePairTokenizer
from bert_span.text.modernbert_tokenizer import ModernBertTokenizer
from bert_span.text.sentencepiece_model import PIECE_FAMILIES
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
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor
from tests.support.models import (
  CONTEXT,
  QUESTION,
  exported_tflite,
  extractor_of,
  tiny_extractor,
  trained_pieces,
  with_files_of,
  with_wrong_values,
)
from tests.support.squad import (
  assert_answer,
  assert_equal,
  assert_utf16,
  encoded,
)

pytestmark = pytest.mark.slow
_SANITIZERS = (
  "-O1 -g1 -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"
)
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


@pytest.fixture(scope="module")
def pieces_option():
  """The option of CMake: "ON" if the library sentencepiece is installed."""
  header = "-include", "sentencepiece_processor.h", "-E", "-x", "c++"
  compiler = shutil.which("c++") or pytest.skip("needs a C++ compiler")
  found = subprocess.run([compiler, *header, "/dev/null"], capture_output=True)
  return "OFF" if found.returncode else "ON"


@pytest.fixture(scope="module")
def build(repository, litert_folder, pieces_option, tmp_path_factory):
  """The folder of programs with sanitizers, by Clang if it is installed."""
  source, folder = repository / "export/cpp", tmp_path_factory.mktemp("cpp")
  clang = shutil.which("clang++")
  for command in (
    [
      *("cmake", "-S", source, "-B", folder, f"-DLITERT={litert_folder}"),
      *([f"-DCMAKE_CXX_COMPILER={clang}"] if clang else []),
      f"-DCMAKE_CXX_FLAGS={_SANITIZERS}",
      f"-DBERT_SPAN_SENTENCEPIECE={pieces_option}",
      "-DBERT_SPAN_PROGRAMS=rows",
    ],
    ["cmake", "--build", folder, "--parallel", "2"],
  ):
    subprocess.run(command, check=True)
  return folder


@pytest.fixture(scope="module")
def rows(build, rows_of):
  """A function that runs rows.cc on texts; see there."""
  return functools.partial(rows_of, [build / "rows"])


@pytest.fixture(scope="module")
def piece_rows(rows, pieces_option):
  """The same, or a skip if it does not read SentencePieces."""
  if pieces_option == "OFF":
    pytest.skip("needs sentencepiece_processor.h")
  return rows


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
  answers = rows(file.path, "answers", file.examples)
  for given, wanted, example in zip(
    answers, expected_answers[name], file.examples, strict=True
  ):
    assert_answer(given, wanted)
    span = encoded(example.context)[given["byte_start"] : given["byte_end"]]
    assert span.decode("utf-8") == given["text"]
    for span in (given, *given["n_best"]):
      assert_utf16(span, example.context)


@pytest.mark.parametrize("dynamic_length", [False, True])
def test_port_vectors_of_the_exporter(dynamic_length, rows, port_vectors):
  path, _ = exported_tflite(dynamic_length=dynamic_length)
  for given, wanted, context in port_vectors(path, rows, are_all=True):
    assert_equal(given, wanted, context)


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


@pytest.fixture(scope="module")
def byte_pairs(texts):
  """Byte pairs of some of the texts, with merges of spaces and of others."""
  tokenizers = pytest.importorskip("tokenizers")
  trainer = tokenizers.ByteLevelBPETokenizer()
  some = [encoded(text).decode() for text in texts["real"][:4_000]]
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


def _combining_texts(number):
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
    for _ in range(number)
  ]


def test_byte_pairs_of_modernbert_of_all_texts(
  rows, modernbert_pairs, modernbert_file, texts
):
  pairs, added = modernbert_pairs
  tokenizer = ModernBertTokenizer(*pairs, added)
  # As many of each kind as real ones, whatever the sample.
  rng, number = random.Random(3), len(texts["real"]) // 4
  mixed = [
    "".join(
      rng.choices([*_SPACES[:13], *_ADDED, "e\u0301", "\u0301", "x"], k=9)
    )
    for _ in range(number)
  ]
  forms = [
    unicodedata.normalize(form, encoded(text).decode())
    for text in (*texts["real"][::8], *texts["uncased"][-2_100:])
    for form in ("NFD", "NFC")
  ]
  every = [*_SPACES, *_combining_texts(number), *mixed, *forms]
  every += [*texts["uncased"], *texts["newer"], *texts["broken"]]
  _assert_tokens(rows, modernbert_file, tokenizer, every)


@pytest.mark.parametrize("name", ["pairs_file", "modernbert_file"])
def test_answers_of_byte_pairs(name, rows, device_files, request):
  path, examples = request.getfixturevalue(name), device_files["cased"].examples
  answers = rows(path, "answers", examples)
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


def _trained(family, byte_fallback, texts):
  """A Unigram model of some of the texts, normalized by NFKC.

  With byte_fallback every normalized character has tokens.
  """
  text = b"\n".join(map(encoded, texts["real"][:4_000]))
  sentences = tuple(text.decode().split("\n"))
  return trained_pieces(family, sentences, byte_fallback=byte_fallback)


@pytest.fixture(
  scope="module",
  params=[("xlm-roberta", False), ("xlm-roberta", True), ("albert", True)],
  ids=str,
)
def pieces(texts, request):
  return _trained(*request.param, texts)


def _assert_pieces(pieces, rows, texts, path):
  extractor = extractor_of(pieces.family, vocabulary=pieces)
  path.write_bytes(tflite_content(extractor, TFLiteOptions()))
  _assert_tokens(rows, path, SentencePieceTokenizer(*pieces), texts)


def test_sentence_pieces_of_all_texts(piece_rows, pieces, texts, tmp_path):
  every = [*texts["uncased"], *texts["broken"]]
  _assert_pieces(pieces, piece_rows, every, tmp_path / "pieces.tflite")


@pytest.mark.parametrize("lower_case", [True, False])
def test_case_and_accents_that_an_albert_keeps(
  lower_case, piece_rows, texts, tmp_path
):
  pieces = _trained("albert", True, texts)
  pieces = pieces.with_albert_rules(lower_case, keeps_accents=lower_case)
  path = tmp_path / "pieces.tflite"
  _assert_pieces(pieces, piece_rows, texts["uncased"], path)


def test_answers_of_sentence_pieces(piece_rows, pieces, device_files, tmp_path):
  path, examples = tmp_path / "pieces.tflite", device_files["cased"].examples
  extractor = extractor_of(pieces.family, version_2=True, vocabulary=pieces)
  path.write_bytes(tflite_content(extractor, TFLiteOptions()))
  decoder = dataclasses.asdict(extractor.decoder_options)
  decoder |= {"temperature": 1.7}
  path.write_bytes(with_files_of(path, decoder=decoder))
  answers = piece_rows(path, "answers", examples)
  expected = TFLiteSpanExtractor(path).predictions(examples)
  for given, wanted in zip(answers, expected, strict=True):
    assert_answer(given, wanted)


@pytest.mark.parametrize("family", PIECE_FAMILIES)
def test_port_vectors_of_sentence_pieces(
  family, piece_rows, port_vectors, tmp_path
):
  path = tmp_path / "pieces.tflite"
  path.write_bytes(tflite_content(extractor_of(family), TFLiteOptions()))
  for given, wanted, context in port_vectors(path, piece_rows):
    assert_equal(given, wanted, context)


@pytest.mark.parametrize("name", ["pairs_file", "modernbert_file"])
def test_port_vectors_of_byte_pairs(name, rows, port_vectors, request):
  path = request.getfixturevalue(name)
  for given, wanted, context in port_vectors(path, rows):
    assert_equal(given, wanted, context)


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
def test_port_vectors_of_a_bio_head(
  decoder, rows, bio_file, port_vectors, tmp_path
):
  path = tmp_path / "bio.tflite"
  options = tflite_file.read_packed_config(bio_file)["decoder"]
  options |= _BIO_DECODERS[decoder]
  path.write_bytes(with_files_of(bio_file, decoder=options))
  answered = set()
  for given, wanted, context in port_vectors(path, rows):
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


def _changed(content, place):
  return content[:place] + bytes([content[place] ^ 0x15]) + content[place + 1 :]
