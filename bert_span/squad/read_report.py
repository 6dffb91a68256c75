"""What a reader noticed: how often, where first, and what to do about it."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Notice:
  """A kind of thing that a reader counts instead of stopping at it.

  Attributes:
    one: what happened, as a clause for a count of one ("answer was moved").
    many: the same for any other count ("answers were moved").
    remedy: what a person can do about it.
  """

  one: str
  many: str
  remedy: str


class ReadReport:
  """Counts notices and remembers where each occurred.

  The same notice for the same place counts once, so a file may be prepared
  several times (for training, then for prediction) under one report.

  Example:
    >>> report = ReadReport()
    >>> blank = Notice("question is blank", "questions are blank", "Fill in.")
    >>> report.add(blank, "dev.json, question 'q1'")
    >>> report.lines()
    ["1 question is blank (first: dev.json, question 'q1'). Fill in."]
  """

  def __init__(self):
    self._details: dict[Notice, dict[str, str]] = {}

  def add(self, notice: Notice, place: str, detail: str = "") -> None:
    """Counts one occurrence.

    Args:
      notice: what happened.
      place: where: file, article, question; the key of the occurrence.
      detail: what was found there, for the lines ("answer_start 7, now 9").
    """
    self._details.setdefault(notice, {})[place] = detail

  def count(self, notice: Notice) -> int:
    """How many places have this notice."""
    return len(self._details.get(notice, ()))

  def places(self, notice: Notice) -> list[str]:
    """The places that have this notice, in the order found."""
    return list(self._details.get(notice, ()))

  def merged(self, other: ReadReport) -> ReadReport:
    """A new report with the notices of both."""
    result = ReadReport()
    for report in (self, other):
      for notice, details in report._details.items():
        result._details.setdefault(notice, {}).update(details)
    return result

  def lines(self, num_places: int = 3) -> list[str]:
    """One line for people per kind of notice.

    Args:
      num_places: how many places a line names.

    Returns:
      Lines in the order the kinds were first met; none when all is well.
    """
    return [
      _line(notice, details, num_places)
      for notice, details in self._details.items()
    ]

  def __bool__(self):
    return bool(self._details)

  def __repr__(self):
    return f"ReadReport({self.lines()})"


def _line(notice, details, num_places):
  named = [
    f"{place}: {detail}" if detail else place
    for place, detail in list(details.items())[:num_places]
  ]
  clause = notice.one if len(details) == 1 else notice.many
  return f"{len(details)} {clause} (first: {'; '.join(named)}). {notice.remedy}"
