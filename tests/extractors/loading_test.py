"""Options that a model has saved, where a program's options give none."""

import dataclasses
import json
import shutil

import pytest

from bert_span import DecoderOptions, SpanExtractor, WindowOptions
from bert_span.answers.decoding.options import BioDecoderOptions
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.loading import (
  check_n_best,
  check_no_span,
  extractor_class_of,
  load_extractor,
  merged_options,
  options_of_other_heads,
  saved_config,
)
from bert_span.extractors.options import AnswerOptions, ModelOptions
from bert_span.options.fields import CheckedOptions, option
from bert_span.presets.huggingface_writer import save_huggingface
from tests.support.models import shared_extractor, shared_model
from tests.support.programs import run_here

_DECODE = "--predict_file=x --output_dir=y --logits_file=z"


@pytest.fixture
def wrong_model(tmp_path):
  """A function that saves a model with changed decoding options."""

  def write(**changes):
    model = shutil.copytree(shared_model(), tmp_path / "model")
    task = json.loads((model / "task.json").read_text())
    task["config"]["decoder_options"] |= changes
    (model / "task.json").write_text(json.dumps(task))
    return model

  return write


@pytest.mark.parametrize(
  ("name", "flags"),
  [
    ("ask", "--question=Who? --context=Anna. --model"),
    ("decode", f"{_DECODE} --model"),
    ("calibrate", "--predict_file=x --noplots --model"),
    ("lint_squad", "x.json --preset"),
    ("run_squad", "--do_predict --predict_file=x --output_dir=y --preset"),
  ],
)
def test_a_wrong_saved_option_is_one_line_with_its_file(
  wrong_model, name, flags
):
  model = wrong_model(n_best_size=0)
  run = run_here(f"bert_span.{name}", *f"{flags}={model}".split())
  assert run.returncode == 1
  (line,) = run.stderr.splitlines()[-1:]
  assert f"{model}/task.json, decoder" in line
  assert "n_best_size" in line and "0" in line.partition("n_best_size")[2]


@pytest.mark.parametrize(
  ("changes", "message"),
  [
    ({"temperature": "hot"}, r"task\.json, decoder.*temperature .*'hot'"),
    ({"n_best_sise": 20}, r"task\.json, decoder.*n_best_sise"),
  ],
)
def test_a_saved_option_of_another_type_or_name_is_refused(
  wrong_model, changes, message
):
  model = wrong_model(**changes)
  with pytest.raises(ValueError, match=message):
    saved_config(str(model))
  with pytest.raises(ValueError, match=message):
    load_extractor(ModelOptions(model=str(model)))


def test_given_options_replace_saved_ones():
  model = str(shared_model())
  options = ModelOptions(model=model, doc_stride=4, n_best_size=3)
  expected = [WindowOptions(32, 4, 8), DecoderOptions(n_best_size=3)]
  assert merged_options(options, saved_config(model), model) == expected
  extractor = load_extractor(options, fixed_length=True)
  assert type(extractor) is SpanExtractor
  assert [extractor.window_options, extractor.decoder_options] == expected
  assert extractor.preprocessor.sliding_windows.pad_to_max
  # Without a saved model, all others are the defaults.
  options = AnswerOptions(head="bio", threshold=0.25)
  assert merged_options(options, {}, "new") == [
    WindowOptions(),
    BioDecoderOptions(threshold=0.25),
  ]
  assert saved_config(None) == saved_config("") == {}


def test_programs_say_once_that_a_model_always_answers(tmp_path, capsys):
  """Of a model of transformers, unless an option says so or the opposite."""
  save_huggingface(shared_extractor(), tmp_path / "model")
  sizes = {"max_seq_length": 24, "max_query_length": 8}
  for given, count in (
    ({}, 1),
    ({"version_2_with_negative": False}, 0),
    ({"null_score_diff_threshold": -1.0}, 0),
  ):
    load_extractor(ModelOptions(model=f"{tmp_path}/model", **sizes, **given))
    error = capsys.readouterr().err
    assert error.count("version_2_with_negative=True") == count


def test_the_head_is_the_models_or_that_of_the_options():
  assert extractor_class_of(AnswerOptions()) is SpanExtractor
  assert extractor_class_of(AnswerOptions(head="bio")) is BioExtractor
  assert extractor_class_of(AnswerOptions(), "bio") is BioExtractor
  assert extractor_class_of(AnswerOptions(head="bio"), "bio") is BioExtractor
  with pytest.raises(ValueError, match=r"head=span.* bio head"):
    extractor_class_of(AnswerOptions(head="span"), "bio")


def test_options_of_another_head_are_refused_with_its_name():
  options = AnswerOptions(n_best_size=3, threshold=0.25, doc_stride=9)
  assert [*options_of_other_heads(options, SpanExtractor)] == ["threshold"]
  unfit = options_of_other_heads(options, BioExtractor)
  assert unfit == {"n_best_size": "span"}
  with pytest.raises(ValueError, match=r"`threshold`.* span head"):
    extractor_class_of(options)


@dataclasses.dataclass(frozen=True)
class _Options(CheckedOptions):
  """Two options of programs."""

  n_best: int = option(5, "Answers to print.")
  no_span: str = option("no_answer", "The answer without a span.")


def test_more_answers_than_are_kept_are_refused():
  options = _Options(n_best=3)
  check_n_best(options, DecoderOptions(n_best_size=3))
  check_n_best(options, BioDecoderOptions())  # It keeps all.
  check_n_best(_Options(), DecoderOptions(n_best_size=2))  # It was not given.
  with pytest.raises(ValueError, match=r"n_best=3 .*n_best_size=2"):
    check_n_best(options, DecoderOptions(n_best_size=2))


def test_no_span_is_an_option_of_span_heads():
  for head, value in ((SpanExtractor, "original"), (BioExtractor, "no_answer")):
    check_no_span(_Options(no_span=value), head)
  with pytest.raises(ValueError, match=r"no_span=original.*head=span"):
    check_no_span(_Options(no_span="original"), BioExtractor)
