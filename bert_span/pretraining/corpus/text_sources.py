"""Files of running text, read sentence by sentence.

Three forms: one sentence a line with a blank line between documents (as the
original BERT), one document a line, and JSON lines with a document in one
field. Any file may be compressed (.gz). TensorFlow Datasets give documents.

A source is read as a stream: no more than a document's line is held.
"""

import dataclasses
import itertools
import json

from bert_span.pretraining.corpus.sentences import split_sentences
from bert_span.pretraining.corpus.text_lines import decoded, text_lines
from bert_span.storage.files import find_files
from bert_span.storage.json_fields import shortened

SENTENCES = "sentences"
DOCUMENTS = "documents"


@dataclasses.dataclass(frozen=True)
class TextFile:
  """A file of text.

  Attributes:
    path: local or any path of tf.io.gfile; .gz is decompressed.
    form: "sentences" for a sentence a line and a blank line between
      documents, "documents" for a document a line.
    text_field: key of the text where the lines are JSON objects, each a
      document; None for plain text.
  """

  path: str
  form: str = SENTENCES
  text_field: str | None = None

  def sentences(self, first_document=0):
    """Reads the sentences from one document on.

    Args:
      first_document: number of the document to begin with, from 0. What
        stands before it is read over quickly.

    Yields:
      (document, sentence): its number in the file, and a str.

    Raises:
      ValueError: a line is no JSON object with that field, or a .gz file is
        damaged or not compressed.
      OSError, tf.errors.OpError: the file cannot be read.
    """
    if self.form == SENTENCES and self.text_field is None:
      yield from _skip(self._plain_sentences(), first_document)
      return
    lines = itertools.islice(
      enumerate(text_lines(self.path)), first_document, None
    )
    for document, line in lines:
      for sentence in split_sentences(self._text(line, document)):
        yield document, sentence

  def _plain_sentences(self):
    document, is_begun = 0, False
    for line in text_lines(self.path):
      sentence = line.strip()
      if sentence:
        is_begun = True
        yield document, sentence
      elif is_begun:
        document, is_begun = document + 1, False

  def _text(self, line, document):
    """The text of a line."""
    if self.text_field is None:
      return line
    place = f"{self.path}, line {document + 1}"
    if not line.strip():
      return ""
    try:
      values = json.loads(line)
    except ValueError as error:
      raise ValueError(
        f"{place} is not JSON ({error}). With --text_field every line must "
        "be a JSON object."
      ) from error
    text = values.get(self.text_field) if isinstance(values, dict) else None
    if not isinstance(text, str):
      keys = (
        ", ".join(map(shortened, values)) if isinstance(values, dict) else ""
      )
      raise ValueError(
        f"{place} has no text under {self.text_field!r}. Give the key of the "
        f"text as --text_field. Received: {keys or shortened(values)}"
      )
    return text


@dataclasses.dataclass(frozen=True)
class TfdsShard:
  """A shard of a prepared data set of TensorFlow Datasets.

  Attributes:
    name: such as "wikipedia/20230601.en".
    split: such as "train[3shard]".
    data_dir: TFDS' data folder; None for TFDS' default.
    text_field: feature that holds a document.
  """

  name: str
  split: str
  data_dir: str | None = None
  text_field: str = "text"

  @property
  def path(self):
    """What messages call it."""
    return f"{self.name}, split {self.split}"

  def sentences(self, first_document=0):
    """See `TextFile.sentences`."""
    dataset = _tfds_builder(self.name, self.data_dir).as_dataset(
      split=self.split, shuffle_files=False
    )
    if self.text_field not in dataset.element_spec:
      raise ValueError(
        f"{self.name} has no feature {self.text_field!r}. Give one of "
        f"{', '.join(dataset.element_spec)} as --text_field."
      )
    documents = dataset.skip(first_document).as_numpy_iterator()
    texts = (row[self.text_field] for row in documents)
    texts = decoded(texts, self.path, "document", first_document)
    for document, text in enumerate(texts, first_document):
      for sentence in split_sentences(text):
        yield document, sentence


def find_sources(location):
  """Lists what a `TextLocation` names.

  Returns:
    List of `TextFile` or `TfdsShard`.

  Raises:
    ValueError: there is no such file or data set.
  """
  if location.dataset and not location.files:
    return find_tfds_shards(
      location.dataset, location.split, location.data_dir, location.text_field
    )
  return find_text_files(location.files, location.form, location.text_field)


def find_text_files(patterns, form=SENTENCES, text_field=None):
  """Expands what --input_file names.

  Args:
    patterns: str, paths and globs, separated by commas.
    form: see `TextFile`.
    text_field: likewise.

  Returns:
    List of `TextFile`, each file once, in the order of the patterns.

  Raises:
    ValueError: a pattern matches no file.
  """
  return [TextFile(path, form, text_field) for path in find_files(patterns)]


def find_tfds_shards(name, split="train", data_dir=None, text_field=None):
  """Lists the shards of a data set of TensorFlow Datasets.

  Args:
    name: of a data set that is prepared.
    split: its split.
    data_dir: TFDS' data folder; None for TFDS' default.
    text_field: feature with the text; None for "text".

  Returns:
    List of `TfdsShard`.

  Raises:
    ValueError: the data set or the split is not there.
  """
  splits = _tfds_builder(name, data_dir).info.splits
  if split not in splits:
    raise ValueError(
      f"{name} has no split {split!r}. Give one of {', '.join(splits)}."
    )
  return [
    TfdsShard(name, f"{split}[{i}shard]", data_dir, text_field or "text")
    for i in range(splits[split].num_shards)
  ]


def sources_of_worker(sources, num_workers, worker):
  """The sources that one of several workers reads.

  Args:
    sources: list of sources, the same for every worker.
    num_workers: workers that share them.
    worker: number of this one, from 0.

  Returns:
    Every num_workers-th source.

  Raises:
    ValueError: there are fewer sources than workers, or no such worker.
  """
  if not 0 <= worker < num_workers:
    raise ValueError(
      f"The number of a worker must lie between 0 and {num_workers - 1}. "
      f"Received: {worker}"
    )
  if len(sources) < num_workers:
    raise ValueError(
      f"{num_workers} workers cannot share {len(sources)} files: each reads "
      "files of its own. Split the text into more files."
    )
  return sources[worker::num_workers]


def _skip(sentences, first_document):
  return itertools.dropwhile(lambda row: row[0] < first_document, sentences)


def _tfds_builder(name, data_dir):
  import tensorflow_datasets as tfds  # Seconds: only where it is used.

  try:
    builder = tfds.builder(name, data_dir=data_dir)
  except (tfds.core.DatasetNotFoundError, AssertionError, ValueError) as error:
    raise ValueError(
      f"TensorFlow Datasets knows no {name!r}. Check --dataset and --data_dir. "
      f"{str(error).splitlines()[0]}"
    ) from error
  if not builder.is_prepared():
    raise ValueError(
      f"{name} is not prepared in {builder.data_dir_root}. Prepare it with "
      f"`tfds build {name} --data_dir=...` and give that folder as --data_dir."
    )
  return builder
