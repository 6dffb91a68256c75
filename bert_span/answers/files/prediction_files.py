"""Decoded answers as Python rows, and as run_squad's prediction files."""

import dataclasses
import json
import os
from typing import NamedTuple

from bert_span.storage.atomic_file import json_text, write_text_atomically

PREDICTIONS_FILE = "predictions.json"
N_BEST_FILE = "nbest_predictions.json"
NULL_ODDS_FILE = "null_odds.json"
# What of SpanDecoder's columns predictions are made of.
PREDICTION_COLUMNS = (
  *("char_start", "char_end", "score", "probability", "null_odds"),
  *("n_best_char_start", "n_best_char_end"),
  *("n_best_start_logit", "n_best_end_logit"),
  *("n_best_score", "n_best_probability", "n_best_count"),
)

_BETWEEN_VALUES = ",\n" + 12 * " "
_BETWEEN_ENTRIES = "\n        },\n        {\n" + 12 * " "
_encode_entry = json.JSONEncoder(separators=(_BETWEEN_VALUES, ": ")).encode


class NBestEntry(NamedTuple):
  """One entry of a question's n-best list.

  Attributes:
    text: context[char_start:char_end]; "" for "no answer".
    char_start: characters into the context; 0 for "no answer".
    char_end: characters, exclusive; 0 for "no answer".
    start_logit: of the span's first token, or of [CLS] for "no answer".
    end_logit: of the span's last token, or of [CLS].
    score: logit sum or mean probability, whichever ordered the list.
    probability: see SpanDecoder.
  """

  text: str
  char_start: int
  char_end: int
  start_logit: float
  end_logit: float
  score: float
  probability: float


@dataclasses.dataclass(frozen=True)
class Prediction:
  """The answer to one question.

  Attributes:
    qas_id: the question's id.
    text: context[char_start:char_end]; "" for "no answer".
    char_start: characters into the context; 0 for "no answer".
    char_end: characters, exclusive; 0 for "no answer".
    score: of the answer, see SpanDecoder.
    probability: of the answer, see SpanDecoder.
    null_odds: null score - best span's score.
    n_best: NBestEntry, best first.
  """

  qas_id: str
  text: str
  char_start: int
  char_end: int
  score: float
  probability: float
  null_odds: float
  n_best: tuple[NBestEntry, ...]


def predictions_of(examples, outputs):
  """The rows of a decoded batch, in its order.

  Texts are cut from each example's own context and not taken from the
  decoder's UTF-8, which cannot hold the lone surrogates that JSON can.

  Args:
    examples: SquadExample of the batch, in its order.
    outputs: what SpanDecoder returned for them, tensors or arrays; of it
      PREDICTION_COLUMNS are used.

  Returns:
    list of Prediction.

  Raises:
    ValueError: examples and outputs differ in number.
  """
  if len(outputs["char_start"]) != len(examples):
    raise ValueError(
      f"examples must be those that were decoded: {len(examples)} examples, "
      f"but answers for {len(outputs['char_start'])}. Pass the same batch."
    )
  columns = {name: _rows(outputs[name]) for name in PREDICTION_COLUMNS}
  return [
    _prediction(example, {name: rows[i] for name, rows in columns.items()})
    for i, example in enumerate(examples)
  ]


def write_prediction_files(output_dir, predictions, version_2_with_negative):
  """Writes predictions.json, nbest_predictions.json and null_odds.json.

  The form is run_squad's, questions in the order given. An n-best entry also
  has char_start and char_end, in characters of the context; null for "no
  answer". null_odds.json is written for version 2 only. Each file is either
  whole or not there.

  Args:
    output_dir: an existing folder, local or of tf.io.gfile.
    predictions: list of Prediction.
    version_2_with_negative: whether to write null_odds.json.

  Returns:
    list of the paths written.

  Raises:
    ValueError: two predictions have the same qas_id.
    OSError, tf.errors.OpError: a file cannot be written.
  """
  _check_ids(predictions)
  texts = {
    PREDICTIONS_FILE: json_text({p.qas_id: p.text for p in predictions}),
    N_BEST_FILE: _n_best_json(predictions),
  }
  if version_2_with_negative:
    null_odds = {p.qas_id: p.null_odds for p in predictions}
    texts[NULL_ODDS_FILE] = json_text(null_odds)
  paths = []
  for name, text in texts.items():
    paths.append(os.path.join(output_dir, name))
    write_text_atomically(paths[-1], text)
  return paths


def _rows(values):
  """A tensor or array as nested lists of Python numbers."""
  return (values.numpy() if hasattr(values, "numpy") else values).tolist()


def _prediction(example, row):
  """The Prediction of one example from its row of each column."""
  count = row["n_best_count"]
  spans = [row[f"n_best_char_{side}"][:count] for side in ("start", "end")]
  n_best = map(
    NBestEntry,
    [example.context[start:end] for start, end in zip(*spans, strict=True)],
    *spans,
    row["n_best_start_logit"],
    row["n_best_end_logit"],
    row["n_best_score"],
    row["n_best_probability"],
  )
  return Prediction(
    qas_id=example.qas_id,
    text=example.context[row["char_start"] : row["char_end"]],
    char_start=row["char_start"],
    char_end=row["char_end"],
    score=row["score"],
    probability=row["probability"],
    null_odds=row["null_odds"],
    n_best=tuple(n_best),
  )


def json_entry(entry):
  """An n-best entry with run_squad's keys in its order, then our offsets."""
  is_span = entry.char_end > entry.char_start
  return {
    "text": entry.text,
    "probability": entry.probability,
    "start_logit": entry.start_logit,
    "end_logit": entry.end_logit,
    "char_start": entry.char_start if is_span else None,
    "char_end": entry.char_end if is_span else None,
  }


def _n_best_json(predictions):
  """What json_text gives for the n-best lists, in half the time.

  json.dumps with an indent goes through Python for each value. So an entry is
  written without one, its lines parted by the separator, and what parts two
  entries is put in afterwards: no string within JSON holds a line break.
  """
  if not predictions:
    return json_text({})
  lists = []
  for prediction in predictions:
    entries = _encode_entry([json_entry(entry) for entry in prediction.n_best])
    entries = entries.replace("}" + _BETWEEN_VALUES + "{", _BETWEEN_ENTRIES)
    lists.append(
      f"    {json.dumps(prediction.qas_id)}: [\n        {{\n            "
      f"{entries[2:-2]}\n        }}\n    ]"
    )
  return "{\n" + ",\n".join(lists) + "\n}\n"


def _check_ids(predictions):
  """Refuses to let one answer replace another under the same id."""
  seen = set()
  for prediction in predictions:
    if prediction.qas_id in seen:
      raise ValueError(
        f"question {prediction.qas_id}: two questions have this id, and a "
        "prediction file can hold only one answer under it. Give each question "
        "an id of its own."
      )
    seen.add(prediction.qas_id)
