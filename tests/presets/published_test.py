"""Checkpoints load as they are published, with their tokens and logits."""

import functools
import importlib.util
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys

import keras_hub
import numpy as np
import pytest

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.encoder import encode
from bert_span.presets.encoder_source import EncoderSource
from bert_span.presets.huggingface_writer import save_huggingface
from bert_span.text.options import WindowOptions
from tests.support.published_files import (
  FAMILY_KEYS,
  OTHER_KEYS,
  PUBLISHED,
  TEXTS,
  published_config,
  write_keras_nlp,
  write_published,
)

pytestmark = pytest.mark.large
_LOADED = [name for name, row in PUBLISHED.items() if not row.refused]
_REFUSED = [name for name, row in PUBLISHED.items() if row.refused]
_SHARED = pathlib.Path(__file__).parents[2].parent / "shared"
_KERAS_NLP = (
  *("bert", "bert uncased", "distilbert", "electra", "roberta"),
  *("xlm-roberta", "deberta-v2"),
)
_AND_LARGE = " (and -large)"
_PAGE = "docs/models.md"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
  """Writes a checkpoint once; its folder, and what gives a text's right ids."""
  folder = tmp_path_factory.mktemp("published")

  @functools.cache
  def write(name):
    directory = folder / re.sub(r"\W+", "_", name)
    return directory, write_published(directory, name)

  return write


@pytest.fixture(scope="module")
def loaded(written):
  """Loads a checkpoint; once, as two tests ask for it."""

  @functools.cache
  def load(name):
    return _load(written(name)[0])

  return load


def _load(directory):
  """The preset of a directory, and its tokenizer."""
  source = EncoderSource(preset=str(directory))
  preset = source.load()
  options = WindowOptions(384, 128, 64)
  preprocessor = SpanPreprocessor(
    preset.vocabulary(), source.lower_case(preset), options
  )
  return preset, preprocessor.tokenizer


@pytest.fixture(scope="module")
def outputs(written, repository):
  """What transformers computes, by the name of a checkpoint."""
  for name, title in (("torch", "PyTorch"), ("transformers", "transformers")):
    if not importlib.util.find_spec(name):
      pytest.skip(f"{title} is not installed")
  directories = {name: written(name)[0] for name in _LOADED}
  folder = directories[_LOADED[0]].parent
  names = "input_ids", "token_type_ids", "attention_mask"
  inputs = dict(zip(names, _inputs().values(), strict=True))
  np.savez(folder.parent / "published.npz", **inputs)
  script = repository / "tests/scripts/transformers_models.py"
  command = [sys.executable, script, folder.parent / "published.npz", folder]
  subprocess.run(command, check=True)

  def read(name):
    with np.load(directories[name] / "outputs.npz") as stored:
      return stored["outputs"]

  return read


def _inputs():
  """Windows of two lengths."""
  positions = np.arange(24)
  mask = (positions < [[9], [24]]).astype("int32")
  # From 5: no padding, which RoBERTa does not count as a position.
  ids = np.random.default_rng(3).integers(5, 60, [2, 24])
  return {
    "token_ids": np.where(mask, ids, 1).astype("int32"),
    "segment_ids": (positions >= [[4], [8]]).astype("int32") * mask,
    "padding_mask": mask,
  }


@pytest.mark.parametrize("name", _LOADED)
def test_a_published_checkpoint_has_its_tokens(written, loaded, name):
  _, ids_of_text = written(name)
  _, tokenizer = loaded(name)
  assert len(TEXTS) == 200
  assert tokenizer(TEXTS).ids.to_list() == list(map(ids_of_text, TEXTS))


@pytest.mark.parametrize("name", _LOADED)
def test_a_published_checkpoint_has_its_logits(outputs, loaded, name):
  expected, inputs = outputs(name), _inputs()
  preset, _ = loaded(name)
  ours = np.asarray(encode(preset.backbone, inputs))
  head = preset.head_weights.get("span_head")
  assert bool(head) == ("qa" in PUBLISHED[name].names)
  if head:
    ours = ours @ head["kernel"] + head["bias"]
  kept = inputs["padding_mask"].astype(bool)
  np.testing.assert_allclose(ours[kept], expected[kept], atol=1e-4)
  assert ours[kept].std() > 0.1


