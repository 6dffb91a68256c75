"""What is packed behind a TFLite model, and which ops it may have."""

import hashlib
import json
import zipfile

import pytest

from bert_span.presets.span_config import CONFIG_FILE, span_config
from bert_span.text.vocabulary import WordPieces
from bert_span.tflite import file as tflite_file
from tests.support.models import (
  BYTE_PAIRS,
  MODERNBERT_PAIRS,
  VOCABULARY,
  exported_tflite,
  parsed,
  shared_extractor,
  tiny_pieces,
)

_MODEL = b"0000TFL3 a model"
_VOCABULARIES = {
  "words": VOCABULARY,
  "pairs": BYTE_PAIRS,
  "modernbert": MODERNBERT_PAIRS,
  "pieces": tiny_pieces("albert"),
}


def test_ops_beyond_the_builtin_ones_are_refused():
  tflite_file.check_builtin_ops({"ADD": 3})
  with pytest.raises(ValueError, match="CUSTOM:FlexErf"):
    tflite_file.check_builtin_ops({"ADD": 3, "CUSTOM:FlexErf": 1})
  with pytest.raises(ValueError, match="VAR_HANDLE"):
    tflite_file.check_builtin_ops({"VAR_HANDLE": 1})


@pytest.mark.large
def test_ops_are_counted_and_tensors_get_the_names_of_the_signature():
  model = parsed(exported_tflite()[0])
  counts = tflite_file.op_counts(model)
  (graph,), (signature,) = model.subgraphs, model.signatureDefs
  assert sum(counts.values()) == len(graph.operators)
  assert list(counts) == sorted(counts)
  for tensor in graph.tensors:
    tensor.name = b"other"
  content = tflite_file.with_signature_names(tflite_file.pack(model))
  named = tflite_file.parse(content).subgraphs[0].tensors
  expected = {
    entry.tensorIndex: entry.name
    for entry in (*signature.inputs, *signature.outputs)
  }
  assert len(expected) == 5
  for index, tensor in enumerate(named):
    assert tensor.name == expected.get(index, b"other")


def _write(path, vocabulary=VOCABULARY, files=(), **about):
  """Writes a file with all that it packs, some of it changed."""
  packed, fields = tflite_file.vocabulary_files(vocabulary)
  config = span_config(shared_extractor())
  config["tflite"] = {
    "max_length": 32,
    "dynamic_length": False,
    **tflite_file.fingerprint(_MODEL),
    **fields,
    **about,
  }
  files = {CONFIG_FILE: json.dumps(config).encode(), **packed, **dict(files)}
  path.write_bytes(tflite_file.with_files(_MODEL, files))
  return path


@pytest.mark.parametrize(
  ("kind", "name", "fields"),
  [
    ("words", "vocab.txt", {}),
    ("pairs", "vocab.txt", {"merges": BYTE_PAIRS.merges}),
    ("modernbert", "tokenizer.json", {}),
    ("pieces", "vocabulary.spm", {"family": "albert"}),
  ],
)
def test_a_vocabulary_is_read_as_it_was_packed(kind, name, fields, tmp_path):
  vocabulary, path = _VOCABULARIES[kind], tmp_path / "qa.tflite"
  files, about = tflite_file.vocabulary_files(vocabulary)
  ((packed, content),) = files.items()
  sha256 = hashlib.sha256(content).hexdigest()
  assert (packed, about) == (name, {**fields, "vocabulary_sha256": sha256})
  assert tflite_file.read_vocabulary(_write(path, vocabulary)) == vocabulary
  _write(path, vocabulary, {name: content + b" "})
  with pytest.raises(ValueError, match=rf"qa\.tflite .*{name}"):
    tflite_file.read_vocabulary(path)


@pytest.mark.parametrize("rules", [(True, False), (False, True)])
def test_word_pieces_by_other_rules_are_not_packed(rules):
  with pytest.raises(ValueError, match="SavedModel"):
    tflite_file.vocabulary_files(WordPieces(VOCABULARY, *rules))


def test_a_model_of_other_bytes_is_damaged(tmp_path):
  path = _write(tmp_path / "qa.tflite")
  config = tflite_file.read_packed_config(path)
  assert tflite_file.check_unchanged(path, config) == _MODEL
  content = path.read_bytes()
  path.write_bytes(content.replace(b"a model", b"a modem"))
  with pytest.raises(ValueError, match=r"qa\.tflite .*model"):
    tflite_file.check_unchanged(path, config)


@pytest.mark.parametrize(
  ("field", "value"),
  [
    *(("max_length", value) for value in (0, 10**9, "32", None)),
    *(("model_bytes", value) for value in (0, 2**31, 1.5)),
    *((name, 5) for name in ("model_sha256", "vocabulary_sha256")),
    *(("dynamic_length", value) for value in (0, "no")),
    ("family", 5),
    *(("merges", value) for value in (5, "a b", [5], [["a", "b"]], ["a"])),
  ],
)
def test_a_wrong_field_about_the_file_is_named(field, value, tmp_path):
  path = _write(tmp_path / "wrong.tflite", **{field: value})
  with pytest.raises(ValueError, match=rf"wrong\.tflite, .*{field}"):
    tflite_file.read_packed_config(path)


def test_packed_files_are_refused_unless_they_are_stored_and_small(tmp_path):
  """A few compressed bytes may be gigabytes, or raise errors of zlib."""
  path = tmp_path / "bomb.tflite"
  for compression, size in (
    (zipfile.ZIP_DEFLATED, 10**8),
    (zipfile.ZIP_LZMA, 10),
    (zipfile.ZIP_STORED, 10**8),
  ):
    path.write_bytes(_MODEL)
    with zipfile.ZipFile(path, "a", compression) as archive:
      archive.writestr("foreign", bytes(100))
      archive.writestr("span_config.json", bytes(size))
    with pytest.raises(ValueError, match=r"bomb\.tflite: span_config\.json"):
      tflite_file.read_files(path)
  path.write_bytes(b"0123456789")
  with pytest.raises(ValueError, match=r"bomb\.tflite .*TFL3.*4567"):
    tflite_file.read_files(path)


def test_equal_files_are_packed_to_equal_bytes():
  files = {"b": b"1", "a": b"2"}
  first, second = (tflite_file.with_files(_MODEL, files) for _ in range(2))
  assert first == second
  assert first.startswith(_MODEL)
