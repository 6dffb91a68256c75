"""Chooses the questions to train on and to predict, as run_squad does."""

import dataclasses
import itertools
from collections.abc import Iterable

from bert_span.squad.example import NOT_LOCATED, SquadExample
from bert_span.squad.findings import FindingKind
from bert_span.squad.reader import SquadFile
from bert_span.storage.log import log_line


def training_examples(
  squad_file: SquadFile,
  version_2_with_negative: bool,
  every_annotator: bool = False,
  keep_unlabelled: bool = False,
) -> list[SquadExample]:
  """Returns the questions to train on, each with the one answer to learn.

  An answerable question keeps its first answer that is in the passage (the
  original demands exactly one), an unanswerable one keeps none. Questions
  without such an answer are skipped and counted in squad_file.report.

  every_annotator keeps the answers of all annotators, for the B/I/O head.
  keep_unlabelled keeps questions without any label, which teachers label.
  Raises ValueError if version_2_with_negative does not fit the file (true for
  SQuAD 1.1, false for unanswerable questions), or all questions are skipped.
  """
  path, examples = squad_file.path, squad_file.examples
  if not version_2_with_negative:
    # As run_squad: an unanswerable question then ends training.
    impossible = [e for e in examples if e.is_impossible]
    if impossible:
      raise ValueError(
        f"{path}: {impossible[0].place}: the question is unanswerable, as are "
        f"{len(impossible)} of the {len(examples)} here. Train with "
        "version_2_with_negative=True, or remove them."
      )
  elif not squad_file.version_2:
    raise ValueError(
      f"{path}: no question has the key is_impossible (SQuAD 1.1), so a model "
      "would never see an unanswerable one. Leave out "
      "version_2_with_negative=True, or train on a SQuAD 2.0 file."
    )
  else:
    _report_all_answerable(squad_file)
  return _learnable(squad_file, every_annotator, keep_unlabelled)


def examples_to_learn(
  examples: SquadFile | Iterable[SquadExample],
  every_annotator: bool = False,
  keep_unlabelled: bool = False,
) -> list[SquadExample]:
  """Returns `training_examples` of a list or a file, of any SQuAD version.

  Logs how many questions are skipped and why. Raises ValueError if there is no
  example, or all are skipped.
  """
  squad_file = examples
  if not isinstance(examples, SquadFile):
    squad_file = SquadFile("examples", tuple(examples), version_2=False)
  if not squad_file.examples:
    raise ValueError(
      "There are no examples to train on: examples is empty. Give at least one "
      "SquadExample."
    )
  kept = _learnable(squad_file, every_annotator, keep_unlabelled)
  log_line(*squad_file.report.lines())
  return kept


def _learnable(squad_file, every_annotator, keep_unlabelled):
  """Returns the questions of a `SquadFile` that `training_examples` keeps."""
  kept = []
  for example in squad_file.examples:
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
      f"{squad_file.path}: none of its {len(squad_file.examples)} questions "
      f"can be trained on:{reasons}"
    )
  return kept


def prediction_examples(
  squad_file: SquadFile, version_2_with_negative: bool
) -> list[SquadExample]:
  """Returns all questions; counts an unfitting version_2_with_negative."""
  if version_2_with_negative:
    _report_all_answerable(squad_file)
  else:
    for example in squad_file.examples:
      if example.is_impossible:
        squad_file.count(FindingKind.UNANSWERABLE, example)
  return list(squad_file.examples)


def with_answer_to_learn(example: SquadExample) -> SquadExample:
  """Returns the example with the one answer that training uses, or none."""
  located = [a for a in _answers(example) if a.char_start != NOT_LOCATED]
  answers = () if example.is_impossible else tuple(located[:1])
  return dataclasses.replace(example, answers=answers)


def _answers(example):
  """Returns the answers, or if there are none all spans of annotators."""
  return example.answers or tuple(itertools.chain(*example.annotations))


def _report_all_answerable(squad_file):
  if not any(example.is_impossible for example in squad_file.examples):
    squad_file.report.add(FindingKind.ALL_ANSWERABLE, squad_file.path)


def _reason_to_skip(example, every_annotator):
  """Returns the `FindingKind` for which training skips a question, or None."""
  if not example.context.strip():
    return FindingKind.BLANK_CONTEXT
  # An annotator without an answer teaches that there is none.
  if example.is_impossible or (every_annotator and () in example.annotations):
    return None
  if not _answers(example):
    return FindingKind.NO_ANSWER
  if all(a.char_start == NOT_LOCATED for a in _answers(example)):
    return FindingKind.NO_LOCATED_ANSWER
  return None
