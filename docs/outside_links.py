"""A hook of mkdocs: links to files outside docs/ become the files' names.

On a code host these links work; the book does not contain their targets.
tests/docs_test.py checks that they exist.
"""

import re

_OUTSIDE = re.compile(r"\[((?:[^\[\]]|\n)+)\]\(\.\./([^)#]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown, **_):
  """Called by mkdocs with the text of each page."""

  def name(match):
    text, path = match.groups()
    shown = text.replace("`", "")
    return f"`{path}`" if shown in path else f"{text} (`{path}`)"

  return _OUTSIDE.sub(name, markdown)
