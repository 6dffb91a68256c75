"""Where a program's model comes from."""

import dataclasses
import functools
import json

import numpy as np
import pytest

from bert_span.presets.encoder_source import EncoderSource
from bert_span.presets.encoder_weights import LoadedPreset
from tests.support.models import tiny_encoder, tiny_pieces

_encoder = functools.cache(tiny_encoder)


def loaded(**fields):
  return LoadedPreset(_encoder(), description="the encoder", **fields)


def test_lower_case_comes_from_flag_model_or_vocabulary(tmp_path, capsys):
  path = tmp_path / "vocab.txt"
  for flag, model, piece, expected in (
    *((None, False, "b", False), (None, True, "B", True)),
    *((False, None, "b", False), (True, None, "B", True)),
    *((False, False, "b", False), (None, None, "b", True)),
    (None, None, "B", False),
  ):
    path.write_text(f"[UNK]\n[CLS]\n[SEP]\na\n{piece}\n")
    source = EncoderSource(preset="p", do_lower_case=flag)
    one = loaded(lower_case=model, vocabulary_path=str(path))
    assert source.lower_case(one) is expected
  assert capsys.readouterr().err.count("do_lower_case=False") == 1
  # As in the original, whose flag is true by default.
  assert (
    EncoderSource(bert_config_file="c", vocab_file="v").lower_case(loaded())
    is True
  )


def test_tokens_that_are_not_word_pieces_are_not_lower_cased(tmp_path):
  (tmp_path / "vocab.json").write_text(json.dumps({"a": 0, "<pad>": 1, "b": 2}))
  (tmp_path / "merges.txt").write_text("#version: 0.2\n")
  backbone = tiny_encoder(architecture="roberta", vocabulary_size=3)
  path = str(tmp_path / "vocab.json")
  preset = LoadedPreset(backbone, vocabulary_path=path)
  assert EncoderSource(preset="p").lower_case(preset) is False


def test_the_pieces_of_an_albert_say_whether_it_is_lower_cased(tmp_path):
  path = tmp_path / "30k-clean.model"
  pieces = tiny_pieces("albert")
  path.write_bytes(pieces.proto)
  backbone = tiny_encoder(
    architecture="albert", vocabulary_size=len(pieces.tokens)
  )
  source = EncoderSource(bert_config_file="c", vocab_file=str(path))
  preset = LoadedPreset(backbone, description="the encoder")
  assert source.lower_case(preset) is True
  source = dataclasses.replace(source, do_lower_case=False)
  with pytest.raises(ValueError, match="do_lower_case=False"):
    source.lower_case(preset)


def test_a_flag_that_contradicts_the_model_is_refused():
  source = EncoderSource(preset="p", do_lower_case=True)
  with pytest.raises(ValueError, match="do_lower_case=True"):
    source.lower_case(loaded(lower_case=False))
  for name, flag in (("cased_L-12/m.ckpt", None), ("uncased_L-12/m", False)):
    source = EncoderSource(
      bert_config_file="c",
      init_checkpoint=name,
      vocab_file="v",
      do_lower_case=flag,
    )
    with pytest.raises(ValueError, match=f"{name}.*do_lower_case=False"):
      source.load()


def test_the_vocabulary_must_be_that_of_the_weights(tmp_path):
  path = tmp_path / "vocab.txt"
  path.write_text("[UNK]\n[CLS]\n[SEP]\na\n")
  beside, lacking = loaded(vocabulary_path=str(path)), loaded()
  assert beside.vocabulary()[-1] == lacking.vocabulary(str(path))[-1] == "a"
  with pytest.raises(ValueError, match="vocab_file"):
    lacking.vocabulary()


def test_weights_have_one_digest_wherever_they_lie():
  source, elsewhere = EncoderSource(preset="p"), EncoderSource(preset="q")
  one = loaded()
  digest = source.weights_digest(one)
  assert digest == elsewhere.weights_digest(one)
  assert digest != source.weights_digest(LoadedPreset(tiny_encoder()))
  heads = {"span_head": {"kernel": np.ones([8, 2], np.float32)}}
  assert digest != source.weights_digest(loaded(head_weights=heads))
  # Random weights follow from the seed.
  assert (
    EncoderSource(bert_config_file="c", vocab_file="v").weights_digest(one)
    is None
  )
