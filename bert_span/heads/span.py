"""The span head: one start and one end, as the original."""

from typing import ClassVar

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.answers.decoding.predictions import (
  PREDICTION_COLUMNS,
  predictions_of,
)
from bert_span.answers.decoding.span_decoder import SpanDecoder
from bert_span.answers.prediction_files import (
  N_BEST_FILE,
  json_entry,
  json_offsets,
)
from bert_span.data.window_labels import SPAN_LABELS
from bert_span.heads.answer_head import AnswerHead
from bert_span.modeling.heads import SpanHead
from bert_span.modeling.losses import SpanLoss
from bert_span.storage.atomic_file import json_text


class SpanAnswerHead(AnswerHead):
  """The `AnswerHead` of start and end scores."""

  logits: ClassVar = {"start_logits": (), "end_logits": ()}
  labels = SPAN_LABELS
  options_type = DecoderOptions
  make_decoder = SpanDecoder
  prediction_columns = PREDICTION_COLUMNS
  predictions_of = staticmethod(predictions_of)
  served_guide: ClassVar = {
    **AnswerHead.place_guide,
    "score": "what answers are compared by, in the unit of span_score",
    "probability": "of a calibrated model, the chance that the answer is "
    "right; else, logit_sum: softmax over the n-best list, mean_probability: "
    "the score",
    "null_odds": "score of no answer - score of the best span; above the "
    "threshold there is no answer (1e6: no span is possible)",
    "is_answerable": "whether the answer is a span",
    "n_best_count": "entries of the n-best list without padding",
    "n_best_answer": "texts, best first; after n_best_count padding",
    **AnswerHead.table_guide("n_best_"),
    "n_best_is_answerable": "true for a span, false for the entry of no answer "
    "and for padding",
  }
  logits_guide: ClassVar = {
    "start_logits": "score of each position as the answer's first WordPiece",
    "end_logits": "score of each position as the answer's last WordPiece",
  }
  classes_guide: ClassVar = {
    "classes": "as n_best_answer",
    "scores": "as n_best_probability",
  }

  def make_layer(self, head_bias):
    return SpanHead(use_bias=head_bias)

  def make_loss(self, options):
    return SpanLoss(options.loss_reduction)

  def lists_of(self, prediction, n_best):
    return {"n_best": prediction.n_best[:n_best]} if n_best > 1 else {}

  def json_fields(self, prediction, n_best):
    return {
      "answer": prediction.text,
      **json_offsets(prediction),
      "score": prediction.score,
      "probability": prediction.probability,
      "null_odds": prediction.null_odds,
      "n_best": [
        {**json_entry(entry), "score": entry.score}
        for entry in prediction.n_best[:n_best]
      ],
    }

  def list_file(self, predictions):
    lists = {p.qas_id: list(map(json_entry, p.n_best)) for p in predictions}
    return {N_BEST_FILE: json_text(lists)}

  def served_columns(self, options, columns):
    columns = dict(columns)
    for name in ("n_best_start_logit", "n_best_end_logit"):
      del columns[name]
    columns["n_best_answer"] = columns.pop("n_best_text")
    columns["n_best_is_answerable"] = (
      columns["n_best_char_end"] > columns["n_best_char_start"]
    )
    entries = options.n_best_size + int(options.version_2_with_negative)
    return self.with_shapes(columns, "n_best_", entries)

  def served_classes(self, columns):
    return columns["n_best_answer"], columns["n_best_probability"]

  def expected_row(self, prediction):
    entries = prediction.n_best
    return {
      **super().expected_row(prediction),
      "n_best_count": len(entries),
      "n_best_score": [entry.score for entry in entries],
      "n_best_probability": [entry.probability for entry in entries],
    }


SPAN_HEAD = SpanAnswerHead()
