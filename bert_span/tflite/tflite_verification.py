"""Proves that a written TFLite file answers as the model, or how nearly so."""

import dataclasses
import os

import numpy as np

from bert_span.storage.utf8 import encodable
from bert_span.tflite import file as tflite_file
from bert_span.tflite.arena_memory import (
  peak_arena_bytes,
  text_peak_arena_bytes,
)
from bert_span.tflite.text_graph.byte_tokenizer import CUSTOM_OPS
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor
from bert_span.tflite.tflite_text_extractor import TFLiteTextExtractor

# Share of sample questions on which the answers must be the same characters.
# Fewer bits change some; a file that is broken changes nearly all.
LEAST_EQUAL = {"none": 1.0, "float16": 0.97, "dynamic": 0.6, "int8": 0.0}
# How far a score may be off in float32: sums are taken in another order.
_TOLERANCE = 1e-3
_SHOWN = 5  # differences


@dataclasses.dataclass(frozen=True)
class TFLiteVerification:
  """What a verification found.

  Attributes:
    num_questions: sample questions asked.
    num_equal: of them, those with the model's answer, character for character.
    largest_difference: of the scores of equal answers.
    ops: dict of op name to count.
    size_bytes: of the file.
    peak_arena_bytes: see `arena_memory`, at the longest window.
  """

  num_questions: int
  num_equal: int
  largest_difference: float
  ops: dict
  size_bytes: int
  peak_arena_bytes: int


def verify(path, extractor, examples, quantization):
  """Runs a TFLite file and compares it with the model it was made of.

  Args:
    path: local path of the file.
    extractor: `SpanExtractor` of the model.
    examples: list of `SquadExample`.
    quantization: see `ConversionOptions`.

  Returns:
    `TFLiteVerification`.

  Raises:
    ValueError: the file has ops beyond TFLite's own, reads variables, gives
      NaN or an infinity, or too few equal answers.
  """
  ops = _checked_ops(path)
  candidate = TFLiteSpanExtractor(
    path,
    extractor.window_options,
    extractor.decoder_options,
    head=extractor.head,
  )
  check_finite(candidate.runner)
  expected = list(extractor.predict(examples))
  given = list(candidate.predict(examples, on_logits=_check_logits))
  arena = peak_arena_bytes(path, candidate.runner.max_length)
  return _verification(path, expected, given, quantization, ops, arena)


def verify_with_tokenizer(path, extractor, examples, quantization):
  """The same for a file that has its tokenizer and windows inside.

  In float32 the probabilities of equal answers must be the model's, too.

  Args, Returns, Raises: see `verify`; the ops of `byte_tokenizer` may be there.
  Each example's question must have a WordPiece.
  """
  ops = _checked_ops(path, CUSTOM_OPS)
  options = extractor.window_options, extractor.decoder_options
  candidate = TFLiteTextExtractor(path, *options)
  expected = list(extractor.predict(examples))
  check_finite_columns(candidate, examples[0])
  given = list(candidate.predict(examples))
  _check_finite_answers(given)
  if quantization == "none":
    _check_probabilities(expected, given)
  texts = (encodable(examples[0].question), encodable(examples[0].context))
  arena = text_peak_arena_bytes(path, *(text.encode() for text in texts))
  return _verification(path, expected, given, quantization, ops, arena)


def _checked_ops(path, custom_ops=()):
  with open(path, "rb") as file:
    ops = tflite_file.op_counts(tflite_file.parse(file.read()))
  tflite_file.check_ops(ops, custom_ops)
  return ops


