"""The job of calibrate, and all that uses what it fitted."""

import contextlib
import io
import json
import math
import shutil

import numpy as np
import pytest

from bert_span import AnswerSpan, BioExtractor, SpanExtractor, SquadExample
from bert_span.ask import AskOptions
from bert_span.calibrate import CalibrateOptions
from bert_span.decode import DecodeOptions
from bert_span.jobs import ask, calibrate, decode, run_squad
from bert_span.presets.span_config import read_span_config
from bert_span.run_squad import RunSquadOptions
from bert_span.serving.signatures import ServedModel
from bert_span.squad.reader import read_squad
from tests.support.models import (
  CONTEXT,
  QUESTION,
  shared_extractor,
  shared_model,
  tiny_extractor,
)
from tests.support.models import ask as ask_served
from tests.support.squad import (
  read,
  spans,
  squad_content,
  write_squad_files,
)

pytestmark = pytest.mark.usefixtures("eager")
_WORDS = ("who", "when", "the", "mill", "built", "near", "river", "cafe")
_CONTEXTS = (
  CONTEXT,
  "The cafe near the river was built in 1895. Anna was in the mill.",
  f"Anna? {CONTEXT} The river was by the mill, the cafe near the mill.",
)


def _write_labelled(path, extractor, seed):
  """A SQuAD 2.0 file: the model's own best spans, none of every third."""
  rng, paragraphs = np.random.default_rng(seed), []
  questions = [" ".join(rng.choice(_WORDS, 3)) + "?" for _ in range(40)]
  examples = [
    SquadExample(f"q{i}", question, rng.choice(_CONTEXTS))
    for i, question in enumerate(questions)
  ]
  for i, p in enumerate(extractor.predictions(examples)):
    best = next(entry for entry in p.n_best if entry.text)
    qa = {"id": p.qas_id, "question": examples[i].question}
    qa["is_impossible"] = i % 3 == 0
    qa["answers"] = spans((best.text, best.char_start)) if i % 3 else []
    paragraphs.append({"context": examples[i].context, "qas": [qa]})
  data = {"version": "v2.0", "data": [{"paragraphs": paragraphs}]}
  path.write_text(json.dumps(data))
  return read_squad(path)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory, eager):
  """A folder with the model that was calibrated, and what was printed."""
  pytest.importorskip("matplotlib", reason="pip install -e '.[report]'")
  folder = tmp_path_factory.mktemp("calibrate")
  extractor = shared_extractor(version_2=True)
  shutil.copytree(shared_model(version_2=True), folder / "model")
  _write_labelled(folder / "dev.json", extractor, 5)
  _write_labelled(folder / "test.json", extractor, 6)
  printed = io.StringIO()
  with contextlib.redirect_stdout(printed):
    calibrate.calibrate(
      CalibrateOptions(
        model=folder / "model",
        predict_file=folder / "dev.json",
        evaluate_file=folder / "test.json",
      )
    )
  return folder, printed.getvalue()


