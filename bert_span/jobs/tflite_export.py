"""Exports a trained model to a checked TFLite file with a report."""

import dataclasses
import hashlib
import os
import sys

import bert_span
from bert_span.answers.scoring.squad_scores import official_scores
from bert_span.extractor import SpanExtractor
from bert_span.jobs.saved_model_export import sample_examples
from bert_span.presets.span_config import span_config
from bert_span.serving.assets_extra import package_versions, training_run
from bert_span.squad.reader import read_squad
from bert_span.storage.atomic_file import (
  recover_directory,
  unfinished_directory,
  write_json_atomically,
  write_text_atomically,
)
from bert_span.tflite.conversion import convert
from bert_span.tflite.metadata import with_metadata
from bert_span.tflite.options import ModelInfo, TFLiteOptions
from bert_span.tflite.port_vectors import EDGE_EXAMPLES, write_port_vectors
from bert_span.tflite.tflite_extractor import open_tflite, runtime_name
from bert_span.tflite.verification import compare_tokenizers, verify

_MEGABYTE = 1e6


def export_model(
  model,
  path,
  options=None,
  window_options=None,
  decoder_options=None,
  evaluate_file=None,
  verify=True,
  test_vectors=None,
):
  """Exports a model directory and prints the report.

  model, window_options, decoder_options and verify are those of
  `SpanExtractor.from_preset`, evaluate_file is a SQuAD file to score model and
  file on, or None, and test_vectors a file to write for ports, or None.
  """
  evaluated = read_squad(evaluate_file) if evaluate_file else None
  extractor = SpanExtractor.from_preset(
    model, window_options, decoder_options, verify=verify
  )
  report = export_tflite(extractor, path, options, evaluated, model)
  print(report_text(report), end="")
  print(f"Written: {path}", file=sys.stderr)
  if test_vectors:
    # Half of the sample, and with it 100 vectors.
    examples = [*EDGE_EXAMPLES, *sample_examples()[::2]]
    write_port_vectors(path, examples, test_vectors)
    print(f"Written: {test_vectors}", file=sys.stderr)


def export_tflite(extractor, path, options=None, evaluated=None, source=None):
  """Writes a TFLite file and its report, PATH.json and PATH.txt.

  Args:
    extractor: the `SpanExtractor`, with the options that the file will have.
    path: local file, ending with .tflite; an old one is replaced.
    options: `TFLiteOptions`.
    evaluated: `SquadFile` that model and file are scored on, or None.
    source: directory of the model, whose training the report describes, or
      None.

  Returns:
    The report, a dict.

  Raises:
    ValueError: the file fails a check. It is not written, and an old one
      remains with its report.
  """
  options = options or TFLiteOptions()
  content = tflite_content(extractor, options)
  samples = sample_examples()
  path = os.path.realpath(path)

  def publish(folder):
    os.replace(os.path.join(folder, os.path.basename(path)), path)

  recover_directory(path)
  try:
    with unfinished_directory(path, publish) as folder:
      unfinished = os.path.join(folder, os.path.basename(path))
      with open(unfinished, "wb") as file:
        file.write(content)
      verified = verify(unfinished, extractor, samples, options.quantization)
      scores = None
      if evaluated is not None:
        scores = _scores(unfinished, extractor, evaluated)
        check_f1_drop(scores, options.max_f1_drop)
  except ValueError as error:
    raise ValueError(f"{path} is not written. {error}") from error
  report = {
    "file": os.path.basename(path),
    "sha256": hashlib.sha256(content).hexdigest(),
    "options": {
      **dataclasses.asdict(options),
      "head": extractor.head.name,
      "do_lower_case": extractor.preprocessor.tokenizer.do_lower_case,
      **dataclasses.asdict(extractor.window_options),
      **dataclasses.asdict(extractor.decoder_options),
    },
    "verification": dataclasses.asdict(verified),
    "tokenizer": _tokenizer_agreement(extractor, options, samples, evaluated),
    "evaluation": scores,
    "training": training_run(source) if source else {},
    "versions": {
      **package_versions(),
      "runtime": runtime_name(options.with_tokenizer),
    },
  }
  write_json_atomically(f"{path}.json", report)
  write_text_atomically(f"{path}.txt", report_text(report))
  return report