@pytest.mark.parametrize("name", _REFUSED)
def test_a_checkpoint_with_other_tokens_is_refused_by_name(written, name):
  directory, _ = written(name)
  with pytest.raises(ValueError, match=PUBLISHED[name].refused):
    _load(directory)


@pytest.mark.parametrize(
  "name",
  [
    "klue/roberta-base",
    "nguyenvulebinh/vi-mrc-base (and -large)",
    "dbmdz/bert-base-german-uncased",
  ],
)
def test_an_unusual_tokenizer_is_written_and_read_again(
  written, tmp_path, name
):
  directory, ids_of_text = written(name)
  preset, tokenizer = _load(directory)
  extractor = SpanExtractor.from_preset(directory)
  extractor.head_is_trained = True  # KLUE's has a new one.
  extractor.save_to_preset(tmp_path / "ours")
  save_huggingface(extractor, tmp_path / "theirs")
  inputs = _inputs()
  expected = encode(preset.backbone, inputs)
  for folder in ("ours", "theirs"):
    preset, tokenizer = _load(tmp_path / folder)
    np.testing.assert_array_equal(encode(preset.backbone, inputs), expected)
    assert tokenizer(TEXTS).ids.to_list() == list(map(ids_of_text, TEXTS))
    assert tokenizer.do_lower_case is ("uncased" in name)
  config = extractor.preprocessor.get_config()
  again = SpanPreprocessor.from_config(config).tokenizer
  assert again.full_vocabulary == tokenizer.full_vocabulary
  # A window is that of the tokenizer.
  preprocessor = extractor.preprocessor
  ids = preprocessor({"question": ["The"], "context": ["mill"]})["token_ids"]
  separators = [tokenizer.sep_id] * tokenizer.num_separators
  question, context = map(ids_of_text, ("The", "mill"))
  expected = [tokenizer.cls_id, *question, *separators, *context]
  assert np.asarray(ids)[0].tolist() == [*expected, tokenizer.sep_id]


def test_no_file_for_devices_keeps_accents(written, tmp_path):
  directory, _ = written("dbmdz/bert-base-german-uncased")
  extractor = SpanExtractor.from_preset(directory)
  extractor.head_is_trained = True
  with pytest.raises(ValueError, match="accents"):
    extractor.export(tmp_path / "qa.tflite")
  assert not (tmp_path / "qa.tflite").exists()


def test_a_roberta_without_padding_at_its_place_is_refused(written, tmp_path):
  directory, _ = written("klue/roberta-base")
  directory = shutil.copytree(directory, tmp_path / "model")
  path = directory / "tokenizer.json"
  values = json.loads(path.read_text())
  vocab = values["model"]["vocab"]
  vocab["[PAD]"], vocab["[UNK]"] = vocab["[UNK]"], vocab["[PAD]"]
  path.write_text(json.dumps(values))
  with pytest.raises(ValueError, match=rf"{path}: roberta .*\[UNK\]"):
    _load(directory)


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("name", _KERAS_NLP)
def test_a_preset_of_keras_nlp_loads_as_keras_hub_reads_it(
  tmp_path, name, is_old
):
  ids_of_text = write_keras_nlp(tmp_path, name, is_old)
  preset, tokenizer = _load(tmp_path)
  inputs = _inputs()
  theirs = keras_hub.models.Backbone.from_preset(str(tmp_path))
  ours = np.asarray(encode(preset.backbone, inputs))
  np.testing.assert_allclose(ours, encode(theirs, inputs), atol=1e-5)
  assert ours.std() > 0.1
  assert tokenizer(TEXTS).ids.to_list() == list(map(ids_of_text, TEXTS))
  read = keras_hub.models.Tokenizer.from_preset(str(tmp_path))
  assert np.asarray(read("The mill")).tolist() == ids_of_text("The mill")


