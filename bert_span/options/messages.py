"""Values as they are written in messages."""

import reprlib

# Unlike repr, it writes out neither megabytes nor deep nesting.
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxstring = _SHORT.maxother = 60
_SHORT.maxlist = _SHORT.maxdict = 3


def shortened(value) -> str:
  """Returns the repr of a value, cut to some 60 characters."""
  return _SHORT.repr(value)


def printable(text):
  r"""Escapes control characters, such as the "\x1b" that terminals obey."""
  return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
