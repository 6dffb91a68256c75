"""Text that can be written as UTF-8."""

import re

_SURROGATES = re.compile("[\ud800-\udfff]")


def encodable(text):
  r"""Replaces lone surrogates, which UTF-8 cannot hold, by U+FFFD.

  JSON escapes such as "\\ud83d" without its other half give them. One
  character stands for one, so offsets in characters stay true.

  Args:
    text: str.

  Returns:
    str of the same length.
  """
  return _SURROGATES.sub("\ufffd", text)
