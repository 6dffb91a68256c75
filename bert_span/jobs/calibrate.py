"""What calibrate does: answers, fits, measures."""

import dataclasses
import functools
import json
import os
import sys
from typing import NamedTuple

import numpy as np

from bert_span.answers.decoding.options import FITTED, DecoderOptions
from bert_span.answers.scoring import calibration, reliability, squad_scores
from bert_span.answers.window_logits import DECODED_COLUMNS, WindowDecoder
from bert_span.extractors.extractor import extractor_class
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.options.fields import options_from_json
from bert_span.presets import span_config
from bert_span.reporting.score_table import format_calibration
from bert_span.squad.reader import SquadFile, read_squad
from bert_span.storage.atomic_file import write_files
from bert_span.storage.log import log_line

# Of 300, the share of right answers is known to 0.06 or better (95 %).
_FEW_QUESTIONS = 300
_STAGES = ("before", "after")
_decoder = functools.lru_cache(maxsize=2)(WindowDecoder)  # Tracing is slow.
_TARGETS = ("target_precision", "target_answered")


class ScoredQuestions(NamedTuple):
  """Labelled questions, the logits of their windows, and their answers."""

  squad_file: SquadFile
  batches: list  # `WindowLogits`, of all questions in order
  predictions: list  # `Prediction`, with the model's original options

  def decode(self, options):
    """List of `Prediction` with other `DecoderOptions`, of the same logits."""
    decode = _decoder(SpanExtractor, options)
    return [p for batch in self.batches for p in decode(batch)]


def calibrate(options, predict_file, predict_batch_size=8, verify=True):
  """Fits probabilities and a null threshold, and writes them into a model.

  `options` are `CalibrationOptions`.
  """
  before = _decoder_options(options)
  paths = {"fitted": predict_file, "evaluated": options.evaluate_file}
  files = {name: read_squad(path) for name, path in paths.items() if path}
  extractor = SpanExtractor.from_preset(
    options.model, decoder_options=before, verify=verify
  )
  targets = {name: getattr(options, name) for name in _TARGETS}
  figures = {}
  for name, squad_file in files.items():
    scored = score_questions(extractor, squad_file, predict_batch_size)
    if name == "fitted":
      fitted = fitted_options(scored, before, **targets)
    figures[name] = calibration_figures(scored, fitted)
  values = {name: getattr(fitted, name) for name in FITTED}
  for name in FITTED if fitted.version_2_with_negative else FITTED[:2]:
    print(f"{name} {values[name]:.4f}")
  values["version_2_with_negative"] = fitted.version_2_with_negative
  for name, part in figures.items():
    print(f"\n{name} on {part['data']}, {part['num_questions']} questions")
    print(format_calibration(*(part[stage] for stage in _STAGES)))
  text = json.dumps(
    values | targets | figures, indent=4, default=lambda x: x.as_dict()
  )
  contents = {"calibration.json": text + "\n"}
  if options.plots:
    from bert_span.reporting import calibration_plots  # matplotlib, an extra

    # Of the questions that were not fitted, if there are any.
    part = figures.get("evaluated", figures["fitted"])
    for name in ("reliability", "risk_coverage"):
      draw = getattr(calibration_plots, f"{name}_figure")
      figure = draw({s: part[s][name] for s in _STAGES})
      contents[f"{name}.png"] = calibration_plots.png_bytes(figure)
  folder = options.output_dir or os.path.join(options.model, "calibration")
  paths, _ = write_files(folder, contents)
  # Last of all: a model is changed only when everything else has worked.
  span_config.update_decoder(options.model, values)
  print(f"Written: {', '.join(paths)}", file=sys.stderr)


def score_questions(extractor, squad_file, batch_size):
  """The `ScoredQuestions` of a `SquadFile`; a ValueError without labels."""
  path, examples, batches = squad_file.path, squad_file.examples, []
  unanswerable = [e.qas_id for e in examples if not e.answers]
  if len(unanswerable) == len(examples):
    raise ValueError(f"{path}: no question has an answer to calibrate on.")
  if unanswerable and not extractor.decoder_options.version_2_with_negative:
    raise ValueError(
      f"{path}: {len(unanswerable)} of {len(examples)} questions have no "
      f"answer (first: {unanswerable[0]}), and the model never says so. Give "
      "--version_2_with_negative, or remove these questions."
    )

  predictions = []
  for logits in extractor.window_logits(examples, batch_size):
    # Other columns do not stay in memory.
    windows = {name: logits.windows[name] for name in DECODED_COLUMNS}
    batches.append(logits._replace(windows=windows))
    predictions += extractor.decode(logits)
  return ScoredQuestions(squad_file, batches, predictions)


