"""From a trained model to a checked TFLite file with its report."""

import dataclasses
import hashlib
import importlib.metadata
import os
import sys

import numpy as np

import bert_span
from bert_span.answers.scoring.official_scores import official_scores
from bert_span.data.window_batches import example_arrays
from bert_span.extractor import SpanExtractor
from bert_span.jobs.saved_model_export import sample_examples
from bert_span.presets.span_config import span_config
from bert_span.serving.model_card import training_run
from bert_span.squad.reader import read_squad
from bert_span.storage.atomic_file import (
  open_atomically,
  write_json_atomically,
  write_text_atomically,
)
from bert_span.tflite import conversion as tflite_conversion
from bert_span.tflite import tflite_verification
from bert_span.tflite.conversion import ConversionOptions
from bert_span.tflite.metadata import ModelInfo, with_metadata
from bert_span.tflite.runner import runtime_name
from bert_span.tflite.summary import report_text
from bert_span.tflite.text_graph.tokenizer_agreement import compare_tokenizers
from bert_span.tflite.tflite_text_extractor import open_tflite

_PACKAGES = ("tensorflow", "tensorflow-text", "keras", "keras-hub")
_CALIBRATION_WINDOWS = 64


@dataclasses.dataclass(frozen=True)
class TFLiteOptions:
  """What to write, and what must hold.

  Attributes:
    quantization: see `ConversionOptions`.
    dynamic_length: take windows of any length up to max_seq_length, and not
      only of that one.
    max_f1_drop: refuse a file whose F1 on the evaluated questions is below the
      model's by more than this, in points; None takes any.
    info: `ModelInfo`; None has a name and a version only.
    with_tokenizer: take strings and give places in bytes, with tokenizer and
      windows inside; for span heads, by custom ops of tensorflow-text.
  """

  quantization: str = "none"
  dynamic_length: bool = False
  max_f1_drop: float | None = None
  info: ModelInfo | None = None
  with_tokenizer: bool = False


def export_model(
  model,
  path,
  options=None,
  window_options=None,
  decoder_options=None,
  evaluate_file=None,
  calibration_file=None,
):
  """Exports a model directory and prints the report.

  Args:
    model: what `SpanExtractor.from_preset` takes.
    path, options: see `export_tflite`.
    window_options: `WindowOptions`; None for the model's.
    decoder_options: those of the model's head; None for the model's.
    evaluate_file: SQuAD file to score model and file on, or None.
    calibration_file: SQuAD file whose first windows set the ranges of int8.

  Raises:
    OSError: a file cannot be read.
    ValueError: see `export_tflite`; or there is no such model.
  """
  evaluated = read_squad(evaluate_file) if evaluate_file else None
  calibration = None
  if calibration_file:
    examples = read_squad(calibration_file).examples
    # Every question has a window at least.
    calibration = list(examples[:_CALIBRATION_WINDOWS])
  report = export_tflite(
    SpanExtractor.from_preset(model, window_options, decoder_options),
    path,
    options,
    evaluated,
    calibration,
    source=model,
  )
  print(report_text(report), end="")
  print(f"Written: {path}", file=sys.stderr)


def export_tflite(
  extractor, path, options=None, evaluated=None, calibration=None, source=None
):
  """Writes a TFLite file that was checked under another name before.

  Beside it are written its report, PATH.json and PATH.txt.

  Args:
    extractor: the `SpanExtractor`, with the options that the file shall have.
    path: the file to write, ending with .tflite; an old one is replaced.
    options: `TFLiteOptions`.
    evaluated: `SquadFile` whose questions model and file answer and are scored
      on; None for none.
    calibration: list of `SquadExample` whose windows set the ranges of int8.
    source: directory the model was loaded from; the report tells what stands
      there about its training. None where there is none.

  Returns:
    The report, a dict.

  Raises:
    ValueError: the file fails a check; it is then not written, and an old one
      and its report stay.
  """
  options = options or TFLiteOptions()
  content = tflite_content(extractor, options, calibration)
  with open_atomically(path, binary=True) as file:
    file.write(content)
    file.flush()
    verify = tflite_verification.verify
    if options.with_tokenizer:
      verify = tflite_verification.verify_with_tokenizer
    samples = sample_examples()
    verified = verify(file.name, extractor, samples, options.quantization)
    scores = None
    if evaluated is not None:
      scores = _scores(file.name, extractor, evaluated)
      check_f1_drop(scores, options.max_f1_drop)
  report = {
    "file": os.path.basename(path),
    "sha256": hashlib.sha256(content).hexdigest(),
    "options": {**dataclasses.asdict(options), **_text_options(extractor)},
    "verification": dataclasses.asdict(verified),
    "tokenizer": _tokenizer_figures(extractor, options, samples, evaluated),
    "evaluation": scores,
    "training": training_run(source) if source else {},
    "versions": _versions(options),
  }
  write_json_atomically(f"{path}.json", report)
  write_text_atomically(f"{path}.txt", report_text(report))
  return report


