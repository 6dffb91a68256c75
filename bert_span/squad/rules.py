"""Chooses the questions that run_squad would train on and predict."""

import dataclasses

from bert_span.squad.example import NOT_LOCATED, SquadExample
from bert_span.squad.findings import FindingKind
from bert_span.squad.reader import SquadFile


def training_examples(
  squad_file: SquadFile,
  version_2_with_negative: bool,
  every_annotator: bool = False,
  keep_unlabelled: bool = False,
) -> list[SquadExample]:
  """The questions to train on, each with the one answer to learn.

  An answerable question keeps its first answer that is in the passage (the
  original demands exactly one), an unanswerable one keeps none. Questions
  without such an answer are skipped and counted in squad_file.report.

  every_annotator keeps all annotators' answers, for the B/I/O head, and
  keep_unlabelled questions without an answer that are not is_impossible, which
  teachers label. ValueError if the flag does not fit the file (a SQuAD 1.1 file
  with it, an unanswerable question without it), or all questions are skipped.
  """
  path, examples = squad_file.path, squad_file.examples
  if not version_2_with_negative:
    # As run_squad: without the flag an unanswerable question ends training.
    impossible = [e for e in examples if e.is_impossible]
    if impossible:
      raise ValueError(
        f"{path}: {impossible[0].place}: the question is unanswerable, as are "
        f"{len(impossible)} of the {len(examples)} here. Train with "
        "--version_2_with_negative, or remove them."
      )
  elif not squad_file.version_2:
    raise ValueError(
      f"{path}: --version_2_with_negative with a SQuAD 1.1 file: no question "
      "has the key is_impossible, so a model would never see an unanswerable "
      "one. Leave the flag out, or train on a SQuAD 2.0 file."
    )
  else:
    _report_all_answerable(squad_file)
  kept = []
  for example in examples:
    is_teachable = example.is_unlabelled and example.context.strip()
    if not (keep_unlabelled and is_teachable):
      reason = _reason_to_skip(example, every_annotator)
      if reason is not None:
        squad_file.count(reason, example)
        continue
      if not every_annotator:
        if len(example.answers) > 1 and not example.is_impossible:
          squad_file.count(FindingKind.SEVERAL_ANSWERS, example)
        example = with_answer_to_learn(example)
    kept.append(example)
  if not kept:
    reasons = "".join(f"\n  {line}" for line in squad_file.report.lines())
    raise ValueError(
      f"{path}: none of its {len(examples)} questions can be trained on:"
      f"{reasons}"
    )
  return kept


def prediction_examples(
  squad_file: SquadFile, version_2_with_negative: bool
) -> list[SquadExample]:
  """Returns all questions; counts a flag that does not fit the file."""
  if version_2_with_negative:
    _report_all_answerable(squad_file)
  else:
    for example in squad_file.examples:
      if example.is_impossible:
        squad_file.count(FindingKind.UNANSWERABLE, example)
  return list(squad_file.examples)


def with_answer_to_learn(example: SquadExample) -> SquadExample:
  """The example with the one answer that training uses, or none."""
  located = [a for a in example.answers if a.char_start != NOT_LOCATED]
  answers = () if example.is_impossible else tuple(located[:1])
  return dataclasses.replace(example, answers=answers)


def _report_all_answerable(squad_file):
  if not any(example.is_impossible for example in squad_file.examples):
    squad_file.report.add(FindingKind.ALL_ANSWERABLE, squad_file.path)


def _reason_to_skip(example, every_annotator):
  """The `FindingKind` for which training skips a question, or None."""
  if not example.context.strip():
    return FindingKind.BLANK_CONTEXT
  # An annotator without an answer teaches that there is none.
  if example.is_impossible or (every_annotator and () in example.annotations):
    return None
  if not example.answers:
    return FindingKind.NO_ANSWER
  if all(a.char_start == NOT_LOCATED for a in example.answers):
    return FindingKind.NO_LOCATED_ANSWER
  return None
