"""BioExtractor: a tag for every token, for answers of several spans."""

import os
from typing import ClassVar

import keras
import tensorflow as tf

from bert_span.answers.columns import BIO_COLUMNS
from bert_span.answers.decoding.bio_decoder import BioDecoder
from bert_span.answers.options import AGREEMENT_FILE, SPANS_FILE
from bert_span.answers.prediction_files import read_span_predictions
from bert_span.data.bio_preprocessor import BioPreprocessor
from bert_span.extractors.extractor import Extractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.heads import BioHead
from bert_span.modeling.losses import BioLoss
from bert_span.modeling.tags import NUM_TAGS
from bert_span.scoring.annotator_agreement import AgreementReport
from bert_span.scoring.squad_scores import evaluate_multi_span
from bert_span.storage.atomic_file import json_text
from bert_span.storage.files import read_json_object


@keras.saving.register_keras_serializable(package="bert_span")
class BioExtractor(SpanExtractor):
  """Answers questions with any number of spans; see `SpanExtractor`.

  Every token is tagged B, I or O, and every run "B I I .." is a span. It learns
  from the answers of all annotators, see `BioPreprocessor`:

  ```python
  extractor = BioExtractor.from_preset("all-minilm-l6-v2", max_seq_length=128)
  extractor.compile(optimizer=BertAdamW(3e-5))
  extractor.fit(
    x={"question": ["Who came?"], "context": ["John Smith and Ada came."]},
    # Two annotators: both spans, and the second one alone.
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
  make_observer = staticmethod(AgreementReport)
  development_metrics = ("exact_match_f1", "overlap_f1")
  transformers_task = ""
  no_span_choices = Extractor.no_span_choices
  has_joint_probability = False
  num_entries = staticmethod(Extractor.num_entries)
  no_answer_reason = staticmethod(Extractor.no_answer_reason)

  def answer_over(self, question, contexts, top_k=None, index=None):
    """Raises ValueError: answers of tags have no score over passages."""
    raise ValueError(
      f"The answers of a {self.head_name} head cannot be compared over "
      "passages. Use a model with a span head."
    )

  @staticmethod
  def make_head(use_bias=True):
    return BioHead()  # It always has a bias.

  @staticmethod
  def make_loss(options=None):
    if options is None:
      return BioLoss()
    return BioLoss(options.bio_loss_reduction, options.bio_class_weights)

  @classmethod
  def fingerprint(cls, options):
    weights = options.bio_class_weights
    return {
      "head": cls.head_name,
      "annotator_labels": options.annotator_labels,
      "bio_loss_reduction": options.bio_loss_reduction,
      "bio_class_weights": list(weights) if weights else None,
    }

  @classmethod
  def list_file(cls, predictions):
    entry = cls.columns.entry_values
    spans = {p.qas_id: list(map(entry, p.spans)) for p in predictions}
    return {SPANS_FILE: json_text(spans)}

  @staticmethod
  def file_scores(output_dir, examples):
    """Scores of sets of spans, and how the tags agree with the annotators."""
    spans = read_span_predictions(os.path.join(output_dir, SPANS_FILE))
    scores = evaluate_multi_span(examples, spans)
    path = os.path.join(output_dir, AGREEMENT_FILE)
    # Predictions of another program have no such file.
    if not tf.io.gfile.exists(path):
      return scores
    return scores | read_json_object(path)

  @classmethod
  def development_scores(cls, examples, spans):
    scores = evaluate_multi_span(examples, spans)
    return {name: scores[name] for name in cls.development_metrics}
