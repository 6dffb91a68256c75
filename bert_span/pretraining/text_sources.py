"""Reads running text sentence by sentence.

Three formats: one sentence a line with a blank line between documents (as the
original BERT), one document a line, and JSON lines with a document in one
field. Any file may be compressed (.gz). TensorFlow Datasets give documents.

A training sequence starts and ends with a sentence, so a wrong end at an
abbreviation does no harm. Bytes that are not UTF-8 become U+FFFD, with one
warning a file: a stray byte should not end a run of weeks.
"""

import dataclasses
import gzip
import itertools
import re
import zlib

from bert_span.options.messages import shortened
from bert_span.storage import files
from bert_span.storage.log import log_line
from bert_span.storage.record_files import is_record_file

_MAX_LINE_BYTES = 1 << 26
_SENTENCE_END = re.compile(
  # A line break,
  r"\s*\n\s*"
  # or marks with closing quotes, then white space and no lower-case letter,
  r"""|(?<=[.!?…])["'”’»)\]]*\s+(?=["'“‘«(\[]*[^\W_])(?![^\w]*[a-zß-öø-ÿ])"""
  # or the full stops of Chinese and Japanese, which no space follows.
  r"|(?<=[。！？])[”’」』）]*"
)


def find_sources(location):
  """Returns the `TextFile`s or `TfdsShard`s of a `TextLocation`."""
  if location.input_file or not location.dataset:
    return [
      TextFile(path, location.input_form, location.text_field)
      for path in files.find_files(location.input_file)
      # A glob may match the counts of records, too.
      if not (path.endswith(".json") and is_record_file(path[:-5]))
    ]
  dataset, split = location.dataset, location.dataset_split
  splits = _tfds_builder(dataset, location.data_dir).info.splits
  if split not in splits:
    raise ValueError(
      f"{dataset} has no split {split!r}. Give one of {', '.join(splits)}."
    )
  field = location.text_field or "text"
  return [
    TfdsShard(dataset, f"{split}[{i}shard]", location.data_dir, field)
    for i in range(splits[split].num_shards)
  ]


@dataclasses.dataclass(frozen=True)
class TextFile:
  """A file of text."""

  path: str  # local or any path of tf.io.gfile; .gz is decompressed
  form: str = "sentences"  # see `TextLocation`
  text_field: str | None = None

  def sentences(self, first_document=0):
    """Yields (document number, sentence) from a document on."""
    lines = documents = _decoded(self._lines(), self.path, "line", 1)
    has_sentences = self.form == "sentences" and self.text_field is None
    if has_sentences:
      runs = itertools.groupby(map(str.strip, lines), bool)
      documents = (sentences for has_text, sentences in runs if has_text)
    numbered = itertools.islice(enumerate(documents), first_document, None)
    for number, sentences in numbered:
      if not has_sentences:
        sentences = split_sentences(self._text(sentences, number))
      for sentence in sentences:
        yield number, sentence

  def _lines(self):
    """Yields the lines as bytes; refuses one that would fill the memory."""
    with files.open_file(self.path) as file:
      if self.path.endswith(".gz"):
        file = gzip.GzipFile(fileobj=file)
      lines = iter(file)
      if hasattr(file, "peek"):  # A GFile cannot limit a line.
        lines = iter(lambda: file.readline(_MAX_LINE_BYTES + 1), b"")
      try:
        for number, line in enumerate(lines, 1):
          if len(line) > _MAX_LINE_BYTES:
            raise ValueError(
              f"{self.path}, line {number} has more than {_MAX_LINE_BYTES:,} "
              "bytes. Write a document, or a sentence, a line."
            )
          yield line
      except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
          f"{self.path} is not a whole gzip file ({error}). Compress or copy "
          "it again; text that is not compressed must not be named .gz."
        ) from error

  def _text(self, line, document):
    if self.text_field is None or not line.strip():
      return line
    location = f"{self.path}, line {document + 1}"
    try:
      values = files.parse_json(line.encode("utf-8"), location)
      text = files.checked_object(values, location).get(self.text_field)
    except ValueError as error:
      raise ValueError(
        f"{error} With text_field every line must be a JSON object."
      ) from error
    if not isinstance(text, str):
      raise ValueError(
        f"{location} has no text under {self.text_field!r}. Give the key of "
        f"the text as text_field. Received: {shortened(values)}"
      )
    return text


@dataclasses.dataclass(frozen=True)
class TfdsShard:
  """A shard of a prepared data set of TensorFlow Datasets."""

  name: str  # such as "wikipedia/20230601.en"
  split: str  # such as "train[3shard]"
  data_dir: str | None = None  # None for the default of TensorFlow Datasets
  text_field: str = "text"  # feature with the text of a document

  @property
  def path(self):
    """The shard's name in messages."""
    return f"{self.name}, split {self.split}"

  def sentences(self, first_document=0):
    """Yields (document number, sentence), see `TextFile.sentences`."""
    dataset = _tfds_builder(self.name, self.data_dir).as_dataset(
      split=self.split, shuffle_files=False
    )
    if self.text_field not in dataset.element_spec:
      raise ValueError(
        f"{self.name} has no feature {self.text_field!r}. Give one of "
        f"{', '.join(dataset.element_spec)} as text_field."
      )
    documents = dataset.skip(first_document).as_numpy_iterator()
    texts = (row[self.text_field] for row in documents)
    texts = _decoded(texts, self.path, "document", first_document)
    for document, text in enumerate(texts, first_document):
      for sentence in split_sentences(text):
        yield document, sentence


def split_sentences(document):
  """Splits a document at the ends of its sentences, in any language."""
  ends = (match.end() for match in _SENTENCE_END.finditer(document))
  sentences = (
    document[start:end].strip()
    for start, end in itertools.pairwise([0, *ends, len(document)])
  )
  return [sentence for sentence in sentences if sentence]


def sources_of_worker(sources, num_workers, worker, option="num_workers"):
  """Returns the sources of one worker: each num_workers-th.

  Errors name the option that has the number of workers.
  """
  if len(sources) < num_workers:
    raise ValueError(
      f"{option}={num_workers}: {num_workers} workers cannot share "
      f"{len(sources)} files, because each worker reads whole files. Lower it, "
      "or split the text into more files."
    )
  return sources[worker::num_workers]


def _decoded(rows, path, unit, first):
  """Decodes rows of UTF-8, and warns of the first row that is not."""
  has_warned = False
  for number, row in enumerate(rows, first):
    try:
      yield row.decode("utf-8")
    except UnicodeDecodeError as error:
      if not has_warned:
        log_line(
          f"{path}, {unit} {number}: not UTF-8 (byte "
          f"0x{row[error.start]:02x}). Such bytes become U+FFFD, later ones "
          "without a warning. Convert the text from the encoding that it "
          "has, such as iconv -f LATIN1 -t UTF-8."
        )
        has_warned = True
      yield row.decode("utf-8", "replace")


def _tfds_builder(name, data_dir):
  import tensorflow_datasets as tfds  # Seconds: only where it is used.

  try:
    builder = tfds.builder(name, data_dir=data_dir)
  except (tfds.core.DatasetNotFoundError, AssertionError, ValueError) as error:
    raise ValueError(
      f"TensorFlow Datasets has no dataset={name!r}. Check it and data_dir. "
      f"{str(error).splitlines()[0]}"
    ) from error
  if not builder.is_prepared():
    raise ValueError(
      f"{name} is not prepared in {builder.data_dir_root}. Prepare it with "
      f"`tfds build {name} --data_dir=...` and give that folder as data_dir."
    )
  return builder
