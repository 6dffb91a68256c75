"""The README.md of a model directory, a model card of Hugging Face's hub."""

import hashlib
import os
import re

from bert_span.modeling.architectures import architecture_of
from bert_span.presets.selection import read_selection
from bert_span.presets.span_config import MODEL_CARD
from bert_span.storage.atomic_file import write_text_atomically
from bert_span.storage.files import gfile, read_bytes

_MARK = "<!-- Written by bert_span, again with each save until it is edited: "
_WRITTEN = re.compile(rf"(.*){_MARK}([0-9a-f]{{16}}) -->\n", re.DOTALL)


def write_hub_card(unfinished, directory, extractor):
  """Writes README.md, unless a person wrote or edited the current one.

  Args:
    unfinished: directory to write into, see `replaced_directory`.
    directory: directory that it replaces, with the current README.md.
    extractor: the model.
  """
  current_path = os.path.join(directory, MODEL_CARD)
  if gfile().exists(current_path) and not is_written_here(current_path):
    return
  text = _card(extractor, read_selection(unfinished))
  path = os.path.join(unfinished, MODEL_CARD)
  write_text_atomically(path, f"{text}{_MARK}{_digest(text)} -->\n")


def is_written_here(path):
  """Returns whether a file is a card of this package that nobody edited."""
  match = _WRITTEN.fullmatch(read_bytes(path).decode("utf-8", "replace"))
  return match is not None and match[2] == _digest(match[1])


def _digest(text):
  return hashlib.sha256(text.encode()).hexdigest()[:16]


def _card(extractor, selection):
  windows = extractor.window_options
  tokenizer = extractor.preprocessor.tokenizer
  class_name = type(extractor).__name__
  knows_null = getattr(extractor.decoder_options, "version_2_with_negative", 0)
  lines = ["---", "library_name: keras-hub"]
  if extractor.head_is_trained:
    lines.append("pipeline_tag: question-answering")
  lines += [
    *("---", f"# {class_name}", ""),
    "Answers a question with what a passage says, character by character.",
    *("", "```python", "import bert_span", ""),
    f'extractor = bert_span.{class_name}.from_preset("hf://OWNER/NAME")',
    'extractor.answer("Who built it?", "Anna built the mill in 1895.")',
    *("```", ""),
    f"- Encoder: {architecture_of(extractor.backbone).name}, "
    f"{extractor.backbone.count_params() / 1e6:,.1f} million parameters.",
    f"- Windows of {windows.max_seq_length} tokens, a new one every "
    f"{windows.doc_stride}; text is "
    f"{'lower-cased' if tokenizer.do_lower_case else 'cased'}.",
  ]
  if not extractor.head_is_trained:
    lines.append("- Its head is new: fine-tune it before it answers.")
  if knows_null:
    lines.append("- It says so where the passage has no answer.")
  if selection:
    scores = (f"{n} {x:.5g}" for n, x in sorted(selection["scores"].items()))
    lines.append(
      f"- Scores on its development questions: {', '.join(scores)} (step "
      f"{selection['step']}, the best by {selection['metric']})."
    )
  lines += [
    "- Languages, training data and licence: not stated yet. The hub reads "
    "`language` and `license` between the lines `---` above.",
    "",
  ]
  return "\n".join(lines)
