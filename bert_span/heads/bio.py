"""The B/I/O head: a tag for every token, for answers of several spans."""

import os
from typing import ClassVar

import tensorflow as tf

from bert_span.answers.decoding.bio_decoder import BioDecoder
from bert_span.answers.decoding.options import BioDecoderOptions
from bert_span.answers.decoding.predictions import (
  BIO_PREDICTION_COLUMNS,
  bio_predictions_of,
)
from bert_span.answers.prediction_files import (
  AGREEMENT_FILE,
  SPANS_FILE,
  read_span_predictions,
)
from bert_span.answers.scoring.annotator_agreement import AgreementReport
from bert_span.answers.scoring.squad_scores import evaluate_multi_span
from bert_span.data.window_labels import BIO_LABELS, NUM_TAGS
from bert_span.heads.answer_head import AnswerHead
from bert_span.modeling.heads import BioHead
from bert_span.modeling.losses import BioLoss
from bert_span.storage.atomic_file import json_text
from bert_span.storage.files import encodable, read_json


class BioAnswerHead(AnswerHead):
  """The `AnswerHead` of B/I/O tags."""

  logits: ClassVar = {"tag_logits": (NUM_TAGS,)}
  labels = BIO_LABELS
  options_type = BioDecoderOptions
  make_decoder = BioDecoder
  prediction_columns = BIO_PREDICTION_COLUMNS
  predictions_of = staticmethod(bio_predictions_of)
  make_observer = AgreementReport
  development_metrics = ("exact_match_f1", "overlap_f1")
  served_guide: ClassVar = {
    **AnswerHead.place_guide,
    "answer": "the span with the best score, valid UTF-8; empty for no answer",
    "score": "of that span: geometric mean of its tags' probabilities, the "
    "unit of threshold; 0 for no answer",
    "probability": "of exactly that span; for no answer, that there is no span",
    "null_odds": "log-probability of no span - that of the best tags with one, "
    "in nats; with version_2_with_negative above the threshold there is no "
    "answer (1e6: no span is possible)",
    "is_answerable": "whether the answer has a span",
    "span_count": "spans of the answer, 0 for no answer; padding follows them",
    "span_text": "texts in order of position; padding empty",
    **AnswerHead.table_guide("span_"),
  }
  logits_guide: ClassVar = {
    "tag_logits": "scores of each position as B, I and O"
  }
  classes_guide: ClassVar = {
    "classes": "as span_text; for no answer the first is empty",
    "scores": "as span_probability; for no answer the first is probability",
  }

  def make_layer(self, head_bias):
    return BioHead()  # It always has a bias.

  def make_loss(self, options):
    return BioLoss(options.bio_loss_reduction, options.bio_class_weights)

  def fingerprint(self, options):
    weights = options.bio_class_weights
    return {
      "head": self.name,
      "annotator_labels": options.annotator_labels,
      "bio_loss_reduction": options.bio_loss_reduction,
      "bio_class_weights": list(weights) if weights else None,
    }

  def lists_of(self, prediction, n_best):
    return {"spans": prediction.spans}  # All of them are the answer.

  def json_fields(self, prediction, n_best):
    return {
      "answers": [span._asdict() for span in prediction.spans],
      "null_odds": prediction.null_odds,
    }

  def list_file(self, predictions):
    spans = {p.qas_id: [s._asdict() for s in p.spans] for p in predictions}
    return {SPANS_FILE: json_text(spans)}

  def file_scores(self, output_dir, examples):
    """Scores of sets of spans, and how the tags agree with the annotators."""
    spans = read_span_predictions(os.path.join(output_dir, SPANS_FILE))
    scores = evaluate_multi_span(examples, spans)
    path = os.path.join(output_dir, AGREEMENT_FILE)
    # Predictions of another program have no such file.
    return scores | (read_json(path) if tf.io.gfile.exists(path) else {})

  def development_scores(self, examples, spans):
    scores = evaluate_multi_span(examples, spans)
    return {name: scores[name] for name in self.development_metrics}

  def served_columns(self, options, columns):
    return self.with_shapes(columns, "span_")

  def served_classes(self, columns):
    """Spans and probabilities; "no answer" takes the place of a first span."""
    scores = columns["span_probability"]
    is_none = tf.logical_not(columns["is_answerable"])[:, tf.newaxis]
    is_first = tf.range(tf.shape(scores)[1]) == 0  # [max_spans]
    probability = columns["probability"][:, tf.newaxis]
    scores = tf.where(is_none & is_first, probability, scores)
    return columns["span_text"], scores

  def expected_row(self, prediction):
    spans = prediction.spans
    row = {**super().expected_row(prediction), "span_count": len(spans)}
    row["span_text"] = [encodable(span.text) for span in spans]
    for name in ("char_start", "char_end", "score", "probability"):
      row[f"span_{name}"] = [getattr(span, name) for span in spans]
    return row


BIO_HEAD = BioAnswerHead()
