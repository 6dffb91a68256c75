"""A page as one file: nothing is loaded from elsewhere, no text is a script."""

import base64
import hashlib
import importlib.resources
import string

from bert_span.reporting.markup import escaped


def page(title, header, sections):
  """The whole page.

  Its policy (Content-Security-Policy) has the browser load nothing and run
  nothing but the page's own script, whose SHA-256 it names, whatever stands
  in the texts.

  Args:
    title: of the page.
    header: str of HTML beneath the title.
    sections: list of `Section`.

  Returns:
    str of HTML.
  """
  script = _file("page.js")
  digest = hashlib.sha256(script.encode("utf-8")).digest()
  return string.Template(_file("page.html")).substitute(
    title=escaped(title),
    header=header,
    links="\n".join(
      f'<li><a href="#{section.anchor}">{escaped(section.title)}</a></li>'
      for section in sections
    ),
    sections="\n".join(map(_section, sections)),
    style=_file("page.css"),
    script=script,
    script_hash=base64.b64encode(digest).decode("ascii"),
  )


def _section(section):
  return (
    f'<section id="{section.anchor}" '
    f'aria-labelledby="{section.anchor}-title">\n'
    f'<h2 id="{section.anchor}-title">{escaped(section.title)}</h2>\n'
    f"{section.content}\n</section>"
  )


def _file(name):
  """The text of a file of this package."""
  folder = importlib.resources.files("bert_span.reporting")
  return (folder / name).read_text(encoding="utf-8")
