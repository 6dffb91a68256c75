"""How far a predicted answer agrees with the annotators' answers.

The part that the official evaluators of SQuAD 1.1 and 2.0 have in common.
"""

import collections
import re
import string

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_answer(text):
  """Reduces an answer to the words that count when it is scored.

  Lower case, then ASCII punctuation deleted (which joins what it stood
  between), then the articles a, an and the blanked, then runs of white space
  made one blank. For example "The  U.S. Army's" becomes "us armys".

  Args:
    text: an answer, predicted or annotated.

  Returns:
    The normalized answer, "" when nothing is left.

  Source: normalize_answer of evaluate-v1.1.py and evaluate-v2.0.py.
  """
  text = text.lower().translate(_DELETE_PUNCTUATION)
  return " ".join(_ARTICLES.sub(" ", text).split())


def exact_match(prediction, gold):
  """Whether two answers are the same after normalization, as 1 or 0."""
  return int(normalize_answer(prediction) == normalize_answer(gold))


def token_f1(prediction_tokens, gold_tokens):
  """F1 of two bags of tokens: 2 * precision * recall / (precision + recall).

  A token counts as often as it occurs on both sides: "b b c" against "b d"
  share one token, so precision is 1/3, recall 1/2 and F1 0.4.

  Args:
    prediction_tokens: words of the normalized prediction.
    gold_tokens: words of the normalized annotated answer.

  Returns:
    A number from 0 to 1; 0 when nothing is shared, so also when both are
    empty.
  """
  shared = collections.Counter(prediction_tokens) & collections.Counter(
    gold_tokens
  )
  shared_tokens = shared.total()
  if shared_tokens == 0:
    return 0.0
  precision = shared_tokens / len(prediction_tokens)
  recall = shared_tokens / len(gold_tokens)
  return 2 * precision * recall / (precision + recall)
