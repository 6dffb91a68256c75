"""The official scores of a model during its training."""

import dataclasses
import hashlib

from bert_span.answers.answer import Answer, Prediction
from bert_span.scoring.squad_scores import evaluate_multi_span, official_scores
from bert_span.squad.reader import SquadFile
from bert_span.training.options import SelectionOptions

# The official scores that a training shows, if the data have them.
_SHOWN = ("exact_match", "exact", "f1", "HasAns_f1", "NoAns_f1")
_SHOWN_OF_SPANS = ("exact_match_f1", "overlap_f1")


def selection_metrics(columns):
  """Names of the scores that can select a model with these `columns`."""
  more = _SHOWN_OF_SPANS if columns.entries == "spans" else ()
  return ("f1", "exact_match", *more)


@dataclasses.dataclass(frozen=True)
class DevelopmentSet:
  """Questions on which a model is scored during its training."""

  squad_file: SquadFile
  batch_size: int  # windows that the model reads at once
  options: SelectionOptions  # "exact_match" means "exact" for SQuAD 2.0

  def selection_options(self, decoder_options, extractor_class):
    """Returns the options with the metric's name in these data's scores."""
    # Empty answers are scored, so that an error in the data stops the training.
    none = Answer("", 0, 0, 0.0, 0.0, 0.0)
    empty = [
      Prediction(example.qas_id, none, (), ())
      for example in self.squad_file.examples
    ]
    scores = self._shown_scores(empty, decoder_options, extractor_class)
    metric = self.options.best_metric
    if metric == "exact_match" and "exact" in scores:
      metric = "exact"
    return dataclasses.replace(self.options, best_metric=metric)

  def scores(self, extractor, interruptible):
    """Returns scores in percent; `interruptible` is `TerminationRequest`'s."""
    answers = extractor.predictions(self.squad_file.examples, self.batch_size)
    answers = list(interruptible(answers))
    return self._shown_scores(answers, extractor.decoder_options, extractor)

  def fingerprint(self, decoder_options):
    """Returns JSON values on which the scores depend, besides the model."""
    decoder = dataclasses.asdict(decoder_options)
    for name in ("temperature", "log_odds_shift"):
      decoder.pop(name, None)  # They change probabilities but no answer.
    questions = hashlib.sha256()
    for example in self.squad_file.examples:
      questions.update(repr(example).encode("utf-8"))
    return {
      "num_questions": len(self.squad_file.examples),
      "questions_sha256": questions.hexdigest(),
      "decoder": decoder,
    }

  def _shown_scores(self, predictions, decoder_options, extractor):
    version_2 = decoder_options.version_2_with_negative
    null_odds = {p.qas_id: p.answer.null_odds for p in predictions}
    scores = official_scores(
      self.squad_file,
      {p.qas_id: p.answer.text for p in predictions},
      null_odds if version_2 else None,
    )
    shown = {name: scores[name] for name in _SHOWN if name in scores}
    if extractor.columns.entries != "spans":
      return shown
    spans = {p.qas_id: [s.text for s in p.spans] for p in predictions}
    scores = evaluate_multi_span(self.squad_file.examples, spans)
    return shown | {name: scores[name] for name in _SHOWN_OF_SPANS}
