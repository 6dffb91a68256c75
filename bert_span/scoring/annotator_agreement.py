"""Compares predicted tags with annotators who may disagree."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_span.answers.decoding.bio_decoder import passage_tokens, read_tokens
from bert_span.answers.options import AGREEMENT_FILE, DISAGREEMENT_FILE
from bert_span.data.bio_preprocessor import tag_labels
from bert_span.modeling.tags import O
from bert_span.scoring.reliability import equal_width_bins
from bert_span.squad.example import SquadExample
from bert_span.storage.atomic_file import json_text

_NUM_BINS = 10


class TaggedPassage(NamedTuple):
  """The tokens of a passage with the annotators' tags and the model's."""

  example: SquadExample
  labels: np.ndarray  # float32 [tokens, 3], annotators' shares of B, I and O
  probabilities: np.ndarray  # float64 [tokens, 3], the model's
  char_starts: np.ndarray  # int32 [tokens], characters
  char_ends: np.ndarray  # int32 [tokens], characters, exclusive


class AgreementReport:
  """Compares the tags of all passages with those of their annotators."""

  def __init__(self, num_questions):
    self._num_questions = num_questions
    self._passages = []  # The scores need all of them.

  def add(self, logits):
    """Adds a `WindowLogits` of a B/I/O head."""
    self._passages += tagged_passages(logits)

  def files(self):
    """Returns the texts of both files by name, empty without annotators."""
    rows = disagreement_rows(self._passages, self._num_questions)
    return {
      AGREEMENT_FILE: json_text(agreement_scores(self._passages)),
      DISAGREEMENT_FILE: json_text(rows),
    }


def tagged_passages(logits):
  """Yields the `TaggedPassage` of each annotated passage of `WindowLogits`.

  Each token is read in its max-context window.
  """
  columns = read_tokens(logits.windows, logits.logits["tag_logits"])
  tokens = passage_tokens(columns, len(logits.examples))
  probabilities = tf.nn.softmax(tokens.tag_logits).numpy()
  starts, ends = tokens.char_starts.numpy(), tokens.char_ends.numpy()
  for i, example in enumerate(logits.examples):
    n = int(tokens.num_tokens[i])
    labels = tag_labels(example.annotators, starts[i, :n], ends[i, :n])
    if n and labels is not None:
      yield TaggedPassage(
        example, labels, probabilities[i, :n], starts[i, :n], ends[i, :n]
      )


def agreement_scores(passages):
  """Measures how predicted tags agree with soft labels, over all tokens.

  Returns a dict, {} without passages:
    tag_cross_entropy: -sum_j t_ij log p_ij, mean over tokens, in nats.
    annotator_entropy: mean entropy of t_i, the lower bound of the above.
    tag_entropy: mean entropy of p_i.
    entropy_correlation: Pearson correlation of both entropies over the tokens;
      missing if one of them is constant.
    tag_calibration_error: expected calibration error in ten bins of equal
      width of P(token is in an answer) against the annotators' share.
  """
  if not passages:
    return {}
  labels = np.concatenate([p.labels for p in passages]).astype(np.float64)
  p = np.concatenate([p.probabilities for p in passages])
  tiny = np.finfo(np.float64).tiny
  cross_entropies = -np.sum(labels * np.log(np.maximum(p, tiny)), axis=1)
  label_entropies, tag_entropies = entropies(labels), entropies(p)
  bins = equal_width_bins(1 - p[:, O], 1 - labels[:, O], _NUM_BINS)
  scores = {
    "tag_cross_entropy": float(cross_entropies.mean()),
    "annotator_entropy": float(label_entropies.mean()),
    "tag_entropy": float(tag_entropies.mean()),
    "tag_calibration_error": bins.calibration_error,
  }
  pair = label_entropies, tag_entropies
  if min(x.std() for x in pair) > 1e-9:
    scores["entropy_correlation"] = float(np.corrcoef(*pair)[0, 1])
  return scores


def disagreement_rows(passages, num_questions):
  """Returns the questions on which annotators differ, the most split first.

  A row has the tokens on which they differ, each with the annotators' shares of
  B, I and O and the model's probabilities.
  """

  def token(passage, i):
    start, end = int(passage.char_starts[i]), int(passage.char_ends[i])
    return {
      "text": passage.example.context[start:end],
      "char_start": start,
      "char_end": end,
      "annotators": _shares(passage.labels[i]),
      "model": _shares(passage.probabilities[i]),
    }

  # Sums of the labels' entropies, in nats; 0 if all annotators agree.
  by_split = [(float(entropies(p.labels).sum()), p) for p in passages]
  by_split.sort(key=lambda pair: -pair[0])
  return [
    {
      "qas_id": p.example.qas_id,
      "question": p.example.question,
      "split": split,
      "annotators": [[s.text for s in spans] for spans in p.example.annotators],
      "tokens": [token(p, i) for i in np.flatnonzero(p.labels.max(axis=1) < 1)],
    }
    for split, p in by_split[:num_questions]
    if split > 0
  ]


def entropies(distributions):
  """Returns -sum_j p_j log p_j of each row of [rows, classes], in nats."""
  p = np.asarray(distributions, np.float64)
  return -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=-1)


def _shares(distribution):
  rounded = [round(float(share), 4) for share in distribution]
  return dict(zip("BIO", rounded, strict=True))
