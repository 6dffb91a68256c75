"""Logits, tokens and answers here are those of transformers."""

import functools
import importlib.util
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from bert_span import DecoderOptions, WindowOptions
from bert_span.extractors.preset_loader import make_extractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.presets.huggingface import load_huggingface
from bert_span.presets.huggingface_writer import save_huggingface
from bert_span.squad.reader import read_squad
from bert_span.text.sentencepiece_model import PIECE_FAMILIES
from tests.support.models import (
  CONTEXT,
  QUESTION,
  VOCABULARY,
  extractor_of,
  trained_pieces,
)
from tests.support.squad import decode_by_loops

pytestmark = pytest.mark.large
_NAMES = [
  *("bert_relu-float32", "bert_new-float32", "electra_base-float32"),
  *("deberta_long-float32", "modernbert_deep-float32"),
  "albert_groups-float32",
  *(f"mobilebert_{name}-float32" for name in ("norm", "wide", "tiny")),
  *(
    f"{name}-{dtype}"
    for name in ARCHITECTURES
    for dtype in ("float32", "float16", "bfloat16")
  ),
]
_PAIRS = [
  (QUESTION, CONTEXT),
  ("who's IN  the cafe\u0301?", "Café 日本 🙂, it's in\n\tthe river.  "),
]


def _inputs():
  """Windows of several lengths, the last without padding."""
  rng = np.random.default_rng(3)
  lengths = np.array([[3], [10], [31], [32]])
  positions = np.arange(32)
  mask = (positions < lengths).astype("int32")
  # From 5: no padding, which RoBERTa does not count as a position.
  ids = rng.integers(5, 20, [4, 32])
  return {
    "token_ids": np.where(mask, ids, 1).astype("int32"),
    "segment_ids": (positions >= lengths // 2).astype("int32") * mask,
    "padding_mask": mask,
  }


@functools.cache
def _examples():
  """200 real questions of three languages, or none where there are no data."""
  folder = pathlib.Path(__file__).parents[2].parent / "shared" / "data"
  examples = []
  for name, number in (("en", 68), ("zh", 66), ("ar", 66)):
    path = folder / f"xquad_{name}.json"
    of_language = read_squad(path).examples if path.exists() else []
    examples += of_language[:: max(len(of_language) // number, 1)][:number]
  return examples


@pytest.fixture(scope="module")
def folder(repository, tmp_path_factory):
  """Folder with models ours/* and theirs/*, and the outputs of transformers."""
  for name, title in (("torch", "PyTorch"), ("transformers", "transformers")):
    if not importlib.util.find_spec(name):
      pytest.skip(f"{title} is not installed")
  folder = tmp_path_factory.mktemp("models")
  _write_inputs(folder / "inputs.npz", *_inputs().values())
  (folder / "pairs.json").write_text(json.dumps(_PAIRS))
  (folder / "ours").mkdir()
  for name in ARCHITECTURES:
    extractor = _extractor_of(name)
    directory = folder / "ours" / name
    save_huggingface(extractor, directory)
    if _examples():
      windows = _windows(extractor, _examples())
      names = ("token_ids", "segment_ids", "padding_mask")
      _write_inputs(directory / "windows.npz", *(windows[n] for n in names))
  script = repository / "tests/scripts/transformers_models.py"
  paths = (folder / name for name in ("inputs.npz", "ours", "theirs"))
  subprocess.run([sys.executable, script, *paths], check=True)
  return folder


def _extractor_of(name, **options):
  """A tiny extractor with a vocabulary of the `_texts`."""
  if name in PIECE_FAMILIES:
    options["vocabulary"] = trained_pieces(name, tuple(_texts()))
  elif name not in ("roberta", "modernbert"):  # Byte pairs are for all texts.
    words = {w for text in _texts() for w in re.findall(r"\w+", text.lower())}
    characters = {x for word in words for x in word}
    options["vocabulary"] = list(
      dict.fromkeys([*VOCABULARY, *sorted(words | characters)])
    )
  return extractor_of(name, **options)


def _texts():
  return [x for each in _examples() for x in (each.question, each.context)]


def _write_inputs(path, ids, segments, mask):
  arrays = {"input_ids": ids, "token_type_ids": segments}
  np.savez(path, **arrays, attention_mask=mask)


def _windows(extractor, examples):
  return extractor.preprocessor.windows(
    {
      "question": tf.constant([example.question for example in examples]),
      "context": tf.constant([example.context for example in examples]),
    }
  )


def _compare(model, directory):
  inputs = _inputs()
  kept = inputs["padding_mask"].astype(bool)
  with np.load(directory / "outputs.npz") as theirs:
    for ours in (model(inputs), InferenceModel(model)(inputs)):
      for name in ("start_logits", "end_logits"):
        found = np.asarray(ours[name])[kept]
        np.testing.assert_allclose(found, theirs[name][kept], atol=1e-4)
        assert found.std() > 0.1


@pytest.mark.parametrize("name", _NAMES)
def test_a_model_of_transformers_has_the_same_logits_here(folder, name):
  directory = folder / "theirs" / name
  # Such a directory has no vocabulary; only the logits are compared.
  loaded = load_huggingface(str(directory))
  options = WindowOptions(32, 8, 8), DecoderOptions()
  extractor = make_extractor(SpanExtractor, loaded, VOCABULARY, True, *options)
  _compare(extractor, directory)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_model_of_ours_has_the_same_logits_and_tokens_there(folder, name):
  directory = folder / "ours" / name
  # The model that was written: a seed makes equal ones.
  extractor = _extractor_of(name)
  _compare(extractor, directory)
  tokenizer = extractor.preprocessor.tokenizer
  separators = [tokenizer.sep_id] * tokenizer.num_separators
  found = []
  for pair in _PAIRS:
    question, context = tokenizer(list(pair)).ids.to_list()
    ids = [*question, *separators, *context, tokenizer.sep_id]
    found.append([tokenizer.cls_id, *ids])
  assert found == json.loads((directory / "pairs.json").read_text())


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_answers_are_those_of_the_documented_post_processing(folder, name):
  examples = _examples()
  if not examples:
    pytest.skip("../shared/data is not on this machine")
  extractor = _extractor_of(name, version_2=True)
  windows = {n: x.numpy() for n, x in _windows(extractor, examples).items()}
  with np.load(folder / "ours" / name / "windows_outputs.npz") as stored:
    # Padding is not scored here, and must not be among the best 20 there.
    mask = windows["padding_mask"].astype(bool)
    logits = {n: np.where(mask, x, -1e9) for n, x in stored.items()}
  options = extractor.decoder_options
  num_answered, num_ties = 0, 0
  for index, prediction in enumerate(extractor.predictions(examples)):
    rows = windows["example_index"] == index
    spans, null_odds = decode_by_loops(
      examples[index].context,
      {column: values[rows] for column, values in windows.items()},
      *(logits[f"{end}_logits"][rows] for end in ("start", "end")),
      options,
    )
    score = spans[0][-1]
    # A DeBERTa has almost the same logits for tokens that occur again, with
    # others only at distances that share a bucket.
    places = [place for _, *place, each in spans if each > score - 1e-4]
    if null_odds > options.null_score_diff_threshold:
      places, score = [[0, 0]], null_odds + score
    answer = prediction.answer
    place = [answer.char_start, answer.char_end]
    assert place in places, index
    num_ties += place != places[0]
    assert answer.score == pytest.approx(score, abs=1e-3)
    assert answer.null_odds == pytest.approx(null_odds, abs=1e-3)
    num_answered += bool(answer.text)
  assert num_answered > 10
  assert num_ties <= 10 * (name == "deberta-v2")
