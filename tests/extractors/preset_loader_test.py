"""Which class, options and head an extractor of a preset gets."""

import json
import shutil

import pytest

import bert_span
from bert_span import (
  BioDecoderOptions,
  BioExtractor,
  DecoderOptions,
  Extractor,
  SpanExtractor,
  WindowOptions,
)
from bert_span.extractors.options import HEADS
from bert_span.extractors.preset_loader import (
  extractor_classes,
  find_extractor_class,
)
from bert_span.presets.encoder_source import EncoderSource
from bert_span.presets.huggingface_writer import save_huggingface
from tests.support.models import shared_extractor, shared_model

_SIZES = {"max_seq_length": 24, "max_query_length": 8}


@pytest.fixture
def copied(tmp_path):
  """A copy of a model directory."""
  return shutil.copytree(shared_model(), tmp_path / "model")


def _change_task(directory, **changes):
  path = directory / "task.json"
  task = json.loads(path.read_text())
  task["config"] |= changes
  path.write_text(json.dumps(task))


@pytest.mark.large
@pytest.mark.parametrize("kind", [SpanExtractor, BioExtractor])
def test_the_base_class_loads_the_class_of_the_saved_head(kind):
  other = {SpanExtractor: BioExtractor, BioExtractor: SpanExtractor}[kind]
  directory = shared_model(kind=kind)
  for base in (Extractor, kind, bert_span.Extractor):
    assert type(base.from_preset(directory)) is kind
  assert not issubclass(kind, other)
  with pytest.raises(ValueError, match=f"{directory}.*{kind.__name__}"):
    other.from_preset(directory)

  class Own(kind):
    """A class with the head of another one loads its models."""

  assert type(Own.from_preset(directory)) is Own


def test_given_options_replace_the_saved_ones():
  directory = shared_model()
  windows, decoder = WindowOptions(24, 4, 6), DecoderOptions(n_best_size=3)
  loaded = SpanExtractor.from_preset(directory, windows, decoder)
  assert loaded.window_options == windows
  assert loaded.decoder_options == decoder
  loaded = SpanExtractor.from_preset(directory, doc_stride=3, n_best_size=2)
  assert loaded.window_options == WindowOptions(32, 3, 8)
  assert loaded.decoder_options == DecoderOptions(n_best_size=2)
  assert not loaded.preprocessor.sliding_windows.pad_to_max
  loaded = SpanExtractor.from_preset(directory, fixed_length=True)
  assert loaded.preprocessor.sliding_windows.pad_to_max
  with pytest.raises(ValueError, match=r"stride.*doc_stride"):
    SpanExtractor.from_preset(directory, stride=3)
  with pytest.raises(ValueError, match="BioDecoderOptions"):
    BioExtractor.from_preset(
      shared_model(kind=BioExtractor), decoder_options=decoder
    )


def test_a_saved_option_that_does_not_fit_is_named_with_its_file(copied):
  _change_task(copied, decoder_options={"max_answer_length": 10**12})
  with pytest.raises(
    ValueError, match=r"task\.json.*max_answer_length.*10{12}"
  ):
    SpanExtractor.from_preset(copied)
  _change_task(copied, decoder_options={"beam": 3})
  with pytest.raises(ValueError, match=r"task\.json.*beam"):
    SpanExtractor.from_preset(copied)
  _change_task(copied, head_name="pointer")
  with pytest.raises(ValueError, match=r"task\.json.*'pointer'.*'bio'"):
    SpanExtractor.from_preset(copied)


def test_a_file_that_is_missing_is_named(copied):
  (copied / "assets/tokenizer/vocabulary.txt").unlink()
  with pytest.raises(ValueError, match=r"vocab\.txt"):
    SpanExtractor.from_preset(copied, verify=False)
  (copied / "task.weights.h5").unlink()
  with pytest.raises(ValueError, match=r"task\.weights\.h5"):
    SpanExtractor.from_preset(copied, verify=False)


@pytest.mark.parametrize("preset", ["", None])
def test_a_preset_must_be_named(preset):
  with pytest.raises(ValueError, match="preset"):
    Extractor.from_preset(preset)


def test_an_encoder_gets_a_new_head_and_the_log_says_so(copied, capsys):
  source = EncoderSource(preset=str(copied))
  assert SpanExtractor.from_preset(source).head_is_trained
  capsys.readouterr()
  names = ("task.json", "task.weights.h5", "preprocessor.json")
  for path in (*names, "checksums.json"):
    (copied / path).unlink()
  for base, kind in (
    (Extractor, SpanExtractor),
    (BioExtractor, BioExtractor),
  ):
    loaded = base.from_preset(copied, max_seq_length=24, max_query_length=8)
    assert type(loaded) is kind and not loaded.head_is_trained
    (line,) = capsys.readouterr().err.splitlines()
    assert str(copied) in line and kind.head_name in line
  assert loaded.window_options == WindowOptions(24, 128, 8)
  assert loaded.decoder_options == BioDecoderOptions()


@pytest.mark.large
def test_a_model_that_may_know_no_answer_always_answers_and_says_so(
  tmp_path, capsys
):
  """Files of transformers do not say whether it was trained on SQuAD 2.0."""
  paths = [tmp_path / name for name in ("tiny-squad2", "tiny-squad")]
  for path in paths:
    save_huggingface(shared_extractor(), path)
  for path in paths:
    loaded = SpanExtractor.from_preset(path, **_SIZES)
    assert not loaded.decoder_options.version_2_with_negative
    (line,) = capsys.readouterr().err.splitlines()
    assert str(path) in line and "version_2_with_negative=True" in line
    assert ("SQuAD 2.0" in line) == path.name.endswith("2")
    # The options of a model that has logged it decide for its copies.
    SpanExtractor.from_preset(path, None, loaded.decoder_options, **_SIZES)
    for options in (
      {"version_2_with_negative": True},
      {"version_2_with_negative": False},
      {"null_score_diff_threshold": -1.0},
    ):
      SpanExtractor.from_preset(path, **options, **_SIZES)
      decoder = DecoderOptions(**options)
      SpanExtractor.from_preset(path, None, decoder, **_SIZES)
  SpanExtractor.from_preset(shared_model())  # Its files say it.
  assert not capsys.readouterr().err


def test_heads_are_found_by_their_names():
  classes = extractor_classes()
  assert classes["span"] is SpanExtractor and classes["bio"] is BioExtractor
  assert find_extractor_class("bio") is BioExtractor
  # Each module that is named after a head has its class.
  assert [classes[head].head_name for head in HEADS] == [*HEADS]
  with pytest.raises(ValueError, match=r"a\.json.*'pointer'.*'span'"):
    find_extractor_class("pointer", "a.json")
