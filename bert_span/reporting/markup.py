"""Pieces of HTML; every text of a file goes through `escaped`."""

import base64
import dataclasses
import html
import re

from bert_span.storage.utf8 import encodable

# No character references: not allowed in HTML, or commands to a terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NOTHING = "\N{EN DASH}"


@dataclasses.dataclass(frozen=True)
class Column:
  """A column of a table.

  Attributes:
    title: of the column.
    is_number: whether its cells are numbers.
    is_percent: whether they are also drawn, as shares of 100.
  """

  title: str
  is_number: bool = False
  is_percent: bool = False


@dataclasses.dataclass(frozen=True)
class Link:
  """A cell that leads to another place of the page.

  Attributes:
    text: what is shown.
    anchor: id of the place.
  """

  text: str
  anchor: str


@dataclasses.dataclass(frozen=True)
class Section:
  """A part of the page with a heading.

  Attributes:
    anchor: its id, which links lead to.
    title: its heading.
    content: str of HTML.
  """

  anchor: str
  title: str
  content: str


def cut(text, num_characters):
  """The beginning of a text.

  Args:
    text: str.
    num_characters: how much of it to keep, in characters.

  Returns:
    str, with an ellipsis where something is cut off.
  """
  if len(text) <= num_characters:
    return text
  return text[:num_characters] + "\N{HORIZONTAL ELLIPSIS}"


def escaped(text):
  """A text as HTML shows it, whatever it holds.

  Args:
    text: str.

  Returns:
    str of HTML, fit for elements and for attributes in double quotes.
  """
  plain = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", encodable(text))
  return html.escape(plain, quote=True)


def sortable_table(caption, columns, rows):
  """A table whose columns can be sorted where scripts run.

  Args:
    caption: what the table shows.
    columns: list of `Column`; the first one names the rows.
    rows: list of lists of cells: str, int, float, None (unknown) or `Link`.

  Returns:
    str of HTML.
  """
  heads = "".join(
    f'<th scope="col"{_number_class(column)}>{escaped(column.title)}</th>'
    for column in columns
  )
  body = "\n".join(
    f"<tr>{''.join(map(_cell, columns, row, range(len(row))))}</tr>"
    for row in rows
  )
  return (
    f'<div class="scroll" role="region" tabindex="0" '
    f'aria-label="{escaped(caption)}"><table class="sortable">\n'
    f"<caption>{escaped(caption)}</caption>\n"
    f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
  )


def note(text):
  """A quiet paragraph.

  Args:
    text: str.

  Returns:
    str of HTML.
  """
  return f'<p class="quiet">{escaped(text)}</p>'


def image(content, media_type, description, caption):
  """A picture within the page.

  Args:
    content: bytes of the file.
    media_type: "image/png" or "image/svg+xml".
    description: what it shows, for those who do not see it.
    caption: what stands beneath.

  Returns:
    str of HTML.
  """
  data = base64.b64encode(content).decode("ascii")
  return (
    f'<figure><img alt="{escaped(description)}" '
    f'src="data:{media_type};base64,{data}">'
    f"<figcaption>{escaped(caption)}</figcaption></figure>"
  )


def percent(value):
  """A percentage as text; a dash where there is none."""
  return _NOTHING if value is None else f"{value:.2f}"


def _number_class(column):
  return ' class="number"' if column.is_number else ""


def _cell(column, value, index):
  tag = 'th scope="row"' if index == 0 else "td"
  end = tag.split()[0]
  if not column.is_number:
    return f'<{tag} dir="auto">{_text_of(value)}</{end}>'
  style = ""
  if column.is_percent and value is not None:
    style = f' style="--share:{value:.1f}%"'
  kind = "number share" if style else "number"
  sorts_by = "" if value is None else f' data-value="{_sort_value(value)}"'
  return f'<{tag} class="{kind}"{sorts_by}{style}>{_text_of(value)}</{end}>'


def _sort_value(value):
  return escaped(value.text) if isinstance(value, Link) else repr(value)


def _text_of(value):
  if isinstance(value, Link):
    return f'<a href="#{escaped(value.anchor)}">{escaped(value.text)}</a>'
  if value is None:
    return _NOTHING
  if isinstance(value, int):
    return f"{value:,}"
  return percent(value) if isinstance(value, float) else escaped(value)