def tflite_content(extractor, options):
  """Returns the bytes of a TFLite file, which is not checked yet."""
  windows, served = extractor.window_options, extractor.head.served
  tokenizer = extractor.preprocessor.tokenizer
  config = span_config(
    tokenizer.do_lower_case,
    windows,
    extractor.decoder_options,
    extractor.head.name,
  )
  config["tflite"] = {
    "max_length": windows.max_seq_length,
    "dynamic_length": options.dynamic_length,
    "quantization": options.quantization,
    "with_tokenizer": options.with_tokenizer,
  }
  return with_metadata(
    convert(extractor, options),
    options.info or ModelInfo(version=bert_span.__version__),
    tokenizer.vocabulary,
    config,
    {**served.guide, **served.logits_guide},
  )


def check_f1_drop(scores, max_f1_drop):
  """Raises ValueError if f1_drop, in points, exceeds max_f1_drop or is NaN."""
  if max_f1_drop is not None and not scores["f1_drop"] <= max_f1_drop:
    raise ValueError(
      f"Its F1 is {scores['f1_drop']:.2f} points below that of the model on "
      f"{scores['num_questions']} questions. At most {max_f1_drop:.2f} points "
      "are allowed (--max_f1_drop)."
    )


def report_text(report):
  """Returns the report of `export_tflite` as a short text."""
  options, checked = report["options"], report["verification"]
  tokenizer, scores = report["tokenizer"], report["evaluation"]
  length = options["max_seq_length"]
  sample = (
    "on a sample passage"
    if options["with_tokenizer"]
    else f"at {length} WordPieces"
  )
  lines = [
    f"{report['file']}, sha256 {report['sha256']}",
    "",
    f"head:            {options['head']}",
    f"quantization:    {options['quantization']}",
    f"length:          {'1 to ' if options['dynamic_length'] else ''}{length} "
    "WordPieces",
    f"size:            {checked['size_bytes'] / _MEGABYTE:.1f} MB",
    f"peak arena:      {checked['peak_arena_bytes'] / _MEGABYTE:.1f} MB "
    f"{sample}, TFLite's own kernels",
    f"equal answers:   {checked['num_equal']} of {checked['num_questions']} "
    "sample questions",
    f"largest difference of their scores: {checked['largest_difference']:.2g}",
  ]
  if tokenizer:
    different = tokenizer["capital_sigma"] + tokenizer["other"]
    lines.append(
      f"tokenizer inside: {different} of {tokenizer['num_texts']} texts "
      f"({tokenizer['num_tokens']} WordPieces) differ from bert_span's: "
      f"{tokenizer['capital_sigma']} by a capital sigma at the end of a word, "
      f"{tokenizer['other']} otherwise"
    )
  if scores:
    lines.append(
      f"F1 on {scores['data']}: {scores['file']['f1']:.2f}, the model "
      f"{scores['model']['f1']:.2f} ({scores['num_questions']} questions, "
      f"{scores['equal_answers']} equal answers)"
    )
  else:
    lines.append("F1:              not measured (--evaluate_file)")
  for title, values in (
    ("ops:             ", checked["ops"]),
    ("made with:       ", report["versions"]),
  ):
    pairs = (f"{name} {value}" for name, value in values.items())
    lines.append(title + ", ".join(pairs))
  return "\n".join(lines) + "\n"


def _tokenizer_agreement(extractor, options, samples, evaluated):
  """Differences of the tokenizer in the file; None if there is none."""
  if not options.with_tokenizer:
    return None
  examples = [*samples, *(evaluated.examples if evaluated else ())]
  agreement = compare_tokenizers(
    extractor.preprocessor.tokenizer,
    (text for e in examples for text in (e.question, e.context)),
  )
  return dataclasses.asdict(agreement)


def _scores(path, extractor, evaluated):
  """The official metrics of model and file on the same questions."""
  examples = list(evaluated.examples)
  candidate = open_tflite(
    path,
    extractor.window_options,
    extractor.decoder_options,
    head=extractor.head,
  )
  of_model, of_file = (
    {p.qas_id: p.text for p in answerer.predict(examples)}
    for answerer in (extractor, candidate)
  )
  model_scores = official_scores(evaluated, of_model)
  file_scores = official_scores(evaluated, of_file)
  return {
    "data": os.path.basename(evaluated.path),
    "num_questions": len(examples),
    "equal_answers": sum(of_model[name] == of_file[name] for name in of_file),
    "model": model_scores,
    "file": file_scores,
    "f1_drop": model_scores["f1"] - file_scores["f1"],
  }
