"""Flags and questions that several benchmarks share."""

import itertools
import json
import os

from absl import flags

import bert_span
from bert_span.cli import program

# --help lists them as flags of the benchmark, not of this module.
flags.disclaim_key_flags()


def count_flag(name, default, text):
  """Returns the flag of a whole number of at least 1."""
  return flags.DEFINE_integer(name, default, text, lower_bound=1)


def data_file_flag():
  """Returns --data_file."""
  return flags.DEFINE_string(
    "data_file",
    None,
    "SQuAD JSON file with the questions; by default the embedded sample.",
  )


def vocabulary_flag():
  """Returns --preset, see `vocabulary_of`."""
  return flags.DEFINE_string(
    "preset", "minilm_squad", "Model whose vocabulary is used, uncased."
  )


def random_head_flag():
  """Returns --preset, see `random_models.random_extractor`."""
  return flags.DEFINE_string(
    "preset",
    None,
    "Encoder, as in run_squad, with a random span head; by default a random "
    "encoder with one layer and 16 units.",
  )


def whole_numbers(holder):
  """Returns the values of a list flag, whole numbers of at least 1."""
  values = [value.strip() for value in holder.value if value.strip()]
  program.check(
    all(value.isdecimal() and int(value) > 0 for value in values),
    f"--{holder.name} must list whole numbers of at least 1, separated by "
    f"commas. Received: {','.join(holder.value)}.",
  )
  return [int(value) for value in values]


def check_known(holder, known):
  """Checks the values of a list flag, if it has any."""
  unknown = ", ".join(set(holder.value or ()) - set(known))
  program.check(
    not unknown,
    f"--{holder.name} knows {', '.join(known)}. Received: {unknown}.",
  )


def vocabulary_of(preset):
  """Returns the vocabulary of a model."""
  from bert_span.presets.load_pretrained import load_pretrained
  from bert_span.presets.vocabulary_files import load_vocabulary

  return load_vocabulary(load_pretrained(preset).vocabulary_path)


def squad_path(path, sample="dev.json"):
  """Returns `path`, or that of a file of the sample if it is None."""
  folder = os.path.dirname(bert_span.__file__)
  return path or os.path.join(folder, "sample", sample)


def read_examples(path, sample="dev.json"):
  """Returns the `SquadExample`s of a file, see `squad_path`."""
  from bert_span.squad.reader import read_squad

  return read_squad(squad_path(path, sample)).examples


def read_pairs(path):
  """Returns (question, passage) pairs of a file, read by a plain loop."""
  with open(squad_path(path), encoding="utf-8") as file:
    articles = json.load(file)["data"]
  return [
    (question["question"], paragraph["context"])
    for article in articles
    for paragraph in article["paragraphs"]
    for question in paragraph["qas"]
  ]


def batches_of(pairs, size):
  """Returns batches of equal size: lists of questions and of passages."""
  endless = itertools.cycle(pairs)
  return [
    tuple(map(list, zip(*itertools.islice(endless, size), strict=True)))
    for _ in range(max(len(pairs) // size, 1))
  ]
