"""How far predicted tags agree with annotators who may disagree."""

import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_span.answers.decoding.bio_paths import passage_tokens, read_tokens
from bert_span.answers.scoring.reliability import equal_width_bins
from bert_span.data.bio_labels import O, tag_labels
from bert_span.squad.example import SquadExample

_NUM_BINS = 10


class TaggedPassage(NamedTuple):
  """The tokens of a passage with the annotators' tags and the model's.

  Attributes:
    example: `SquadExample`.
    labels: float32 [tokens, 3], the annotators' shares of B, I and O.
    probabilities: float64 [tokens, 3], the model's.
    char_starts, char_ends: int32 [tokens], half-open, in characters.
  """

  example: SquadExample
  labels: np.ndarray
  probabilities: np.ndarray
  char_starts: np.ndarray
  char_ends: np.ndarray


def tagged_passages(logits):
  """The passages of a batch whose annotators have something to say.

  Args:
    logits: `WindowLogits` of a B/I/O head, all windows of its examples.

  Yields:
    `TaggedPassage`, in order; every token as its max-context window has it.
  """
  tokens = passage_tokens(
    read_tokens(logits.windows, logits.logits["tag_logits"]),
    len(logits.examples),
  )
  probabilities = tf.nn.softmax(tokens.tag_logits).numpy()
  starts, ends = tokens.char_starts.numpy(), tokens.char_ends.numpy()
  for i, example in enumerate(logits.examples):
    n = int(tokens.num_tokens[i])
    labels = tag_labels(example.annotators, starts[i, :n], ends[i, :n])
    if n and labels is not None:
      yield TaggedPassage(
        example, labels, probabilities[i, :n], starts[i, :n], ends[i, :n]
      )


def entropies(distributions):
  """-sum_j p_j log p_j of each row.

  Args:
    distributions: float [rows, classes].

  Returns:
    float64 [rows], in nats.
  """
  p = np.asarray(distributions, np.float64)
  return -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=-1)


class AnnotatorAgreement:
  """Sums up how predicted tags agree with soft labels, over all tokens.

  Example:

  ```python
  agreement = AnnotatorAgreement()
  for logits in extractor.window_logits(examples):
    for passage in tagged_passages(logits):
      agreement.add(passage)
  agreement.scores()
  ```
  """

  def __init__(self):
    self._num_tokens = 0
    self._cross_entropy = 0.0
    # Sums of both entropies, their squares and their product.
    self._moments = np.zeros(5)
    # How probably and how rightly a token is said to be inside an answer.
    self._bins = equal_width_bins([], [], _NUM_BINS)

  def add(self, passage):
    """Takes a passage.

    Args:
      passage: `TaggedPassage`.
    """
    labels, p = np.asarray(passage.labels, np.float64), passage.probabilities
    tiny = np.finfo(np.float64).tiny
    self._num_tokens += len(labels)
    self._cross_entropy -= np.sum(labels * np.log(np.maximum(p, tiny)))
    x, y = entropies(labels), entropies(p)
    self._moments += [s.sum() for s in (x, y, x * x, y * y, x * y)]
    self._bins = self._bins.plus(
      equal_width_bins(1 - p[:, O], 1 - labels[:, O], _NUM_BINS)
    )

  def scores(self):
    """The figures of everything added.

    Returns:
      Dict, {} where nothing was added:
        tag_cross_entropy: -sum_j t_ij log p_ij, mean over tokens, in nats.
        annotator_entropy: what that is at least: the mean entropy of t_i.
        tag_entropy: the mean entropy of p_i.
        entropy_correlation: Pearson's, of both entropies over the tokens; not
          there where one of them is the same everywhere.
        tag_calibration_error: over ten equal ranges of the predicted
          probability that a token is inside an answer, the mean difference to
          the share of annotators who say so, weighed by tokens.
    """
    n = self._num_tokens
    if not n:
      return {}
    x, y, xx, yy, xy = self._moments / n
    scores = {
      "tag_cross_entropy": self._cross_entropy / n,
      "annotator_entropy": x,
      "tag_entropy": y,
      "tag_calibration_error": self._bins.calibration_error,
    }
    spread = math.sqrt(max(xx - x * x, 0.0) * max(yy - y * y, 0.0))
    if spread > 1e-12:
      scores["entropy_correlation"] = (xy - x * y) / spread
    return {name: float(value) for name, value in scores.items()}