def check_f1_drop(scores, max_f1_drop):
  """Refuses scores that are too far below the model's.

  Args:
    scores: dict with f1_drop, in points.
    max_f1_drop: see `TFLiteOptions`.

  Raises:
    ValueError: the drop is larger, or not a number.
  """
  # The negation also refuses NaN.
  if max_f1_drop is not None and not scores["f1_drop"] <= max_f1_drop:
    raise ValueError(
      f"The TFLite file's F1 is {scores['f1_drop']:.2f} points below the "
      f"model's on {scores['num_questions']} questions, and at most "
      f"{max_f1_drop:.2f} are allowed (--max_f1_drop). It is not written."
    )


def tflite_content(extractor, options, calibration=None):
  """The bytes of a TFLite file, not yet checked.

  Args:
    extractor, options, calibration: see `export_tflite`.

  Returns:
    bytes.
  """
  windows = extractor.window_options
  seq_length = None if options.dynamic_length else windows.max_seq_length
  conversion = ConversionOptions(seq_length, options.quantization)
  if options.with_tokenizer:
    check_head(extractor)
    content = tflite_conversion.convert_with_tokenizer(
      extractor.model,
      extractor.preprocessor,
      extractor.decoder_options,
      conversion,
    )
  else:
    content = tflite_conversion.convert(
      extractor.model,
      conversion,
      _calibration_windows(extractor, calibration) if calibration else None,
    )
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
    content,
    options.info or ModelInfo("bert_span", "", bert_span.__version__),
    tokenizer.vocabulary,
    config,
    options.with_tokenizer,
    extractor.head.served.logits_guide,
  )


def check_head(extractor):
  """Refuses a model whose answers cannot be decoded within a TFLite file.

  Args:
    extractor: the `SpanExtractor`.

  Raises:
    ValueError: it has no span head.
  """
  if not extractor.head.scores_ends:
    raise ValueError(
      "A TFLite file with its tokenizer inside decodes span heads only. "
      f"Received a model with a {extractor.head.name} head: leave out "
      "--with_tokenizer, and decode its logits as export/TFLITE.md says."
    )


def _calibration_windows(extractor, examples):
  """A function that yields the first windows of some questions, padded."""
  length = extractor.window_options.max_seq_length
  windows = extractor.preprocessor(example_arrays(examples))
  names = ("input_ids", "input_mask", "segment_ids")

  def padded():
    for row in range(min(len(windows["input_ids"]), _CALIBRATION_WINDOWS)):
      values = np.zeros([len(names), 1, length], np.int32)
      for value, name in zip(values, names, strict=True):
        ids = windows[name][row].numpy()
        value[0, : len(ids)] = ids
      yield values

  return padded


def _tokenizer_figures(extractor, options, samples, evaluated):
  """How the tokenizer inside agrees with ours; None where there is none."""
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
  texts = [
    {p.qas_id: p.text for p in answerer.predict(examples)}
    for answerer in (extractor, candidate)
  ]
  of_model, of_file = (official_scores(evaluated, answers) for answers in texts)
  equal = sum(texts[0][name] == text for name, text in texts[1].items())
  return {
    "data": os.path.basename(evaluated.path),
    "num_questions": len(examples),
    "equal_answers": equal,
    "model": of_model,
    "file": of_file,
    "f1_drop": of_model["f1"] - of_file["f1"],
  }


def _text_options(extractor):
  return {
    "head": extractor.head.name,
    "do_lower_case": extractor.preprocessor.tokenizer.do_lower_case,
    **dataclasses.asdict(extractor.window_options),
    **dataclasses.asdict(extractor.decoder_options),
  }


def _versions(options):
  return {
    "bert_span": bert_span.__version__,
    **{name: importlib.metadata.version(name) for name in _PACKAGES},
    "runtime": runtime_name(options.with_tokenizer),
  }