def _verification(path, expected, given, quantization, ops, arena):
  """What was found; an error where too few answers are equal."""
  largest, different = _compare(expected, given)
  num_equal = len(expected) - len(different)
  least = LEAST_EQUAL[quantization]
  off = quantization == "none" and largest > _TOLERANCE
  if num_equal < least * len(expected) or off:
    raise ValueError(
      f"{len(different)} of {len(expected)} answers of the TFLite file differ "
      f"from the model's, and scores by up to {largest:.2g}; with "
      f"quantization={quantization} at least {least:.0%} must be equal. It is "
      "not written. " + "; ".join(different[:_SHOWN])
    )
  return TFLiteVerification(
    len(expected), num_equal, largest, ops, os.path.getsize(path), arena
  )


def check_finite(runner):
  """Refuses a file that gives NaN, on whatever it is given.

  It is given padding alone, a single WordPiece, and windows of some lengths.

  Args:
    runner: `TFLiteRunner`.

  Raises:
    ValueError: a logit is NaN or infinite.
  """
  for length in sorted({1, 2, runner.max_length // 2, runner.max_length}):
    for num_tokens in sorted({0, 1, length}):
      mask = (np.arange(length) < num_tokens).astype(np.int32)
      outputs = runner(mask, mask, 0 * mask)
      for name, values in outputs.items():
        if not np.isfinite(values).all():
          raise ValueError(
            f"The TFLite file gives NaN or an infinity in {name} for a window "
            f"of {length} positions with {num_tokens} WordPieces. Its weights "
            "are damaged or were never saved; it is not written."
          )


def check_finite_columns(extractor, example):
  """Refuses a file with its tokenizer inside that gives NaN.

  It is given the example, an empty passage and an empty question.

  Args:
    extractor: `TFLiteTextExtractor`.
    example: `SquadExample`.

  Raises:
    ValueError: a number is NaN or infinite.
  """
  texts = example.question, example.context
  for question, context in (texts, (texts[0], ""), ("", texts[1])):
    for name, values in extractor.columns(question, context).items():
      if not np.isfinite(values).all():
        raise ValueError(
          f"The TFLite file gives NaN or an infinity in {name} for the "
          f"question {question!r}. Its weights are damaged or were never "
          "saved; it is not written."
        )


def _check_finite_answers(predictions):
  """Refuses NaN in what the samples were answered."""
  for answer in predictions:
    numbers = (answer.score, answer.probability, answer.null_odds)
    if not np.isfinite(numbers).all():
      raise ValueError(
        f"The TFLite file gives NaN or an infinity for question "
        f"{answer.qas_id}: {numbers}. It is not written."
      )


def _check_probabilities(expected, given):
  """Refuses other probabilities and null odds of equal answers."""
  for wanted, answer in zip(expected, given, strict=True):
    if _spans(wanted) != _spans(answer):
      continue
    for name in ("probability", "null_odds"):
      numbers = getattr(wanted, name), getattr(answer, name)
      if not abs(numbers[0] - numbers[1]) <= _TOLERANCE * max(
        1, abs(numbers[0])
      ):
        raise ValueError(
          f"question {wanted.qas_id}: the model's {name} is {numbers[0]}, the "
          f"TFLite file's {numbers[1]}. It is not written."
        )


def _check_logits(logits):
  """Refuses NaN in the `window_logits` of a batch."""
  for values in logits.logits.values():
    if not np.isfinite(values).all():
      raise ValueError(
        "The TFLite file gives NaN or an infinity for sample questions; it is "
        "not written."
      )


def _compare(expected, given):
  """The largest difference of scores, and descriptions of other answers."""
  largest, different = 0.0, []
  for wanted, answer in zip(expected, given, strict=True):
    if _spans(wanted) == _spans(answer):
      largest = max(largest, abs(wanted.score - answer.score))
    else:
      different.append(
        f"question {wanted.qas_id}: {wanted.text!r} at {wanted.char_start}, "
        f"and the file {answer.text!r} at {answer.char_start}"
      )
  return largest, different


def _spans(prediction):
  """All offsets of an answer; of a B/I/O head it may have several."""
  spans = getattr(prediction, "spans", [prediction])
  return [(span.char_start, span.char_end) for span in spans]
