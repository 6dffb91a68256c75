"""Where a document's sentences end, roughly, in any language.

Sentences only decide where a training sequence may begin and end, so a wrong
end at an abbreviation does no harm, and a missed one little.
"""

import itertools
import re

_SENTENCE_END = re.compile(
  # A line break,
  r"\s*\n\s*"
  # or marks with closing quotes, then white space and no lower-case letter,
  r"""|(?<=[.!?…])["'”’»)\]]*\s+(?=["'“‘«(\[]*[^\W_])(?![^\w]*[a-zß-öø-ÿ])"""
  # or the full stops of Chinese and Japanese, which no space follows.
  r"|(?<=[。！？])[”’」』）]*"
)


def split_sentences(document):
  """Splits a document at the ends of its sentences.

  Example: 'He came at 5 p.m. on Monday. "Why?" Nobody knew.' gives
  'He came at 5 p.m. on Monday.', '"Why?"', 'Nobody knew.'

  Args:
    document: str.

  Returns:
    List of str without surrounding white space, none of them empty; nothing
    but white space is lost.
  """
  ends = [0]
  for match in _SENTENCE_END.finditer(document):
    ends.append(match.end())
  ends.append(len(document))
  parts = [
    document[start:end].strip() for start, end in itertools.pairwise(ends)
  ]
  return [part for part in parts if part]
