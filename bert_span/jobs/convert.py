"""What convert does: writes a model in another format."""

import os
import sys
import typing

import numpy as np

from bert_span.extractors.loading import load_extractor
from bert_span.modeling.architectures import architecture_of
from bert_span.presets.huggingface_writer import save_huggingface
from bert_span.presets.model_card import is_written_here
from bert_span.presets.span_config import MODEL_CARD, find_model_file
from bert_span.storage.atomic_file import write_bytes
from bert_span.storage.files import gfile, read_bytes
from bert_span.text.vocabulary import vocabulary_kind

if typing.TYPE_CHECKING:
  from bert_span.convert import ConvertOptions

_SAMPLE = {
  "question": ["Which river?"],
  "context": ["The Nile flows through Cairo."],
}
_TOLERANCE = 1e-3


def convert(options: "ConvertOptions"):
  """Writes a trained model in another format, and prints what it is."""
  model, output_dir, to = options.model, options.output_dir, options.to
  if to == "huggingface" and os.path.lexists(output_dir):
    raise ValueError(
      f"output_dir={output_dir} exists. Give a new directory, or remove it."
    )
  extractor = load_extractor(options)
  extractor.check_trained()
  expected = _sample_logits(extractor)
  tokenizer = extractor.preprocessor.tokenizer
  if to == "huggingface":
    save_huggingface(extractor, output_dir)
  else:
    extractor.save_to_preset(output_dir)
  card = find_model_file(model, MODEL_CARD)
  path = os.path.join(output_dir, MODEL_CARD)
  if card and (not gfile().exists(path) or is_written_here(path)):
    write_bytes(path, read_bytes(card))
  written = type(extractor).from_preset(
    output_dir, extractor.window_options, extractor.decoder_options
  )
  difference = np.max(np.abs(_sample_logits(written) - expected))
  if not difference <= _TOLERANCE:
    raise ValueError(
      f"The logits of {output_dir} and {model} differ by {difference:.3g} for "
      "a sample question. Do not use the result; report this with the model."
    )
  architecture = architecture_of(extractor.backbone)
  lower = "lower-cased" if tokenizer.do_lower_case else "cased"
  print(f"Architecture: {architecture.name}")
  print(f"Parameters: {extractor.count_params():,}")
  print(f"Head: {extractor.head_name}")
  tokens = vocabulary_kind(tokenizer.full_vocabulary)
  print(f"Vocabulary: {len(tokenizer.vocabulary):,} {tokens}, {lower}")
  threshold = "none; version_2_with_negative allows unanswerable questions"
  if to == "huggingface":
    threshold = "not written; transformers has no place for it"
  elif extractor.decoder_options.version_2_with_negative:
    threshold = extractor.decoder_options.null_score_diff_threshold
  print(f"Null threshold: {threshold}")
  print(f"Written: {output_dir}", file=sys.stderr)


def _sample_logits(extractor):
  """Returns the logits of a question; a model that cannot run fails here."""
  outputs = extractor(extractor.preprocessor(_SAMPLE))
  return np.concatenate([np.ravel(logits) for logits in outputs.values()])
