"""Text that can be written as UTF-8."""

import re

_SURROGATES = re.compile("[\ud800-\udfff]")


def encodable(text):
  r"""Replaces each lone surrogate, which UTF-8 cannot hold, by U+FFFD.

  A JSON escape such as "\\ud83d" without its other half gives one. The length
  stays, so offsets in characters stay true.
  """
  return _SURROGATES.sub("\ufffd", text)


def printable(text):
  r"""Escapes control characters, such as the "\x1b" that terminals obey."""
  return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
