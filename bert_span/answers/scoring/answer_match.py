"""What the official evaluators of SQuAD 1.1, 2.0 and MultiSpanQA share."""

import collections
import re
import string

from bert_span.storage.json_fields import shortened
from bert_span.storage.log import log_line

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)
_IDS_SHOWN = 5


def normalize_answer(text):
  """Reduces an answer to the words that count when it is scored.

  Lower case, then ASCII punctuation deleted (which joins its neighbours), then
  the articles a, an and the replaced by blanks, then runs of white space
  replaced by one blank. For example "The  U.S. Army's" becomes "us armys".

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
  share one token, so precision is 1/3, recall 1/2 and F1 0.4. F1 is 0 where
  nothing is shared, also where both are empty.
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


def missing_ids(examples, by_id, name, missing_count=None):
  """The ids of questions without an entry; logs entries without a question.

  Args:
    examples: list of `SquadExample`, not empty.
    by_id: dict with question ids as keys.
    name: of its values, for messages: "predictions".
    missing_count: what questions without an entry count as; logs these, too.

  Returns:
    List of ids, in the order of the examples.
  """
  if not examples:
    raise ValueError(
      "examples must hold at least one question to score. Received: none."
    )
  ids = dict.fromkeys(example.qas_id for example in examples)
  unknown = [qas_id for qas_id in by_id if qas_id not in ids]
  if unknown:
    log_line(
      f"{len(unknown)} of {len(by_id)} {name} belong to no question and are "
      f"ignored: {shorten_ids(unknown)}. Is it the file they were made for?"
    )
  missing = [qas_id for qas_id in ids if qas_id not in by_id]
  if missing and missing_count is not None:
    log_line(
      f"{len(missing)} of {len(examples)} questions have no entry in the "
      f"{name} and count {missing_count}: {shorten_ids(missing)}"
    )
  return missing


def shorten_ids(ids):
  """The first ids as text for a message: "'q1', 'q2', ... (17 in all)"."""
  shown = ", ".join(map(shortened, ids[:_IDS_SHOWN]))
  if len(ids) > _IDS_SHOWN:
    shown += f", ... ({len(ids)} in all)"
  return shown
