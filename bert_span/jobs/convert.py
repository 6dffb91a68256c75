"""What convert does: writes a model in another format."""

import os
import sys

import numpy as np

from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.architectures import architecture_of
from bert_span.presets import huggingface
from bert_span.presets.span_config import MODEL_CARD, find_model_file
from bert_span.storage.atomic_file import write_bytes
from bert_span.storage.files import gfile, read_bytes
from bert_span.text.vocabulary import vocabulary_kind

_STRINGS = {
  "question": ["Which river?"],
  "context": ["The Nile flows through Cairo."],
}
_TOLERANCE = 1e-3


def convert(model, output_dir, to="bert_span", **options):
  """Writes a trained model as another directory, and prints what was found."""
  if to == "huggingface" and os.path.lexists(output_dir):
    raise ValueError(
      f"--output_dir={output_dir} exists. Give a new directory, or remove it."
    )
  extractor = SpanExtractor.from_preset(model, **options)
  extractor.check_trained()
  expected = _logits(extractor)
  tokenizer = extractor.preprocessor.tokenizer
  if to == "huggingface":
    if not extractor.transformers_task:
      raise ValueError(
        f"{model} has a {extractor.head_name} head, which transformers has no "
        "class for. Only models with a span head are written for it."
      )
    huggingface.save_huggingface(extractor, output_dir)
  else:
    extractor.save_to_preset(output_dir)
  card = find_model_file(model, MODEL_CARD)
  path = os.path.join(output_dir, MODEL_CARD)
  if card and not gfile().exists(path):
    write_bytes(path, read_bytes(card))
  options = {
    "window_options": extractor.window_options,
    "decoder_options": extractor.decoder_options,
  }
  written = type(extractor).from_preset(output_dir, **options)
  difference = np.max(np.abs(_logits(written) - expected))
  if not difference <= _TOLERANCE:
    raise ValueError(
      f"{output_dir} computes otherwise than {model}: the logits of a question "
      f"differ by {difference:.3g}. Do not use it; report this with the model."
    )
  architecture = architecture_of(extractor.backbone)
  lower = "lower-cased" if tokenizer.do_lower_case else "cased"
  print(f"Architecture: {architecture.name}")
  print(f"Parameters: {extractor.count_params():,}")
  print(f"Head: {extractor.head_name}")
  kind = vocabulary_kind(tokenizer.full_vocabulary)
  print(f"Vocabulary: {len(tokenizer.vocabulary):,} {kind}, {lower}")
  threshold = "none; --version_2_with_negative allows unanswerable questions"
  if to == "huggingface":
    threshold = "not written; transformers has no place for it"
  elif extractor.decoder_options.version_2_with_negative:
    threshold = extractor.decoder_options.null_score_diff_threshold
  print(f"Null threshold: {threshold}")
  print(f"Written: {output_dir}", file=sys.stderr)


def _logits(extractor):
  """The logits of a question, so that no model is accepted that cannot run."""
  outputs = extractor(extractor.preprocessor(_STRINGS))
  return np.concatenate([np.ravel(each) for each in outputs.values()])