@pytest.mark.parametrize(
  ("key", "value"),
  [
    ("registered_name", "keras_nlp>RobertaTokenizer"),
    ("registered_name", "keras_nlp>NoTokenizer"),
    ("split", False),
    ("suffix_indicator", "@@"),
    ("oov_token", "<unk>"),
    ("strip_accents", True),
    ("lowercase", "true"),
  ],
)
def test_a_preset_with_other_tokens_is_refused_by_name(tmp_path, key, value):
  write_keras_nlp(tmp_path, "bert", False)
  path = tmp_path / "tokenizer.json"
  values = json.loads(path.read_text())
  part = values if key in values else values["config"]
  part[key] = value
  path.write_text(json.dumps(values))
  with pytest.raises(ValueError, match=rf"{path}: {key} "):
    _load(tmp_path)


def test_the_page_says_of_each_checkpoint_whether_it_loads(repository):
  lines = (repository / _PAGE).read_text("utf-8").splitlines()
  start = lines.index("| checkpoint | here |")
  shown = {}
  for line in itertools.takewhile(str.strip, lines[start + 2 :]):
    checkpoints, verdict = line.strip("| ").split(" | ")
    names = re.findall("`([^`]+)`", checkpoints)
    assert not shown.keys() & names
    shown |= dict.fromkeys(names, verdict)
  expected = {
    name.removesuffix(_AND_LARGE): PUBLISHED[name] for name in PUBLISHED
  }
  assert shown.keys() == expected.keys()
  for name, row in expected.items():
    if row.refused:
      assert shown[name].startswith("refused: ") and row.refused in shown[name]
    else:
      verdict = ", from pickled weights" if row.is_pickled else ""
      assert shown[name] == f"loads{verdict}"


def test_the_page_has_the_share_of_refused_keys(repository):
  page = (repository / _PAGE).read_text("utf-8")
  rows = re.findall(r"^\| (.+) \| .+ \| (\d+) of (\d+) \|$", page, re.M)
  assert {int(total) for _, _, total in rows} == {len(PUBLISHED)}
  refused = [row.refused for row in PUBLISHED.values()]
  for keys, number, _ in rows:
    names = re.findall("`([^`]+)`", keys)
    assert int(number) == sum(any(n in x for n in names) for x in refused)
  others = sum(x not in ("", "model_type") for x in refused)
  assert sum(int(number) for _, number, _ in rows) == others


def test_the_table_has_what_the_facts_say():
  path = _SHARED / "checkpoints" / "facts.json"
  if not path.exists():
    pytest.skip("../shared/checkpoints is not on this machine")
  facts = json.loads(path.read_text("utf-8"))
  assert facts.keys() == PUBLISHED.keys()
  wrong = []
  for name, fact in facts.items():
    row, files = PUBLISHED[name], " ".join(fact["files"])
    if row.family not in ARCHITECTURES:
      assert fact["config"]["model_type"] == row.family
      continue
    for file, ours, theirs in (
      ("config.json", published_config(name), fact["config"]),
      ("tokenizer_config.json", row.tokenizer or {}, fact["tokenizer_config"]),
    ):
      wrong += [
        (name, file, key, value)
        for key, value in theirs.items()
        # What was not seen has a remark in parentheses.
        if "(" not in f"{key}{value}" and key not in ("exists", "...")
        if key not in OTHER_KEYS | FAMILY_KEYS.get(row.family, set())
        if ours.get(key) != value
      ]
    for file, has in (
      (r"model\.safetensors", not row.is_pickled),
      (r"tokenizer\.json", bool(row.json)),
      (r"(spm|bpe)\.model|vocab\.(txt|json)", bool(row.files)),
      (r"special_tokens_map\.json", bool(row.special)),
      (r"added_tokens\.json", row.added is not None),
    ):
      is_listed = "config.json" in files  # not "as" another
      if is_listed and bool(re.search(file, files)) != has:
        wrong.append((name, file))
  assert not wrong, "\n".join(map(str, wrong))