@pytest.mark.large
def test_options_figures_and_plots_are_written(calibrated):
  folder, printed = calibrated
  output = folder / "model" / "calibration"
  report = read(output / "calibration.json")
  before = read_span_config(shared_model(version_2=True))
  after = read_span_config(folder / "model")
  names = ("temperature", "log_odds_shift", "null_score_diff_threshold")
  fitted = {name: report[name] for name in names}
  assert after == {**before, "decoder": {**before["decoder"], **fitted}}
  assert fitted["temperature"] > 0
  assert report["fitted"]["after"]["f1"] >= report["fitted"]["before"]["f1"]
  for name, data in (("fitted", "dev.json"), ("evaluated", "test.json")):
    part = report[name]
    assert (part["data"], part["num_questions"]) == (data, 40)
    for stage in ("before", "after"):
      error = part[stage]["expected_calibration_error"]
      assert part[stage]["reliability"]["calibration_error"] == error
      assert part[stage]["risk_coverage"]["coverage"][-1] == 1
      assert f"{error:.4f}" in printed
  for name in ("reliability.png", "risk_coverage.png"):
    assert (output / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.large
def test_a_model_in_memory_is_fitted_as_the_job_does(calibrated, tmp_path):
  folder, _ = calibrated
  examples = read_squad(folder / "dev.json").examples
  extractor = SpanExtractor.from_preset(shared_model(version_2=True))
  before = extractor.answer(QUESTION, CONTEXT)
  options = extractor.calibrate(examples, batch_size=8)
  of_job = SpanExtractor.from_preset(folder / "model").decoder_options
  assert extractor.decoder_options == options == of_job
  after = extractor.answer(QUESTION, CONTEXT)
  assert abs(after.probability - before.probability) > 1e-3
  extractor.save_to_preset(tmp_path / "copy")
  copy = SpanExtractor.from_preset(tmp_path / "copy")
  assert copy.decoder_options == options
  half = extractor.calibrate(examples, target_answered=0.5)
  assert half.null_score_diff_threshold < options.null_score_diff_threshold
  predictions = extractor.predictions(examples)
  pairs = zip(examples, predictions, strict=True)
  answered = [bool(p.answer.text) for e, p in pairs if e.answers]
  assert 0.5 <= np.mean(answered) < 1


@pytest.mark.large
def test_all_that_answers_uses_what_was_fitted(calibrated, capsys):
  """tests/tflite has files with a temperature."""
  folder, _ = calibrated
  model, questions = folder / "model", folder / "test.json"
  examples = read_squad(questions).examples
  extractor = SpanExtractor.from_preset(model)
  expected = {p.qas_id: p for p in extractor.predictions(examples)}
  shutil.copytree(model, folder / "out" / "model", dirs_exist_ok=True)
  run_squad.run_squad(
    RunSquadOptions(
      do_predict=True,
      write_logits=True,
      max_seq_length=32,
      doc_stride=8,
      max_query_length=8,
      version_2_with_negative=True,
      predict_file=questions,
      output_dir=folder / "out",
    )
  )
  decode.decode(
    DecodeOptions(
      model=model,
      predict_file=questions,
      logits_file=(folder / "out" / "logits.npz",),
      output_dir=folder / "decoded",
    )
  )
  for output in ("out", "decoded"):
    n_best = read(folder / output / "nbest_predictions.json")
    texts = read(folder / output / "predictions.json")
    for qas_id, prediction in expected.items():
      assert texts[qas_id] == prediction.answer.text
      found = [entry["probability"] for entry in n_best[qas_id]]
      probabilities = [entry.probability for entry in prediction.n_best]
      np.testing.assert_allclose(found, probabilities, atol=1e-5)
  example = examples[1]
  question, context = example.question, example.context
  ask.ask(
    AskOptions(model=model, question=(question,), context=context, json=True)
  )
  asked = json.loads(capsys.readouterr().out)["probability"]
  served = ask_served(ServedModel(extractor), [question], [context])
  right = expected[example.qas_id].answer.probability
  found = [asked, *served["probability"]]
  assert found == pytest.approx([right] * 2, abs=1e-5)
  plain = shared_extractor(version_2=True).answer(question, context)
  assert abs(plain.probability - right) > 1e-3


@pytest.mark.parametrize("is_right", [True, False])
def test_one_question_is_fitted_with_a_warning(tmp_path, capsys, is_right):
  model, dev = tmp_path / "model", tmp_path / "dev.json"
  shutil.copytree(shared_model(), model)
  text = shared_extractor().answer(QUESTION, CONTEXT).text
  start = CONTEXT.index(text)
  answer = (text, start) if is_right else (CONTEXT, 0)
  qa = {"id": "q", "question": QUESTION, "answers": spans(answer)}
  dev.write_text(json.dumps(squad_content(CONTEXT, qa)))
  calibrate.calibrate(
    CalibrateOptions(model=model, predict_file=dev, plots=False)
  )
  error = capsys.readouterr().err
  assert "1 questions" in error and "300" in error
  report = read(model / "calibration" / "calibration.json")
  assert report["temperature"] == 1
  found = SpanExtractor.from_preset(model).answer(QUESTION, CONTEXT)
  expected = 2 / 3 if is_right else 1 / 3
  assert found.probability == pytest.approx(expected, abs=1e-3)


def test_mistakes_are_named_and_leave_the_model(tmp_path):
  model, bare = tmp_path / "model", tmp_path / "bare.json"
  bio = shared_model(kind=BioExtractor)
  shutil.copytree(shared_model(), model)
  config = (model / "task.json").read_bytes()
  unlabelled = squad_content(CONTEXT, {"id": "q", "question": "Who?"})
  bare.write_text(json.dumps(unlabelled))
  for path, message in (
    (model, r"bare\.json"),
    (bio, f"bio head.*{bio}"),
    (tmp_path, r"task\.json"),
  ):
    with pytest.raises(ValueError, match=message):
      calibrate.calibrate(
        CalibrateOptions(model=path, predict_file=bare, plots=False)
      )
  assert (model / "task.json").read_bytes() == config
  assert not (model / "calibration").exists()


def test_what_cannot_be_calibrated_is_refused_and_not_changed():
  extractor, new = shared_extractor(version_2=True), tiny_extractor()
  new.head_is_trained = False
  bio = shared_extractor(kind=BioExtractor)
  labelled = [SquadExample("q", QUESTION, CONTEXT, (AnswerSpan("mill", 4),))]
  unlabelled = [SquadExample("r", QUESTION, CONTEXT)]
  impossible = [SquadExample("s", QUESTION, CONTEXT, is_impossible=True)]
  for model, examples, targets, message in (
    (bio, labelled, {}, "bio head"),
    (new, labelled, {}, "head is new"),
    (extractor, unlabelled, {}, "examples: no question"),
    (extractor, [], {}, "no question"),
    (extractor, impossible, {"target_answered": 0.9}, "target_answered"),
    (extractor, labelled * 2, {}, "questions 0 and 1 .*'q'"),
    (shared_extractor(), labelled + unlabelled, {}, "1 of 2 .*first: r"),
    (extractor, labelled, {"target_answered": 1.5}, "target_answered .*1.5"),
    (extractor, labelled, {"target_precision": math.nan}, "precision .*nan"),
    (shared_extractor(), labelled, {"target_answered": 1}, "version_2_with"),
    (extractor, labelled, dict.fromkeys(calibrate._TARGETS, 1.0), "not both"),
  ):
    before = model.decoder_options
    with pytest.raises(ValueError, match=message):
      model.calibrate(examples, **targets)
    assert model.decoder_options is before


def test_a_model_of_a_hub_is_not_changed(hub_model, model_hub, tmp_path):
  files = model_hub.files("us/tiny")
  write_squad_files(tmp_path)
  options = CalibrateOptions(
    model=hub_model, predict_file=tmp_path / "v1.json", plots=False
  )
  with pytest.raises(ValueError, match=f"{hub_model}.*save_to_preset"):
    calibrate.calibrate(options)
  assert model_hub.files("us/tiny") == files


def test_unanswerable_questions_alone_teach_to_refuse():
  extractor = tiny_extractor(version_2=True)
  examples = [
    SquadExample(str(i), QUESTION, context, is_impossible=True)
    for i, context in enumerate((CONTEXT, 3 * CONTEXT))
  ]
  options = extractor.calibrate(examples)
  found = list(extractor.predictions(examples))
  assert [p.answer.text for p in found] == ["", ""]
  odds = min(p.answer.null_odds for p in found)
  assert options.null_score_diff_threshold < odds
  # Both are right: the rule of succession gives 3 / 4.
  mean = sum(p.answer.probability for p in found) / 2
  assert mean == pytest.approx(3 / 4, abs=0.01)
