"""n-best lists of a nbest_predictions.json, checked as they are read."""

import dataclasses

from bert_span.answers.files.prediction_ids import shorten_id
from bert_span.answers.files.prediction_reader import load_json_object
from bert_span.storage.json_fields import is_kind, shortened


@dataclasses.dataclass(frozen=True)
class ListedAnswer:
  """One entry of a question's n-best list, as a file holds it.

  Attributes:
    text: the answer; "" for "no answer".
    probability: from 0 to 1.
    char_start, char_end: half-open offsets into the passage in characters;
      None for "no answer", and in files of the original, which has none.
  """

  text: str
  probability: float
  char_start: int | None = None
  char_end: int | None = None


def read_n_best(path):
  """The n-best lists of a nbest_predictions.json, of ours or the original's.

  Args:
    path: a JSON file {"question id": [{"text": .., "probability": ..}, ..]},
      local or of tf.io.gfile.

  Returns:
    A dict from question id to a tuple of `ListedAnswer`, in the order of the
    file.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is not such a file; the message names file and question.
  """
  lists = {}
  for qas_id, entries in load_json_object(path).items():
    place = f"{path}: question {shorten_id(qas_id)}"
    if not isinstance(entries, list) or not entries:
      hint = (
        "This looks like a predictions.json; give its nbest_predictions.json."
        if isinstance(entries, str)
        else "Give a file as run_squad writes it."
      )
      raise ValueError(
        f"{place}: must have a list of at least one answer. Received: "
        f"{shortened(entries)}. {hint}"
      )
    lists[qas_id] = tuple(
      _listed_answer(entry, f"{place}, entry {number}")
      for number, entry in enumerate(entries)
    )
  return lists


def _listed_answer(entry, place):
  if not isinstance(entry, dict) or not is_kind(entry.get("text"), str):
    raise ValueError(
      f"{place}: must be an object with the string text. Received: "
      f"{shortened(entry)}. Give a file as run_squad writes it."
    )
  start, end = entry.get("char_start"), entry.get("char_end")
  if not _are_offsets(start, end):
    raise ValueError(
      f"{place}: char_start and char_end must be half-open offsets in "
      f"characters, or null. Received: {shortened(start)}, {shortened(end)}. "
      "Give a file as run_squad writes it."
    )
  return ListedAnswer(
    entry["text"], _probability(entry.get("probability"), place), start, end
  )


def _probability(value, place):
  is_number = is_kind(value, int) or is_kind(value, float)
  # Sums of float32 exponentials may exceed 1 by a rounding.
  if not is_number or not -1e-6 <= value <= 1 + 1e-6:  # False for nan, too.
    raise ValueError(
      f"{place}: probability must be a number from 0 to 1. Received: "
      f"{shortened(value)}. Predict again with run_squad."
    )
  return float(min(max(value, 0.0), 1.0))


def _are_offsets(start, end):
  if start is None and end is None:
    return True
  are_integers = is_kind(start, int) and is_kind(end, int)
  return are_integers and 0 <= start <= end
