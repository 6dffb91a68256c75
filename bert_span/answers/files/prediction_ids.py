"""Checks that predictions and the questions they are scored on fit."""

from absl import logging

from bert_span.storage.json_fields import shortened

_IDS_SHOWN = 5
_CHARACTERS_SHOWN = 60


def missing_ids(examples, by_id):
  """The questions without an entry, in the order of the examples.

  Args:
    examples: SquadExamples.
    by_id: any mapping with question ids as keys.

  Returns:
    A list of question ids, each once.
  """
  ids = dict.fromkeys(example.qas_id for example in examples)
  return [qas_id for qas_id in ids if qas_id not in by_id]


def shorten_id(qas_id):
  """An id for a message of one line: quoted and cut where it must be."""
  if qas_id.isprintable() and len(qas_id) <= _CHARACTERS_SHOWN:
    return qas_id
  return shortened(qas_id)


def shorten_ids(ids):
  """The first few ids as text for a message: "q1, q2, ... (17 in all)"."""
  shown = ", ".join(map(shorten_id, ids[:_IDS_SHOWN]))
  if len(ids) > _IDS_SHOWN:
    shown += f", ... ({len(ids)} in all)"
  return shown


def warn_about_unknown_ids(examples, by_id, name):
  """Logs how many entries belong to no question; scoring ignores those.

  Args:
    examples: SquadExamples.
    by_id: a mapping with question ids as keys.
    name: what the mapping holds, for the message: "predictions".
  """
  known = {example.qas_id for example in examples}
  unknown = [qas_id for qas_id in by_id if qas_id not in known]
  if unknown:
    logging.warning(
      "%d of %d %s belong to no question and are ignored: %s. Is it the file "
      "they were made for?",
      len(unknown),
      len(by_id),
      name,
      shorten_ids(unknown),
    )


def require_questions(examples):
  """Raises a ValueError when there is nothing to average over."""
  if not examples:
    raise ValueError(
      "examples must hold at least one question to score. Received: none."
    )
