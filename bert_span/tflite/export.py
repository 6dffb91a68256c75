"""Exports a trained model as a verified TFLite file with a report."""

import dataclasses
import hashlib
import os

import bert_span
from bert_span.presets.provenance import package_versions, training_run
from bert_span.presets.span_config import span_config
from bert_span.scoring.squad_scores import official_scores
from bert_span.squad.options import SHORT
from bert_span.squad.sample_examples import sample_examples
from bert_span.storage import atomic_file
from bert_span.storage.log import log_line, progress
from bert_span.tflite.conversion import check_size, convert_model
from bert_span.tflite.metadata import with_metadata
from bert_span.tflite.options import ModelInfo, TFLiteOptions
from bert_span.tflite.tflite_extractor import (
  TFLiteSpanExtractor,
  runtime_name,
)
from bert_span.tflite.verification import verify_file


def export_tflite(
  extractor, path, options=None, evaluated=None, source=None, proof=SHORT
):
  """Writes a TFLite file and its report, PATH.json and PATH.txt.

  Args:
    extractor: `SpanExtractor`.
    path: local file to write; an old one is replaced.
    options: `TFLiteOptions`; None uses the defaults.
    evaluated: `SquadFile` on which to score model and file, or None.
    source: directory of the model; the report describes its training run.
    proof: "short" or "full": on how many questions the file is compared with
      the model, see `sample_examples`.

  Returns:
    The report, a dict of JSON values.

  Raises:
    ValueError: the file fails a check. An old file is kept.
  """
  if not os.fspath(path).lower().endswith(".tflite"):
    raise ValueError(f"path must end with .tflite. Received: {path}")
  options = options or TFLiteOptions()
  samples = sample_examples(proof)
  log_line("Converting the model ...")
  training = training_run(source) if source else {}
  info = options.info or ModelInfo(version=bert_span.__version__)
  if not info.license:
    info = dataclasses.replace(info, license=_license(training))
  options = dataclasses.replace(options, info=info)
  content = tflite_content(extractor, options)
  path = os.path.realpath(path)
  name = os.path.basename(path)
  atomic_file.recover_directory(path)
  try:
    with atomic_file.unfinished_directory(
      path, lambda folder: os.replace(os.path.join(folder, name), path)
    ) as folder:
      unfinished = os.path.join(folder, name)
      with open(unfinished, "wb") as file:
        file.write(content)
      verified = verify_file(
        unfinished, extractor, samples, options.quantization
      )
      scores = None
      if evaluated is not None:
        log_line(f"Scoring model and file on {evaluated.path} ...")
        scores = _scores(unfinished, extractor, evaluated)
        check_f1_drop(scores, options.max_f1_drop)
  except ValueError as error:
    raise ValueError(f"{path} is not written. {error}") from error
  report = {
    "file": name,
    "sha256": hashlib.sha256(content).hexdigest(),
    "options": {
      **dataclasses.asdict(options),
      "head": extractor.head_name,
      "do_lower_case": extractor.preprocessor.tokenizer.do_lower_case,
      **dataclasses.asdict(extractor.window_options),
      **dataclasses.asdict(extractor.decoder_options),
    },
    "verification": verified,
    "evaluation": scores,
    "training": training,
    "versions": {**package_versions(), "runtime": runtime_name()},
  }
  atomic_file.write_json_atomically(f"{path}.json", report)
  atomic_file.write_text_atomically(f"{path}.txt", format_export_report(report))
  return report


def _license(training):
  """Returns the license in the head of a model card, "" without one."""
  licenses = (
    line.partition(":")[2].strip()
    for line in training.get("card", ())
    if line.startswith("license:")
  )
  return next(licenses, "")


def tflite_content(extractor, options):
  """Returns the bytes of a TFLite file that is not verified yet."""
  extractor.check_trained()
  check_size(extractor, options.quantization)
  config = span_config(extractor)
  config["tflite"] = {
    "max_length": extractor.window_options.max_seq_length,
    "dynamic_length": options.dynamic_length,
    "quantization": options.quantization,
  }
  return with_metadata(
    convert_model(extractor, options),
    options.info or ModelInfo(version=bert_span.__version__),
    extractor.preprocessor.tokenizer.full_vocabulary,
    config,
    extractor.logits_descriptions,
  )


def check_f1_drop(scores, max_f1_drop):
  """Raises ValueError if f1_drop, in points, exceeds max_f1_drop or is NaN."""
  if max_f1_drop is not None and not scores["f1_drop"] <= max_f1_drop:
    raise ValueError(
      f"Its F1 is {scores['f1_drop']:.2f} points below the model's on "
      f"{scores['num_questions']} questions, above max_f1_drop={max_f1_drop}."
    )


def format_export_report(report):
  """Returns the report of `export_tflite` as a short text."""
  options, checked = report["options"], report["verification"]
  scores = report["evaluation"]
  length = f"{options['max_seq_length']} WordPieces"
  rows = {
    "head": options["head"],
    "quantization": options["quantization"],
    "length": f"{'1 to ' if options['dynamic_length'] else ''}{length}",
    "size": f"{checked['size_bytes'] / 1e6:.1f} MB",
    "peak arena": f"{checked['peak_arena_bytes'] / 1e6:.1f} MB at {length}, "
    "TFLite's own kernels",
    "equal answers": f"{checked['num_equal']} of {checked['num_questions']} "
    "sample questions",
    "largest difference of their scores": (
      f"{checked['largest_difference']:.2g}"
    ),
  }
  if not scores:
    rows["F1"] = "not measured (no evaluate_file)"
  else:
    rows[f"F1 on {scores['data']}"] = (
      f"{scores['file']['f1']:.2f}, the model {scores['model']['f1']:.2f} "
      f"({scores['num_questions']} questions, {scores['equal_answers']} equal "
      "answers)"
    )
  rows["ops"] = (
    f"{sum(checked['ops'].values())} of {len(checked['ops'])} kinds, listed in "
    f"{report['file']}.json"
  )
  rows["made with"] = ", ".join(
    f"{name} {version}" for name, version in report["versions"].items()
  )
  lines = [f"{title + ':':16} {text}" for title, text in rows.items()]
  head = f"{report['file']}, sha256 {report['sha256']}"
  return "\n".join([head, "", *lines, ""])


def _scores(path, extractor, evaluated):
  """Scores model and file on the same questions by the official metrics."""
  candidate = TFLiteSpanExtractor(
    path, extractor.window_options, extractor.decoder_options
  )
  examples = list(evaluated.examples)
  model_texts, file_texts = (
    {
      p.qas_id: p.answer.text
      for p in progress(each.predictions(examples), len(examples))
    }
    for each in (extractor, candidate)
  )
  model = official_scores(evaluated, model_texts)
  file = official_scores(evaluated, file_texts)
  num_equal = sum(model_texts[name] == file_texts[name] for name in file_texts)
  return {
    "data": os.path.basename(evaluated.path),
    "num_questions": len(file_texts),
    "equal_answers": num_equal,
    "model": model,
    "file": file,
    "f1_drop": model["f1"] - file["f1"],
  }
