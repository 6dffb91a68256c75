"""Writes test vectors: questions, their answers and all steps between them.

A runner of TFLite files in another language is compared with them step by step:
tokens, windows, logits, answers. The file is JSON with a vector a line:

    {"format": 1, "model_sha256": "..", "do_lower_case": true,
     "window": {..}, "decoder": {..}, "vectors": [
    {"question": "Who came?", "context": "John came.",
     "question_tokens": {"ids": [..], "char_starts": [..], "char_ends": [..]},
     "context_tokens": ..,
     "windows": [{"context_start": 0, "context_length": 3,
                  "first_context_position": 5, "input_ids": [101, ..],
                  "is_max_context": [1, 1, 1],
                  "logits": {"start_logits": [..], "end_logits": [..]}}],
     "answer": {"text": "John", "char_start": 0, ..., "n_best": [..]}},
    ..]}

`is_max_context` has a value for each token of the passage; the other lists of a
window have one for each position without padding.
"""

import itertools
import json

from bert_span.squad.example import SquadExample
from bert_span.squad.options import FULL
from bert_span.squad.sample_examples import sample_examples
from bert_span.storage.atomic_file import write_text_atomically
from bert_span.tflite import file as tflite_file
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor

_FORMAT_VERSION = 1
_MILL = (
  "Étienne's mill (1895) was built by Anna Jönsson, near the river; it burned "
  "down."
)
_QUESTIONS = ("Who built the mill?", "WER war Étienne ΑΣ, 日本\u3000?")
# Questions without a character, without a token, and above max_query_length.
_ODD_QUESTIONS = ("", " \t\u200b", 20 * _QUESTIONS[0])
# Lone surrogates are left out, since some JSON readers refuse them.
_CONTEXTS = (
  *("", " \t\r\n", _MILL, 3 * (_MILL + " "), 40 * (_MILL + "\n")),
  # Accents: composed, separate, stacked, after white space, after a joiner.
  "Cafe\u0301 café \u0301x a\u0323\u0302 e\u200d\u0301 ǰ ΐ",
  # Final sigmas, with a soft hyphen and an apostrophe between letters.
  "ΟΔΟΣ Σ ΑΣ\u00adΑ ΑΣ’Α ʰΣ. İstanbul ISTANBUL ıI",
  "ß ẞ ﬁ ½ ² Ⅷ ŉ ＡＢＣ Å Ω",
  "한글 각 \u1100\u1161\u11a8 日本語テスト〇々 か\u3099が \U00020000 \uf900",
  "العربية ـ لا ﷺ \u064b ٣ فی\u200cها שָׁלוֹם \ufb2a",
  "ไทย น้ำ नमस्ते क\u094d\u200dष",
  "👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 🇩🇪 👍🏽 1\ufe0f\u20e3 🙂",
  # Dropped characters: control and format characters, U+FFFD.
  "Anna\x00 bu\x01ilt\x7f \x85th\u200be\ufeff mi\ufffdll\u202e. \u0378\ue000",
  "a\u00a0b\u202fc\u3000d\u2028e\u1680f\u200ag",
  "$+<=>^`|~ «…» „x” ¿? — _ a_b a-b 3,5 \u00a7 € №",
  "[CLS] [SEP] [UNK] [MASK] ##s ## s",
  # A word of 200 characters is divided, a longer one is unknown.
  " ".join(("x" * 200, "x" * 201, "é" * 201 + "\u200b", "한" * 67)),
  "Anna. Anna? Anna! anna ANNA Änna",
  "supercalifragilisticexpialidocious qzxqzx",
)


def vector_examples():
  """Returns the 108 questions: edge cases, and half of the sample."""
  long = 40 * (_MILL + "\n")
  pairs = [
    *itertools.product(_CONTEXTS, _QUESTIONS),
    *itertools.product((_MILL, long), _ODD_QUESTIONS),
  ]
  edge_cases = [
    SquadExample(f"edge {i}", question, context)
    for i, (context, question) in enumerate(pairs)
  ]
  return [*edge_cases, *sample_examples(FULL)[::2]]


def write_port_vectors(tflite_path, examples, path):
  """Writes the test vectors of a TFLite file."""
  extractor = TFLiteSpanExtractor(tflite_path)
  config = tflite_file.read_packed_config(tflite_path)
  header = {
    "format": _FORMAT_VERSION,
    "model_sha256": config["tflite"]["model_sha256"],
    **{name: config[name] for name in ("do_lower_case", "window", "decoder")},
    "vectors": [],
  }
  lines = []
  for example in examples:
    (batch,) = extractor.window_logits([example])
    (prediction,) = extractor.decode(batch)
    num_windows = len(batch.windows["example_index"])
    columns = extractor.columns
    in_answer, _ = columns.row_columns
    answer = {c.field: getattr(prediction.answer, c.field) for c in in_answer}
    answer[columns.entries] = list(
      map(columns.entry_values, getattr(prediction, columns.entries))
    )
    vector = {
      "question": example.question,
      "context": example.context,
      "question_tokens": _tokens(extractor, example.question),
      "context_tokens": _tokens(extractor, example.context),
      "windows": [_window(batch, row) for row in range(num_windows)],
      "answer": answer,
    }
    lines.append(json.dumps(vector))
  text = json.dumps(header).removesuffix("]}")
  write_text_atomically(path, text + "\n" + ",\n".join(lines) + "\n]}\n")


def _tokens(extractor, text):
  tokens = extractor.preprocessor.tokenizer([text])._asdict()
  return {name: x.values.numpy().tolist() for name, x in tokens.items()}


def _window(batch, row):
  """Returns a window of `WindowLogits` as JSON values."""
  columns = {name: values[row] for name, values in batch.windows.items()}
  names = ("context_start", "context_length", "first_context_position")
  numbers = {name: int(columns[name]) for name in names}
  first = numbers["first_context_position"]
  size = first + numbers["context_length"] + 1  # [SEP]
  is_max_context = columns["is_max_context"][first : size - 1]
  return {
    **numbers,
    "input_ids": columns["token_ids"][:size].tolist(),
    "is_max_context": is_max_context.astype(int).tolist(),
    "logits": {
      # The shortest numbers that round to the float32 values.
      name: values[row, :size].astype(str).astype(float).tolist()
      for name, values in batch.logits.items()
    },
  }
