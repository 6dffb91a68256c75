"""What convert does, with plain arguments: a model in another format."""

import os
import sys

from bert_span.extractor import SpanExtractor
from bert_span.heads.span import SPAN_HEAD
from bert_span.modeling.architectures import architecture_of
from bert_span.presets import huggingface


def convert(model, output_dir, to="bert_span", extractor_options=None):
  """Writes a trained model as another directory, and prints what was found.

  Args:
    model, extractor_options: arguments of `SpanExtractor.from_preset`.
    output_dir: new directory; for "bert_span" it may replace a model.
    to: "bert_span" for a model directory of this package, or "huggingface" for
      one that transformers' AutoModelForQuestionAnswering reads.
  """
  if to == "huggingface" and os.path.lexists(output_dir):
    raise ValueError(
      f"--output_dir={output_dir} exists. Give a new directory, or remove it."
    )
  extractor = SpanExtractor.from_preset(model, **(extractor_options or {}))
  if to == "huggingface":
    if extractor.head.name != SPAN_HEAD.name:
      raise ValueError(
        f"{model} has a {extractor.head.name} head, which transformers has no "
        "class for. Only models with a span head are written for it."
      )
    huggingface.save_huggingface(
      extractor.model, extractor.preprocessor.tokenizer, output_dir
    )
  else:
    extractor.save_to_preset(output_dir)
  for line in _found(extractor):
    print(line)
  print(f"Written: {output_dir}", file=sys.stderr)


def _found(extractor):
  """What a model is, in lines."""
  tokenizer, options = (
    extractor.preprocessor.tokenizer,
    extractor.decoder_options,
  )
  architecture = architecture_of(extractor.model.backbone)
  kind = "byte pairs" if architecture.byte_pairs else "WordPieces"
  lower = "lower-cased" if tokenizer.do_lower_case else "cased"
  yield f"Architecture: {architecture.name}"
  yield f"Parameters: {extractor.model.count_params():,}"
  yield f"Head: {extractor.head.name}"
  yield f"Vocabulary: {len(tokenizer.vocabulary):,} {kind}, {lower}"
  if extractor.head.name == SPAN_HEAD.name:
    threshold = "none; --version_2_with_negative allows unanswerable questions"
    if options.version_2_with_negative:
      threshold = options.null_score_diff_threshold
    yield f"Null threshold: {threshold}"
