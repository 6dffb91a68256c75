"""What run_squad trains on and predicts: the rules that depend on its flags."""

import dataclasses

from bert_span.squad import notices
from bert_span.squad.answer_location import NOT_LOCATED
from bert_span.squad.example import SquadExample
from bert_span.squad.reader import SquadFile, place_of


def training_examples(
  squad_file: SquadFile,
  version_2_with_negative: bool,
  every_annotator: bool = False,
  keep_unlabelled: bool = False,
) -> list[SquadExample]:
  """The questions to train on, each with the one answer to learn.

  An answerable question keeps its first answer that is in the passage (the
  original demands exactly one), an unanswerable one keeps none. Questions that
  cannot teach anything are left out and counted in squad_file.report.

  Args:
    squad_file: a file or split as read.
    version_2_with_negative: run_squad's flag of this name.
    every_annotator: keep what every annotator marked, for the B/I/O head,
      which learns from all of them.
    keep_unlabelled: keep questions without an answer that are not
      is_impossible, for teachers.

  Returns:
    The examples, in the file's order.

  Raises:
    ValueError: the flag and the file do not fit each other (a SQuAD 1.1 file
      with the flag, an unanswerable question without it), or nothing is left.
  """
  _check_version(squad_file, version_2_with_negative)
  examples = [
    trainable
    for example in squad_file.examples
    if (
      trainable := example
      if keep_unlabelled and example.is_unlabelled and example.context.strip()
      else _trainable(squad_file, example, every_annotator)
    )
    is not None
  ]
  if not examples:
    reasons = "".join(f"\n  {line}" for line in squad_file.report.lines())
    raise ValueError(
      f"{squad_file.path}: none of its {len(squad_file.examples)} questions "
      f"can be trained on:{reasons}"
    )
  return examples


def prediction_examples(
  squad_file: SquadFile, version_2_with_negative: bool
) -> list[SquadExample]:
  """The questions to predict: all of them.

  A flag that does not fit the file is legal here, as in the original, and is
  counted in squad_file.report.

  Args:
    squad_file: a file or split as read.
    version_2_with_negative: run_squad's flag of this name.

  Returns:
    The examples, in the file's order.
  """
  if version_2_with_negative:
    _notice_all_answerable(squad_file)
  else:
    for example in squad_file.examples:
      if example.is_impossible:
        squad_file.report.add(
          notices.ANSWERED_ANYWAY, place_of(squad_file.path, example)
        )
  return list(squad_file.examples)


def _check_version(squad_file, version_2_with_negative):
  if version_2_with_negative:
    if not squad_file.version_2:
      raise ValueError(
        f"{squad_file.path}: --version_2_with_negative with a SQuAD 1.1 file: "
        "no question says whether it is_impossible, so a model would never "
        "see an unanswerable one. Leave the flag out, or train on a SQuAD 2.0 "
        "file."
      )
    _notice_all_answerable(squad_file)
    return
  # As run_squad: without the flag an unanswerable question ends training.
  impossible = [e for e in squad_file.examples if e.is_impossible]
  if impossible:
    raise ValueError(
      f"{place_of(squad_file.path, impossible[0])}: the question is "
      f"unanswerable, as are {len(impossible)} of the "
      f"{len(squad_file.examples)} here. Train with --version_2_with_negative, "
      "or remove them."
    )


def _notice_all_answerable(squad_file):
  if not any(example.is_impossible for example in squad_file.examples):
    squad_file.report.add(notices.ALL_ANSWERABLE, squad_file.path)


def _trainable(squad_file, example, every_annotator):
  """The example with its answers to learn, or None after counting why not."""
  reason = _reason_to_leave_out(example, every_annotator)
  place = place_of(squad_file.path, example)
  if reason is not None:
    squad_file.report.add(reason, place)
    return None
  if every_annotator:
    return example
  if example.is_impossible:
    return dataclasses.replace(example, answers=())
  if len(example.answers) > 1:
    squad_file.report.add(notices.SEVERAL_ANSWERS, place)
  first = next(a for a in example.answers if a.char_start != NOT_LOCATED)
  return dataclasses.replace(example, answers=(first,))


def _reason_to_leave_out(example, every_annotator):
  if not example.context.strip():
    return notices.UNTRAINED_BLANK_CONTEXT
  if example.is_impossible:
    return None
  if every_annotator and () in example.annotations:
    return None  # That annotator teaches that there is no answer.
  if not example.answers:
    return notices.UNTRAINED_NO_ANSWER
  if all(a.char_start == NOT_LOCATED for a in example.answers):
    return notices.UNTRAINED_NOT_LOCATED
  return None
