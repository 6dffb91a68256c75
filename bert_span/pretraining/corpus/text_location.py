"""Where the text of a pre-training is."""

import dataclasses

from bert_span.pretraining.corpus import text_sources


@dataclasses.dataclass(frozen=True)
class TextLocation:
  """Files, or a data set of TensorFlow Datasets.

  Attributes:
    files: paths and globs, separated by commas; None for `dataset`.
    form: "sentences" or "documents", see `TextFile`.
    text_field: key or feature with the text, or None.
    dataset: name of a prepared data set.
    split: of the data set.
    data_dir: folder of TensorFlow Datasets; None for its default.
  """

  files: str | None = None
  form: str = text_sources.SENTENCES
  text_field: str | None = None
  dataset: str | None = None
  split: str = "train"
  data_dir: str | None = None

  def sources(self):
    """Lists what there is to read.

    Returns:
      List of `TextFile` or `TfdsShard`.

    Raises:
      ValueError: there is no such file or data set.
    """
    if self.dataset and not self.files:
      return text_sources.find_tfds_shards(
        self.dataset, self.split, self.data_dir, self.text_field
      )
    return text_sources.find_text_files(self.files, self.form, self.text_field)
