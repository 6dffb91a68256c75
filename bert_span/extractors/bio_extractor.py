"""The extractor that tags every token, for answers of several spans."""

from typing import ClassVar

import keras

from bert_span.answers.columns import BIO_COLUMNS
from bert_span.answers.decoding.bio_decoder import BioDecoder
from bert_span.data.bio_preprocessor import BioPreprocessor
from bert_span.extractors.extractor import Extractor
from bert_span.modeling.heads import BioHead
from bert_span.modeling.losses import BioLoss
from bert_span.modeling.tags import NUM_TAGS


@keras.saving.register_keras_serializable(package="bert_span")
class BioExtractor(Extractor):
  """Answers questions with any number of spans; see `Extractor`.

  It tags every token B, I or O; every run "B I I .." is a span. It learns from
  the answers of all annotators, see `BioPreprocessor`:

  ```python
  extractor = BioExtractor.from_preset("all-minilm-l6-v2", max_seq_length=128)
  extractor.compile(optimizer=BertAdamW(3e-5))
  extractor.fit(
    x={"question": ["Who came?"], "context": ["John Smith and Ada came."]},
    # The first annotator marked two spans, the second one span.
    y={
      "answer_text": [[["John Smith", "Ada"], ["Ada"]]],
      "answer_start": [[[0, 15], [15]]],
    },
  )
  ```
  """

  head_name = "bio"
  logits: ClassVar = {"tag_logits": (NUM_TAGS,)}
  logits_descriptions: ClassVar = {
    "tag_logits": "scores of each position as B, I and O"
  }
  columns = BIO_COLUMNS
  preprocessor_class = BioPreprocessor
  decoder_class = BioDecoder

  @staticmethod
  def make_head(use_bias=True, has_transform=False):
    return BioHead()  # It has a bias and no transform, whatever is asked for.

  @staticmethod
  def make_loss(options=None):
    if options is None:
      return BioLoss()
    return BioLoss(options.bio_loss_reduction, options.bio_class_weights)
