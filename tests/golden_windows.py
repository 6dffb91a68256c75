"""The rows of our windows in the terms of the goldens' features."""

import dataclasses
import hashlib
import re

from bert_span.data.squad_reader import read_squad
from bert_span.data.squad_rules import prediction_examples, training_examples
from bert_span.data.window_rows import window_rows
from bert_span.text.preprocessor import SpanPreprocessor
from bert_span.text.vocabulary import load_vocabulary
from bert_span.text.windows import WindowOptions

# As run_squad: what separates the words that token_to_orig_map counts.
_WORD = re.compile("[^ \t\r\n\u202f]+")


@dataclasses.dataclass(frozen=True)
class Configuration:
  """One of the goldens' configurations, see the README there.

  Attributes:
    file: data file, edge files in the goldens' folder, others in the data's.
    is_training, version_2: run_squad's flags.
    options: WindowOptions.
    num_questions: how many of the file are compared; None for all.
  """

  file: str
  is_training: bool
  version_2: bool
  options: WindowOptions
  num_questions: int | None = None


CONFIGURATIONS = {
  "a": Configuration(
    "squad1_dev_half.json", False, False, WindowOptions(384, 128, 64), 300
  ),
  "b": Configuration(
    "squad1_train_part.json", True, False, WindowOptions(384, 128, 64), 300
  ),
  "d": Configuration(
    "squad1_train_part.json", True, False, WindowOptions(128, 48, 24), 300
  ),
  "g": Configuration("edge.json", True, False, WindowOptions(64, 16, 12)),
  "h": Configuration("edge.json", False, False, WindowOptions(64, 16, 12)),
  "i": Configuration("edge-v2.json", True, True, WindowOptions(384, 128, 64)),
  "j": Configuration("edge-v2.json", False, True, WindowOptions(384, 128, 64)),
  "k": Configuration("edge.json", True, False, WindowOptions(40, 64, 20)),
}


def golden_vocabulary(goldens):
  """The vocabulary that the goldens were made with."""
  return load_vocabulary(str(goldens / "tiny_ckpt" / "vocab.txt"))


def our_features(configuration, folder, vocabulary):
  """Our windows, with the keys and sums of `features_<c>.jsonl.gz`.

  Args:
    configuration: `Configuration`.
    folder: pathlib.Path of its data file.
    vocabulary: list of tokens.

  Returns:
    List of dicts in the order of the file, and the ids of its questions.
  """
  squad_file = read_squad(folder / configuration.file)
  select = (
    training_examples if configuration.is_training else (prediction_examples)
  )
  examples = select(squad_file, configuration.version_2)
  examples = examples[: configuration.num_questions]
  preprocessor = SpanPreprocessor(vocabulary, options=configuration.options)
  contexts = {example.qas_id: example.context for example in examples}
  features = [
    _feature(row, contexts[row["qas_id"]], configuration.options)
    for row in window_rows(examples, preprocessor, configuration.is_training)
  ]
  return features, set(contexts)


def _feature(row, context, options):
  num_tokens = len(row["input_ids"])
  first = row["segment_ids"].index(1)
  padding = [0] * (options.max_seq_length - num_tokens)
  words = _token_words(context, row["token_char_spans"][first:-1])
  return {
    "qas_id": row["qas_id"],
    "doc_span_index": row["doc_span_index"],
    "n_real_tokens": num_tokens,
    "first_doc_pos": first,
    "start_position": row["start_position"],
    "end_position": row["end_position"],
    "n_max_context": sum(row["max_context"]),
    "sha1_input_ids": _sha1(row["input_ids"] + padding),
    "sha1_segment_ids": _sha1(row["segment_ids"] + padding),
    "sha1_orig_map": _sha1([first, *words]),
    "sha1_max_context": _sha1(row["max_context"][first:-1]),
  }


def _token_words(context, char_spans):
  """The number of the word that each token stands in."""
  word_of = {}
  for number, match in enumerate(_WORD.finditer(context)):
    word_of.update(dict.fromkeys(range(*match.span()), number))
  return [word_of[start] for start, _ in char_spans]


def _sha1(numbers):
  return hashlib.sha1(",".join(map(str, numbers)).encode()).hexdigest()