def fitted_options(
  scored, options, target_precision=None, target_answered=None
):
  """Decoding options with fitted probabilities and null threshold."""
  examples = scored.squad_file.examples
  if len(examples) < _FEW_QUESTIONS:
    log_line(
      f"{scored.squad_file.path}: {len(examples)} questions. Fitted to fewer "
      f"than {_FEW_QUESTIONS}, probabilities and threshold may be far off for "
      "others: label more."
    )
  best_spans = {
    p.qas_id: next((e.text for e in p.n_best if e.text), "")
    for p in scored.predictions
  }
  null_odds = {p.qas_id: p.answer.null_odds for p in scored.predictions}
  threshold = options.null_score_diff_threshold
  if target_precision is not None:
    threshold = calibration.precision_threshold(
      examples, best_spans, null_odds, target_precision
    )
  elif target_answered is not None:
    threshold = calibration.answered_threshold(
      examples, null_odds, target_answered
    )
  # If every question has an answer, any threshold that answers all is best.
  elif options.version_2_with_negative and not all(e.answers for e in examples):
    threshold = calibration.best_f1_threshold(examples, best_spans, null_odds)
  options = dataclasses.replace(options, null_score_diff_threshold=threshold)
  predictions = scored.decode(options)
  correct = _correct_answers(examples, predictions)
  temperature = options.temperature or 1.0
  if correct.all() or not correct.any():
    which = "right" if correct.all() else "wrong"
    log_line(
      f"All {len(correct)} answers are {which}, which fits no temperature: it "
      f"is {temperature:g}, and only the shift is fitted."
    )
  temperature, shift = calibration.fit_probabilities(
    calibration.answer_confidence(scored.batches, predictions, options),
    correct,
    temperature,
  )
  return dataclasses.replace(
    options, temperature=temperature, log_odds_shift=shift
  )


def _correct_answers(examples, predictions):
  """1 for exact matches, else 0: float64 [questions]."""
  score = functools.partial(squad_scores.question_scores, version_2=True)
  pairs = zip(examples, predictions, strict=True)
  return np.array([score(e, p.answer.text)[0] for e, p in pairs], np.float64)


def calibration_figures(scored, options):
  """How far probabilities can be trusted, before and after fitting."""
  squad_file = scored.squad_file
  figures = {
    "data": os.path.basename(squad_file.path),
    "num_questions": len(squad_file.examples),
  }
  decoded = (scored.predictions, scored.decode(options))
  for stage, predictions in zip(_STAGES, decoded, strict=True):
    confidence = np.array([p.answer.probability for p in predictions])
    correct = _correct_answers(squad_file.examples, predictions)
    by_width = reliability.equal_width_bins(confidence, correct)
    by_mass = reliability.equal_mass_bins(confidence, correct)
    texts = {p.qas_id: p.answer.text for p in predictions}
    figures[stage] = {
      **squad_scores.official_scores(squad_file, texts),
      "num_answered": sum(map(bool, texts.values())),
      "expected_calibration_error": by_width.calibration_error,
      "equal_mass_calibration_error": by_mass.calibration_error,
      "reliability": by_width,
      "equal_mass_reliability": by_mass,
      "risk_coverage": reliability.risk_coverage(confidence, correct),
    }
  return figures


def _decoder_options(options):
  """The `DecoderOptions` of a model that can be calibrated."""
  model, version_2 = options.model, options.version_2_with_negative
  if span_config.find_embedded_model(model) != model:
    raise ValueError(
      f"--model={model} comes with the package and is not changed. Give a "
      f'copy: SpanExtractor.from_preset("{model}").save_to_preset(DIR).'
    )
  saved = span_config.read_span_config(model)
  if saved is None:
    raise ValueError(
      f"--model={model} has no {span_config.CONFIG_FILE}. Save it by "
      "SpanExtractor.save_to_preset."
    )
  if not extractor_class(saved["head"]).has_joint_probability:
    raise ValueError(
      f"--model={model} has a {saved['head']} head. Only the probabilities of "
      "a span head have a temperature."
    )
  path = os.path.join(model, span_config.CONFIG_FILE)
  decoder = options_from_json(
    DecoderOptions, saved["decoder"], f"{path}, decoder"
  )
  if version_2 is not None:
    decoder = dataclasses.replace(decoder, version_2_with_negative=version_2)
  given = [f"--{t}" for t in _TARGETS if getattr(options, t) is not None]
  if len(given) > 1:
    raise ValueError(f"Give one of {' and '.join(given)}, not both.")
  if given and not decoder.version_2_with_negative:
    raise ValueError(f"{given[0]} needs --version_2_with_negative.")
  return decoder
